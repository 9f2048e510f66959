package pbt

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// trainFunc is the Train of a population.
type trainFunc = func(context.Context) (*Result, error)

// populations make the three kinds of population from a colony, each as its Train and its Close.
var populations = map[string]func(t *testing.T, c *colony) (train trainFunc, end func() error, err error){
	"New": func(_ *testing.T, c *colony) (trainFunc, func() error, error) {
		p, err := New(c.opt)
		if err != nil {
			return nil, nil, err
		}
		return p.Train, p.Close, nil
	},
	"NewAsync": func(t *testing.T, c *colony) (trainFunc, func() error, error) {
		p, err := newAsync(c.opt)
		if err != nil {
			return nil, nil, err
		}
		return p.Train, p.Close, nil
	},
	"Join": func(t *testing.T, c *colony) (trainFunc, func() error, error) {
		w, err := Join(t.Context(), c.opt, ProcessOptions{Store: workspace.NewMemory(c.opt.Members)})
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
		want := c.opt.Directory + " holds the run of a single agent"
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), want) {
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

// A population that saves within its intervals loses no more than SaveSteps to a kill, and comes to the same.
func TestSaveSteps(t *testing.T) {
	t.Parallel()
	want := whole(t, 10)
	c := newColony(4)
	c.opt.Directory, c.opt.SaveSteps, c.opt.ProgressSteps = t.TempDir(), 20, 10
	found := t.TempDir()
	copied := false
	c.opt.Progress = func(u Update) {
		// The files that a kill leaves in the third interval, 10 environment steps before its end.
		if at := u.TargetSteps - 10; u.Iteration == 3 && u.Event == nil && u.Status.Steps == at && !copied {
			copied = true
			if err := os.CopyFS(found, os.DirFS(c.opt.Directory)); err != nil {
				t.Error(err)
			}
		}
	}
	p := mustTrain(t, c.opt)
	compare(t, want, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	c = newColony(4)
	c.opt.Directory, c.opt.SaveSteps, c.opt.ProgressSteps = found, 20, 10
	p = mustNew(t, c.opt)
	target := p.opt.target(3)
	for _, m := range p.Generation().Members {
		if p.Generation().Iteration != 3 || m.Steps < target-10-20 {
			t.Errorf("member %d goes on at %d environment steps in interval %d, want at least %d in 3", m.Member, m.Steps,
				p.Generation().Iteration, target-10-20)
		}
	}
	if _, err := p.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare(t, want, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// A finished population that is resumed returns its best, and changes no file.
func TestFinishedIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := newColony(4)
	c.opt.Directory = t.TempDir()
	files := func() map[string]string { return contents(t, c.opt.Directory) }
	first := mustTrain(t, c.opt)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	before := files()
	again := mustTrain(t, c.opt)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, files()); d != "" {
		t.Errorf("files changed: %s", d)
	}
	a, b := first.Best(), again.Best()
	if a.Member != b.Member || a.Iteration != b.Iteration || a.Objective != b.Objective {
		t.Errorf("the best is %+v, was %+v", b, a)
	}
	if d := cmp.Diff(first.Journal(), again.Journal()); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
}
