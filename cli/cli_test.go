package cli

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/internal/test/commandtest"
)

var update = flag.Bool("update", false, "write the reference in docs anew")

func TestEverySubcommandHelps(t *testing.T) {
	commandtest.Hold(t, command)
	root := command()
	for _, name := range []string{"inspect", "convert", "export", "plot", "version"} {
		if c, _, err := root.Find([]string{name}); err != nil || c.Name() != name {
			t.Errorf("there is no subcommand %s", name)
		}
	}
}

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"plot": "[jsonl csv] :8", "plot --out": "[png] :8", "plot --x": "[step time] :4", "convert": "[pt pth safetensors npz] :8", "convert --from": "[skrl] :4",
		"convert --skrl-version": "[2.0 1.4] :4", "convert --like": "[safetensors pt] :8", "export": "[safetensors onnx] :8", "inspect": "[safetensors json jsonl pt pth npz] :8",
	} {
		offered, directive := commandtest.Complete(t, command(), append(strings.Fields(args), "")...)
		if got := fmt.Sprint(offered, " ", directive); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestGuides checks that every subcommand that the guides call, and each of its flags, is there, and that the reference is
// the code's.
func TestGuides(t *testing.T) {
	if calls := commandtest.Guides(t, "..", command); calls < 10 {
		t.Errorf("only %d calls were found", calls)
	}
	if err := docgen.Hold("../docs/reference/command-line.md", "gorl reference", commandtest.Reference(command()), *update); err != nil {
		t.Error(err)
	}
}

func TestWrongUse(t *testing.T) {
	refuses(t, t.TempDir(), []refusal{
		{nil, commandline.WrongUse, "usage: gorl SUBCOMMAND"},
		{[]string{"plt", "a"}, commandline.WrongUse, `there is no subcommand "plt"; did you mean plot?`},
		{[]string{"insect", "--json"}, commandline.WrongUse, `did you mean inspect?`},
		{[]string{"version", "now"}, commandline.WrongUse, `what is "now"?`},
	})
}
