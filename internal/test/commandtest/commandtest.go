// Package commandtest holds gorl's commands to what they have in common: help that is whole, examples that are right,
// completion, and guides that call only what there is.
package commandtest

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Run executes a command as main does and returns its exit status and what it says.
func Run(ctx context.Context, root *cobra.Command, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = commandline.Execute(ctx, root, args, &out, &err)
	return status, out.String(), err.String()
}

// Hold checks help, examples and completion of every subcommand of what root makes anew.
func Hold(t *testing.T, root func() *cobra.Command) {
	t.Helper()
	prepared := root()
	commandline.Prepare(prepared)
	status, all, stderr := Run(t.Context(), root(), "help")
	if _, again, _ := Run(t.Context(), root(), "--help"); status != commandline.Done || stderr != "" || again != all {
		t.Errorf("help ends with %d, says %q, and another thing than --help:\n%s\n%s", status, stderr, all, again)
	}
	if status, stdout, stderr := Run(t.Context(), root()); status != commandline.WrongUse || stdout != "" ||
		stderr != all {
		t.Errorf("without a subcommand it ends with %d and says %q and\n%s", status, stdout, stderr)
	}
	for _, c := range prepared.Commands() {
		name := c.Name()
		status, stdout, stderr := Run(t.Context(), root(), name, "--help")
		if status != commandline.Done || stderr != "" {
			t.Errorf("%s --help ends with %d and says %q", name, status, stderr)
		}
		usage := prepared.Name() + " " + name
		want := []string{"usage: " + usage, "\nflags:\n", "\nexit status:\n  0 ", "\n  78 "}
		if name != "help" && name != "completion" { // which are cobra's
			want = append(want, "usage: "+usage+" [flags]", "\nexamples:\n", "\n  "+usage)
		}
		for _, w := range want {
			if !strings.Contains(stdout, w) {
				t.Errorf("%s --help lacks %q:\n%s", name, w, stdout)
			}
		}
		if c.Short == "" || !strings.Contains(all, c.Short) {
			t.Errorf("help lacks %s:\n%s", name, all)
		}
		if _, again, _ := Run(t.Context(), root(), "help", name); again != stdout {
			t.Errorf("help %s says something else than %s --help", name, name)
		}
		for _, line := range commandline.Examples(c) {
			if words := Words(line); len(words) > 1 && words[0] == prepared.Name() {
				if err := Accepts(root(), words[1:], true); err != nil {
					t.Errorf("the example %q: %v", line, err)
				}
			}
		}
		status, _, stderr = Run(t.Context(), root(), name, "--no-such-flag")
		if status != commandline.WrongUse || !strings.Contains(stderr, "unknown flag: --no-such-flag") ||
			!strings.Contains(stderr, "(see "+prepared.Name()+" "+name+" --help)") {
			t.Errorf("%s with a wrong flag ends with %d and says %q", name, status, stderr)
		}
	}
	holdCompletion(t, prepared.Name(), root)
}

func holdCompletion(t *testing.T, name string, root func() *cobra.Command) {
	t.Helper()
	for _, shell := range []string{"bash", "fish", "powershell", "zsh"} {
		status, script, stderr := Run(t.Context(), root(), "completion", shell)
		if status != commandline.Done || stderr != "" || !strings.Contains(script, name) || len(script) < 1000 {
			t.Errorf("completion %s ends with %d, says %q and writes %d bytes", shell, status, stderr, len(script))
		}
	}
	if status, _, stderr := Run(t.Context(), root(), "completion", "tcsh"); status != commandline.WrongUse ||
		!strings.Contains(stderr, "want bash, fish, powershell or zsh") {
		t.Errorf("completion tcsh ends with %d and says %q", status, stderr)
	}
}

// Accepts says what is wrong with args without running anything: the subcommand, a flag, a flag's value, and with
// arguments their number.
func Accepts(root *cobra.Command, args []string, arguments bool) error {
	commandline.Prepare(root)
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root {
		return errors.New("there is no such subcommand")
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if arguments {
		return c.ValidateArgs(c.Flags().Args())
	}
	return nil
}

// Words splits a line as a shell does, up to a comment, a pipe or a redirection.
func Words(line string) []string {
	var words []string
	var word strings.Builder
	inside, quote := false, rune(0)
	end := func() {
		if inside {
			words = append(words, word.String())
		}
		word.Reset()
		inside = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inside = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|><;&", r), r == '#' && !inside:
			end()
			return words
		default:
			inside = true
			word.WriteRune(r)
		}
	}
	end()
	return words
}

var code = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")

// Guides checks that every call of the command in README.md and docs is one that it accepts. It returns their number.
func Guides(t *testing.T, repository string, root func() *cobra.Command) (calls int) {
	t.Helper()
	pages := []string{filepath.Join(repository, "README.md"), filepath.Join(repository, "CHANGELOG.md")}
	for _, folder := range []string{"docs", "docs/reference"} {
		found, err := filepath.Glob(filepath.Join(repository, folder, "*.md"))
		if err != nil || len(found) == 0 {
			t.Fatalf("pages of %s: %v, %v", folder, found, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, call := range Calls(root().Name(), string(must.Read(t, page))) {
			calls++
			for i, word := range call { // FILE, N: something that the reader gives
				if strings.ToUpper(word) == word && !strings.HasPrefix(word, "-") {
					call[i] = "1"
				}
			}
			if err := Accepts(root(), call, false); err != nil {
				t.Errorf("%s calls %s %s: %v", filepath.Base(page), root().Name(), strings.Join(call, " "), err)
			}
		}
	}
	return calls
}

// Calls finds what a page of Markdown calls a command with, in code within lines and in blocks.
func Calls(name, page string) [][]string {
	call := regexp.MustCompile("(?m)(?:^`?|^\\$ |`\\$ |[ /(])" + name + ` ([a-z-][^\n` + "`" + `]*)`)
	var list [][]string
	for _, found := range code.FindAllString(page, -1) {
		if strings.HasPrefix(found, "```go\n") || strings.HasPrefix(found, "```yaml\n") {
			continue
		}
		if !strings.HasPrefix(found, "```") && !strings.HasPrefix(strings.TrimLeft(found, "`$ "), name+" ") {
			continue
		}
		for _, c := range call.FindAllStringSubmatch(found, -1) {
			list = append(list, Words(c[1]))
		}
	}
	return list
}
