package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/commandtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/launch"
)

// use runs gorl-pbt and returns what it says.
func use(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	return commandtest.Run(ctx, command(nil), args...)
}

// file writes a population's file whose members are a program with arguments.
func file(t *testing.T, command string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "population.yaml")
	text := fmt.Sprintf("pbt: {directory: %q, workspace: w, num_policies: 2}\nlauncher: {command: %s, restarts: "+
		"{max: 0}}\n", dir, command)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path, filepath.Join(dir, "w")
}

func TestEverySubcommandHelps(t *testing.T) {
	commandtest.Hold(t, func() *cobra.Command { return command(nil) })
}

// TestGuides checks that every subcommand that the guides call, and each of its flags, exists.
func TestGuides(t *testing.T) {
	if calls := commandtest.Guides(t, "../..", func() *cobra.Command { return command(nil) }); calls < 10 {
		t.Errorf("only %d calls were found", calls)
	}
}

func TestWrongUse(t *testing.T) {
	path, _ := file(t, "[member]")
	dir, empty := journalFolder(t), t.TempDir()
	const wrong, failed = commandline.WrongUse, commandline.Failed
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{wrong, "usage: gorl-pbt SUBCOMMAND", nil},
		{wrong, "--config is missing", []string{"run"}},
		{wrong, `--every is "x": want a time such as`, []string{"run", "--config", path, "--every", "x"}},
		{wrong, "give one of them", []string{"slurm", "--config", path, "--print", "--submit"}},
		{wrong, `--member is "worst"`, []string{"replay", dir, "--member", "worst"}},
		{failed, "2", []string{"replay", dir, "--member", "2", "--out", filepath.Join(empty, "s.json")}},
	} {
		if status, _, stderr := use(t.Context(), c.args...); status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%q ends with %d and says %q, want %d and %q", c.args, status, stderr, c.status, c.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(empty, "*")); len(left) > 0 {
		t.Errorf("wrong uses leave %v", left)
	}
}

func TestRun(t *testing.T) {
	path, dir := file(t, "['true']")
	status, stdout, stderr := use(t.Context(), "run", "--config", path)
	if status != commandline.Done || !strings.Contains(stdout, "member 1: finished") || stderr != "" {
		t.Errorf("it ends with %d and says\n%s%s", status, stdout, stderr)
	}
	if status, stdout, _ = use(t.Context(), "run", "--config", path, "--quiet"); status != commandline.Done ||
		stdout != "" {
		t.Errorf("--quiet ends with %d and says %q", status, stdout)
	}
	if _, stdout, _ = use(t.Context(), "status", dir, "--silent", "1m"); !strings.Contains(stdout, "1  not started") {
		t.Errorf("status of members that never said anything says\n%s", stdout)
	}
	if status, _, stderr = use(t.Context(), "status", filepath.Join(dir, "nothing")); status != commandline.WrongUse ||
		!strings.Contains(stderr, "nothing") {
		t.Errorf("status of nothing ends with %d and says %q", status, stderr)
	}

	path, _ = file(t, "[sh, -c, 'echo out of luck; exit 3']")
	if status, _, stderr = use(t.Context(), "run", "--config", path); status != commandline.Failed ||
		!strings.Contains(stderr, "member 0 gave up: exit status 3") || !strings.Contains(stderr, "out of luck") {
		t.Errorf("members that fail end it with %d and %q", status, stderr)
	}
	path, _ = file(t, "[sleep, '1000']")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&launch.SignalError{Signal: os.Interrupt})
	if status, _, stderr = use(ctx, "run", "--config", path); status != commandline.Stopped ||
		!strings.Contains(stderr, "signal: interrupt") {
		t.Errorf("an interrupt ends it with %d and %q", status, stderr)
	}
}

// What is printed is tested by package launch (TestGoldenClusters).
func TestClustersPrintAndWrite(t *testing.T) {
	path, dir := file(t, "[member]")
	_, printed, _ := use(t.Context(), "slurm", "--config", path, "--print")
	if _, err := os.Stat(dir); !strings.HasPrefix(printed, "#!/bin/bash\n") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("--print says %s and makes %s (%v)", printed, dir, err)
	}
	_, said, _ := use(t.Context(), "slurm", "--config", path)
	written := string(must.Read(t, filepath.Join(dir, "gorl-pbt.sbatch")))
	if written != printed || !strings.Contains(said, "gorl-pbt.sbatch") {
		t.Errorf("it says %q and writes\n%s", said, written)
	}
	must.Do(t, os.WriteFile(path, []byte("pbt: {directory: /data, num_policies: 2}\nlauncher: {name: small, command: "+
		"[member], kubernetes: {image: member, claim: shared}}\n"), 0o644))
	status, stdout, stderr := use(t.Context(), "kubernetes", "--config", path)
	if status != commandline.Done || !strings.Contains(stdout, "kind: ConfigMap\n") {
		t.Errorf("it ends with %d and says\n%s%s", status, stdout, stderr)
	}
}
