package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/pbt/launch"
)

// use runs gorl-pbt and returns what it says.
func use(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = execute(invocation{ctx: ctx, kill: make(chan struct{}), args: args, stdout: &out, stderr: &err})
	return status, out.String(), err.String()
}

// file writes a population's file whose members are a program with arguments.
func file(t *testing.T, command string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "population.yaml")
	text := fmt.Sprintf("pbt: {directory: %q, workspace: w, num_policies: 2}\nlauncher: {command: %s, restarts: {max: 0}}\n", dir, command)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, filepath.Join(dir, "w")
}

func TestEverySubcommandHelps(t *testing.T) {
	for name, c := range commands {
		status, stdout, stderr := use(t.Context(), name, "--help")
		if status != statusDone || stderr != "" {
			t.Errorf("%s --help ends with %d and says %q", name, status, stderr)
		}
		for _, want := range []string{"usage: gorl-pbt " + name + " [flags]", "\nflags:\n", "\nexamples:\n", "\n  gorl-pbt " + name, "exit status:\n  0 "} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s --help lacks %q:\n%s", name, want, stdout)
			}
		}
		if c.summary == "" || strings.Contains(c.summary, "\n") {
			t.Errorf("%s has the summary %q, want one line", name, c.summary)
		}
		if _, again, _ := use(t.Context(), "help", name); again != stdout {
			t.Errorf("help %s says something else than %s --help", name, name)
		}
		if _, all, _ := use(t.Context(), "help"); !strings.Contains(all, c.summary) {
			t.Errorf("help lacks %s:\n%s", name, all)
		}
	}
	for _, name := range []string{"run", "status", "slurm", "kubernetes"} {
		if _, ok := commands[name]; !ok {
			t.Errorf("there is no subcommand %s", name)
		}
	}
}

func TestWrongUse(t *testing.T) {
	path, _ := file(t, "[member]")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage: gorl-pbt SUBCOMMAND"},
		{[]string{"ruin"}, `there is no subcommand "ruin": want one of kubernetes, `},
		{[]string{"run"}, "-config is missing"},
		{[]string{"run", "-confg", path}, "flag provided but not defined: -confg (see gorl-pbt run --help)"},
		{[]string{"run", path}, "what is"},
		{[]string{"run", "-config", path, "-every", "x"}, `invalid value "x" for flag -every`},
		{[]string{"status"}, "give one population's folder"},
		{[]string{"status", "a", "b"}, "give one population's folder"},
		{[]string{"status", "a", "-every", "0s"}, "must be above 0"},
		{[]string{"slurm", "-config", path, "-print", "-submit"}, "give one of them"},
	} {
		if status, _, stderr := use(t.Context(), c.args...); status != statusUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q ends with %d and says %q, want %d and %q", c.args, status, stderr, statusUsage, c.want)
		}
	}
}

func TestRun(t *testing.T) {
	path, dir := file(t, "['true']")
	status, stdout, stderr := use(t.Context(), "run", "-config", path)
	if status != statusDone || !strings.Contains(stdout, "policy 1: finished") || stderr != "" {
		t.Errorf("it ends with %d and says\n%s%s", status, stdout, stderr)
	}
	if status, stdout, _ = use(t.Context(), "run", "-config", path, "-quiet"); status != statusDone || stdout != "" {
		t.Errorf("-quiet ends with %d and says %q", status, stdout)
	}
	// The status of members that never said anything, whatever comes first, flags or arguments.
	for _, args := range [][]string{{"status", dir, "-silent", "1m"}, {"status", "-silent=1m", dir}, {"status", "--", dir}} {
		if status, stdout, stderr = use(t.Context(), args...); status != statusDone || !strings.Contains(stdout, "1  not started") {
			t.Errorf("%q ends with %d and says\n%s%s", args, status, stdout, stderr)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if status, stdout, _ = use(ended, "status", "-watch", dir); status != statusDone || !strings.Contains(stdout, "1  not started") {
		t.Errorf("status -watch ends with %d and says\n%s", status, stdout)
	}
	if status, _, stderr = use(t.Context(), "status", filepath.Join(dir, "nothing")); status != statusFailed || !strings.Contains(stderr, "nothing") {
		t.Errorf("status of nothing ends with %d and says %q", status, stderr)
	}

	path, _ = file(t, "[sh, -c, 'echo out of luck; exit 3']")
	if status, _, stderr = use(t.Context(), "run", "-config", path); status != statusFailed || !strings.Contains(stderr, "policy 0 gave up: exit status 3") || !strings.Contains(stderr, "out of luck") {
		t.Errorf("members that fail end it with %d and %q", status, stderr)
	}
	path, _ = file(t, "[sleep, '1000']")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&launch.SignalError{Signal: os.Interrupt})
	if status, _, stderr = use(ctx, "run", "-config", path); status != launch.StatusStopped || !strings.Contains(stderr, "signal: interrupt") {
		t.Errorf("an interrupt ends it with %d and %q", status, stderr)
	}
}

func TestSlurmPrintsAndWrites(t *testing.T) {
	path, dir := file(t, "[member]")
	status, stdout, stderr := use(t.Context(), "slurm", "-config", path, "-print")
	if status != statusDone || !strings.HasPrefix(stdout, "#!/bin/bash\n") {
		t.Errorf("-print ends with %d and says\n%s%s", status, stdout, stderr)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("-print made %s (%v)", dir, err)
	}
	status, said, _ := use(t.Context(), "slurm", "-config", path)
	written, err := os.ReadFile(filepath.Join(dir, "gorl-pbt.sbatch"))
	if status != statusDone || err != nil || string(written) != stdout || !strings.Contains(said, "gorl-pbt.sbatch") {
		t.Errorf("it ends with %d (%v), says %q and writes\n%s", status, err, said, written)
	}
}

func TestKubernetesPrints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	text := "pbt: {directory: /data, num_policies: 2}\nlauncher: {name: small, command: [member], kubernetes: {image: member, claim: shared}}\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := use(t.Context(), "kubernetes", "-config", path)
	if status != statusDone || !strings.Contains(stdout, "kind: ConfigMap\n") || !strings.Contains(stdout, "completions: 2\n") {
		t.Errorf("it ends with %d and says\n%s%s", status, stdout, stderr)
	}
	path, _ = file(t, "[member]")
	if status, _, stderr = use(t.Context(), "kubernetes", "-config", path); status != statusFailed || !strings.Contains(stderr, "kubernetes.image") || !strings.Contains(stderr, "kubernetes.claim") {
		t.Errorf("without an image it ends with %d and says %q", status, stderr)
	}
}
