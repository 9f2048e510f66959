package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
)

func TestMemberStatus(t *testing.T) {
	mine := errors.New("out of memory")
	gives := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	after := func(err func(ctx context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); return err(ctx) }
	}
	for name, c := range map[string]struct {
		signal os.Signal
		train  func(ctx context.Context) error
		want   int
	}{
		"finished":              {nil, gives(nil), StatusFinished},
		"yielded":               {nil, gives(fmt.Errorf("pbt: %w", pbt.ErrYield)), StatusYielded},
		"restart":               {nil, gives(errors.Join(pbt.ErrRestart)), StatusRestart},
		"failed":                {nil, gives(mine), 1},
		"canceled by nobody":    {nil, gives(context.Canceled), 1},
		"stopped":               {syscall.SIGTERM, after(context.Cause), StatusStopped},
		"failed to save":        {syscall.SIGTERM, after(gives(mine)), 1},
		"finished nevertheless": {syscall.SIGTERM, after(gives(nil)), StatusFinished},
	} {
		signals := make(chan os.Signal, 2)
		if c.signal != nil {
			signals <- c.signal
			signals <- syscall.SIGTERM // both a launcher and a shell may send it
		}
		var stderr bytes.Buffer
		if got := member(signals, &stderr, func(string) string { return "" }, c.train); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
		if c.want == 1 && stderr.Len() == 0 {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

// script puts a program of a few lines of shell into a folder that comes first in PATH.
func script(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func TestMemberRequeuesItself(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	script(t, "scontrol", `echo "$@" >>`+process.QuoteWord(said)+`; test "$2" != 13`)
	for _, env := range []Vars{
		{}, // not under Slurm
		{"SLURM_JOB_ID": "12", "SLURM_ARRAY_JOB_ID": "9", "SLURM_ARRAY_TASK_ID": "3"},
		{"SLURM_JOB_ID": "13"}, // for which scontrol fails
	} {
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGUSR1
		var stderr bytes.Buffer
		status := member(signals, &stderr, func(name string) string { return env[name] },
			func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		fails := strings.Contains(stderr.String(), "scontrol requeue 13: exit status 1")
		if status != StatusStopped || fails != (env["SLURM_JOB_ID"] == "13") {
			t.Errorf("%v: status %d, want %d: %s", env, status, StatusStopped, stderr.String())
		}
	}
	must.Equal(t, "what scontrol was told", "requeue 9_3\nrequeue 13\n", string(must.Read(t, said)))
}
