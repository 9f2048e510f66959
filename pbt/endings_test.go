package pbt

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// populations make the three kinds of population from a colony, each as its Train and its Close.
var populations = map[string]func(t *testing.T, c *colony) (train func(context.Context) (*Result, error), end func() error, err error){
	"New": func(_ *testing.T, c *colony) (func(context.Context) (*Result, error), func() error, error) {
		p, err := New(c.opt)
		if err != nil {
			return nil, nil, err
		}
		return p.Train, p.Close, nil
	},
	"NewAsync": func(t *testing.T, c *colony) (func(context.Context) (*Result, error), func() error, error) {
		p, err := NewAsync(t.Context(), c.opt, WorkerOptions{})
		if err != nil {
			return nil, nil, err
		}
		return p.Train, p.Close, nil
	},
	"Join": func(t *testing.T, c *colony) (func(context.Context) (*Result, error), func() error, error) {
		w, err := Join(t.Context(), c.opt, WorkerOptions{Store: workspace.NewMemory(c.opt.Members)})
		if err != nil {
			return nil, nil, err
		}
		return w.Train, w.Close, nil
	},
}

// The error of a cancelled population is the context's and its cause's. A closed one does not train.
func TestCauseAndClose(t *testing.T) {
	t.Parallel()
	cause := errors.New("the power is needed elsewhere")
	for name, open := range populations {
		for _, early := range []bool{true, false} {
			ctx, cancel := context.WithCancelCause(t.Context())
			c := newColony(3)
			c.opt.ProgressSteps = 10
			c.opt.Progress = func(u Update) {
				if u.Status.Steps > 10 {
					cancel(cause)
				}
			}
			if early {
				cancel(cause)
			}
			train, end, err := open(t, c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := train(ctx); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v, want one that wraps context.Canceled and the cause", name, err)
			}
			cancel(nil)
			if err := errors.Join(end(), end()); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
			if _, err := train(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("%s: Train after Close: %v", name, err)
			}
		}
	}
}

// A population does not begin in the folder of a single agent's run.
func TestDirectoryOfARun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"New", "NewAsync"} {
		c := newColony(2)
		c.opt.Directory = t.TempDir()
		path := filepath.Join(c.opt.Directory, "scalars.jsonl")
		if err := os.WriteFile(path, []byte("{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := populations[name](t, c)
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), c.opt.Directory+" holds the run of a single agent") {
			t.Errorf("%s: error %v, want one that names the directory", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		_, end, err := populations[name](t, c)
		if err == nil {
			err = end()
		}
		if err != nil {
			t.Errorf("%s: after the file is gone: %v", name, err)
		}
	}
}
