package pbt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// TestMoreStepsContinue: a population that trained to its end goes on when there is more to train, and comes to what
// one long run comes to. One that has nothing more to train changes no file.
func TestMoreStepsContinue(t *testing.T) {
	t.Parallel()
	want := mustTrain(t, newColony(4).opt)
	c := newColony(4)
	c.opt.Directory = t.TempDir()
	var before map[string]string
	for _, total := range []int64{50, 150, 175, 500, 500} {
		c.opt.TotalSteps = total
		p := mustTrain(t, c.opt)
		m := p.Generation().Members[0]
		if m.Steps != total || int64(len(m.Scores)) != (total-1)/50+1 {
			t.Errorf("trained %d of %d steps, and has %d scores", m.Steps, total, len(m.Scores))
		}
		mustClose(t, p)
		if total == 500 {
			// The end at 175 was looked at as an end, and so may have given another best; the rest is the same.
			must.Equal(t, "the journal", lines(t, want.Journal()), lines(t, readJournal(t, c.opt.Directory)))
			after := contents(t, c.opt.Directory)
			if before != nil {
				must.Equal(t, "the files of a finished population", before, after)
			}
			before = after
		}
	}
}

// TestDivergedContinues stops and continues a population in which a diverged member is never replaced. The member must
// continue from its own weights, as it does without an interruption. So must one that has just failed.
func TestDivergedContinues(t *testing.T) {
	t.Parallel()
	for _, rule := range []strategy.Strategy{strategy.Never{}, strategy.DefaultIsaacLab()} {
		stopped := false
		build := func(stop func()) *colony {
			c := newColony(3)
			c.opt.TotalSteps, c.opt.Strategy, c.opt.Parallel = 200, rule, 1
			c.faults.train = func(m *climber) error {
				switch {
				case m.id == 1 && m.steps == 70:
					m.x[0] = math.NaN()
				case m.id == 0 && m.steps == 120 && m == c.built[0]:
					return errors.New("gone")
				case m.id == 2 && m.steps == 130 && !stopped:
					stopped = true
					stop()
				}
				return nil
			}
			c.faults.snapshot = func(m *climber) error {
				if m.id == 0 && m.steps == 120 && m == c.built[0] {
					return errors.New("it cannot be saved any more")
				}
				return nil
			}
			return c
		}
		want := mustTrain(t, build(func() {}).opt)
		stopped = false
		got, breaks := interrupted(t, func() int64 { return 1 }, build)
		must.Is(t, breaks, 1, "interruptions")
		compare(t, want, got)
	}
}

// killable runs the program again with one test only until it is not killed any more, and returns how often it was, at
// most times. The environment tells the child what to do.
func killable(t *testing.T, test string, seed uint64, most int, environment ...string) (kills int) {
	t.Helper()
	for rng := rand.New(rand.NewPCG(seed, 5)); ; kills++ {
		after := 40 + rng.IntN(300)
		if kills == most {
			after = math.MaxInt32
		}
		cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
		cmd.Env = append(append(os.Environ(), environment...), fmt.Sprintf("PBT_TEST_AFTER=%d", after))
		out, err := cmd.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			continue
		}
		if err != nil {
			t.Errorf("after %d kills: %v: %s", kills, err, out)
		}
		return kills
	}
}

// dying returns a function that kills the process when it is called as often as the environment says. Everything that
// trainees do, and every update, calls it.
func (c *colony) dying(t *testing.T) func() error {
	var left atomic.Int64
	left.Store(must.Get(strconv.ParseInt(os.Getenv("PBT_TEST_AFTER"), 10, 64))(t))
	die := func() error {
		if left.Add(-1) == 0 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}
	count := func(*climber) error { return die() }
	c.faults.train, c.faults.snapshot, c.faults.restore = count, count, count
	c.faults.set = func(*climber, map[string]float64) error { return die() }
	c.opt.Progress = func(Update) { _ = die() }
	return die
}

// TestKilled kills a process in the middle of training, saving and restoring, until one finishes.
func TestKilled(t *testing.T) {
	t.Parallel()
	c := newColony(4)
	if c.opt.Directory = os.Getenv("PBT_TEST_KILLED"); c.opt.Directory != "" {
		c.dying(t)
		mustTrain(t, c.opt)
		return
	}
	want := mustTrain(t, newColony(4).opt)
	c.opt.Directory = t.TempDir()
	if kills := killable(t, "TestKilled", 0, 8, "PBT_TEST_KILLED="+c.opt.Directory); kills < 5 {
		t.Errorf("only %d processes were killed", kills)
	}
	compare(t, want, mustTrain(t, c.opt))
	files := must.Get(filepath.Glob(filepath.Join(c.opt.Directory, "000", "state", "*")))(t)
	must.Not(t, len(files) > 8, "snapshots pile up: %v", files)
}

