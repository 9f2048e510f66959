package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/commandtest"
)

func TestGuides(t *testing.T) {
	if calls := commandtest.Guides(t, "..", command); calls < 10 {
		t.Errorf("only %d calls were found", calls)
	}
}

// TestOwnName checks that help, examples and words of what to call next have the name of the program.
func TestOwnName(t *testing.T) {
	old := program
	program = "hover"
	defer func() { program = old }()
	commandtest.Hold(t, command)
	here(t, "short.yaml", short)
	for _, x := range [][2]string{
		{"train --help", "hover train --resume runs/cartpole"},
		{"train", "hover train --example cartpole prints"}, {"completion bash", "__start_hover"}, {"version",
			"hover "}, {"version", "\nlibtorch "},
		{"train -c short.yaml", "Evaluate it: hover eval runs/pole"},
		{"train -c short.yaml --name pole", "hover train --resume runs/pole"}, // whose name is taken now
	} {
		args, want := x[0], x[1]
		_, stdout, stderr := use(t.Context(), strings.Fields(args)...)
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("hover %s lacks %q:\n%s%s", args, want, stdout, stderr)
		}
		if wrong := regexp.MustCompile(`\bgorl (train|eval|plot|list)\b`).FindString(stdout + stderr); wrong != "" {
			t.Errorf("hover %s says %q:\n%s%s", args, wrong, stdout, stderr)
		}
	}
	has(t, text("runs/pole/run.yaml"), "# Written by hover train. To do the same again: hover train --config runs/pole/run")
}