// TestDamagedFilesAreNotUsed damages the state or a snapshot, and expects the population of one save before.
func TestDamagedFilesAreNotUsed(t *testing.T) {
	t.Parallel()
	want := mustTrain(t, newColony(4).opt)
	c := newColony(4)
	c.opt.Directory = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.opt.Progress = func(u Update) {
		if u.Iteration == 8 && u.Event == nil {
			cancel()
		}
	}
	stopped := mustNew(t, c.opt)
	must.Refused(stopped.Train(ctx))(t, "context canceled")
	mustClose(t, stopped)
	state, best := filepath.Join("002", states.File), stopped.Best()
	saved := must.Get(states.Decode(read(t, c.opt.Directory, state)))(t)
	snapshot := filepath.Join("002", states.Folder, saved.Member.Snapshot)
	replace := func(old, new string) func(d []byte) []byte {
		return func(d []byte) []byte { return bytes.Replace(d, []byte(old), []byte(new), 1) }
	}
	for name, test := range map[string]struct {
		file   string
		change func(data []byte) []byte // nil removes it
	}{
		"state truncated":     {state, func(d []byte) []byte { return d[:len(d)/2] }},
		"state: other parent": {state, replace(`"steps": `, `"steps": 9`)},
		"state gone":          {state, nil},
		"snapshot as a path":  {state, replace(`"snapshot": "`, `"snapshot": "../`)},
		"snapshot flipped":    {snapshot, func(d []byte) []byte { d[len(d)-1] ^= 1; return d }},
		"best gone":           {fmt.Sprintf("best/%03d/%06d.safetensors", best.Member, best.Iteration), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := c.opt.Directory
			c := newColony(4)
			c.opt.Directory = t.TempDir()
			must.Do(t, os.CopyFS(c.opt.Directory, os.DirFS(dir)))
			path := filepath.Join(c.opt.Directory, test.file)
			data := read(t, path)
			err := os.Remove(path)
			if test.change != nil {
				err = os.WriteFile(path, test.change(data), 0o644)
			}
			must.Do(t, err)
			p := must.Get(New(c.opt))(t)
			// A missing state file cannot be told from a run killed before it was first written.
			if err := p.Recovered(); (err == nil) != (name == "state gone") ||
				err != nil && !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("what was damaged is reported as %v", err)
			}
			must.Get(p.Train(t.Context()))(t)
			if name == "best gone" {
				if best := p.Best(); best == nil || best.Snapshot == nil || best.Iteration < 8 {
					t.Errorf("the best is %+v", best)
				}
				p.groups[0].best = want.groups[0].best
			}
			compare(t, want, p)
			mustClose(t, p)
			if again := mustTrain(t, c.opt); again.Recovered() != nil {
				t.Errorf("the damage is still there: %v", again.Recovered())
			}
		})
	}
}

// TestSaveSteps: a population that saves within its intervals loses no more than SaveSteps to a kill, and comes to the
// same.
func TestSaveSteps(t *testing.T) {
	t.Parallel()
	c := newColony(4)
	c.opt.TotalSteps, c.opt.ProgressSteps = 200, 10
	want := mustTrain(t, c.opt)
	found := filepath.Join(t.TempDir(), "killed")
	c.opt.Directory, c.opt.SaveSteps = t.TempDir(), 20
	c.opt.Progress = func(u Update) {
		// The files that a kill leaves in the third interval, 10 environment steps before its end.
		if _, err := os.Stat(found); err != nil && u.Iteration == 3 && u.Event == nil && u.Status.Steps == 140 {
			if err := os.CopyFS(found, os.DirFS(c.opt.Directory)); err != nil {
				t.Error(err)
			}
		}
	}
	compare(t, want, mustTrain(t, c.opt))
	c.opt.Directory, c.opt.Progress = found, nil
	p := mustNew(t, c.opt)
	must.Is(t, p.Generation().Iteration, 3, "the interval that it goes on in")
	for _, m := range p.Generation().Members {
		if m.Steps < 120 {
			t.Errorf("member %d goes on at %d environment steps", m.Member, m.Steps)
		}
	}
	must.Get(p.Train(t.Context()))(t)
	compare(t, want, p)
}
