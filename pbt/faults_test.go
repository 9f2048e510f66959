package pbt

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// poison makes a member's parameters NaN in its step n.
func (c *colony) poison(n int64, members ...int) {
	c.faults.train = func(m *climber) error {
		for _, id := range members {
			if m == c.built[id] && m.steps == n {
				m.x[1] = math.NaN()
			}
		}
		return nil
	}
}

func TestNaNIsRescued(t *testing.T) {
	c := newColony(4)
	c.poison(70, 1, 3)
	p := mustTrain(t, c.opt)
	rescued := 0
	for _, e := range kinds(p.Journal(), journal.Replace) {
		if e.Iteration == 2 && (e.Member == 1 || e.Member == 3) {
			rescued++
			if !e.HasObjective || !math.IsNaN(e.Objective) || e.Parent == 1 || e.Parent == 3 || !strings.Contains(e.Cause, "objective is NaN; rescued by") {
				t.Errorf("the rescue is %+v", e)
			}
		}
	}
	if rescued != 2 {
		t.Errorf("%d members were rescued in interval 2, want 2", rescued)
	}
	for _, s := range p.Generation().Members {
		if !s.Healthy() {
			t.Errorf("member %d ended as %+v", s.Member, s)
		}
	}
	if !number.Finite(p.Best().Objective) {
		t.Errorf("the best is %v", p.Best().Objective)
	}
}

func TestStrictNeverRescues(t *testing.T) {
	c := newColony(4)
	c.opt.Strategy = strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001, Strict: true}
	c.poison(70, 1)
	p := mustTrain(t, c.opt)
	if s := p.Generation().Members[1]; !s.Diverged() || s.Steps != 500 {
		t.Errorf("member 1 ended as %+v", s)
	}
	if _, err := journal.NewHistory(p.Journal()); err != nil {
		t.Error(err)
	}
}

// contents returns a folder's files without journals, which only grow, and without the files that each process rewrites.
func contents(t *testing.T, dir string) map[string]string {
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		own := d != nil && (d.Name() == journal.File || d.Name() == "clock" || d.Name() == "heartbeat.json" || strings.HasPrefix(d.Name(), "lease-"))
		if err == nil && !d.IsDir() && !own {
			files[path] = string(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAllNaNOverwritesNothing(t *testing.T) {
	t.Parallel()
	c := newColony(3)
	c.opt.Directory, c.opt.Parallel = t.TempDir(), 1
	var before map[string]string
	c.opt.Progress = func(u Update) {
		if before == nil && u.Iteration == 3 {
			before = contents(t, c.opt.Directory)
		}
	}
	c.poison(120, 0, 1, 2)
	p := mustNew(t, c.opt)
	_, err := p.Train(t.Context())
	if !errors.Is(err, ErrNoHealthyMember) || !strings.Contains(err.Error(), "interval 3; member 0: episode.return is NaN; member 1:") {
		t.Errorf("the error is %v", err)
	}
	if d := cmp.Diff(before, contents(t, c.opt.Directory)); d != "" || len(before) < 4 {
		t.Errorf("%d files; changed are %s", len(before), d)
	}
	if e := kinds(p.Journal(), journal.Hopeless); len(e) != 3 || e[0].Cause != "episode.return is NaN" {
		t.Errorf("the journal ends with %+v", e)
	}
	if _, again := p.Train(t.Context()); !errors.Is(again, err) {
		t.Errorf("training on gave %v", again)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	c.faults.train, c.opt.Progress = nil, nil // what poisoned them is mended
	p = mustTrain(t, c.opt)
	if len(kinds(p.Journal(), journal.Hopeless)) != 0 {
		t.Error("the journal still holds the run that was given up")
	}
	discarded, err := journal.Read(filepath.Join(c.opt.Directory, "001", journal.DiscardedFile))
	if err != nil || len(kinds(discarded, journal.Hopeless)) != 1 {
		t.Errorf("what was given up is not kept: %v, %v", discarded, err)
	}
}

func TestFailedMembersAreRescued(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() error{
		"error": func() error { return errors.New("the simulator is gone") },
		"panic": func() error { panic("the simulator is gone") },
		"index": func() error { return []error{}[len(os.Args)+5] },
	} {
		t.Run(name, func(t *testing.T) {
			c := newColony(4)
			c.faults.train = func(m *climber) error {
				if m == c.built[2] && m.steps == 60 {
					return fault()
				}
				return nil
			}
			var told error
			c.opt.Progress = func(u Update) {
				if u.Event != nil && u.Event.Kind == journal.Failed {
					told = u.Err
				}
			}
			c.opt.Directory = t.TempDir()
			p := mustTrain(t, c.opt)
			failed := kinds(p.Journal(), journal.Failed)
			if len(failed) != 1 || failed[0].Member != 2 || failed[0].Iteration != 2 || failed[0].Cause == "" || strings.Contains(failed[0].Cause, "goroutine") {
				t.Fatalf("failures are %+v", failed)
			}
			var p1 *PanicError
			if isPanic := errors.As(told, &p1); isPanic != (name != "error") || isPanic && !(bytes.Contains(p1.Stack, []byte("climber")) && strings.Contains(told.Error(), " at pbt.TestFailedMembersAreRescued (faults_test.go:")) {
				t.Errorf("the failure was told as %v", told)
			}
			// Before it are the first line, 4 starts, 4 decisions, the failure, and the decisions on members 0 and 1.
			if e := p.Journal()[1+4+4+1+2]; e.Kind != journal.Replace || e.Member != 2 || !strings.Contains(e.Cause, "training failed; rescued by leader") {
				t.Errorf("after its failure: %+v", e)
			}
			if len(c.built) != 5 || c.built[2].closed != 1 || p.Trainee(2) != Trainee(c.built[4]) {
				t.Error("the failed trainee was not replaced and closed")
			}
			if s := p.Generation().Members[2]; s.Steps != 500 || !s.Healthy() {
				t.Errorf("member 2 ended as %+v", s)
			}
		})
	}
}

func TestEveryoneFails(t *testing.T) {
	c := newColony(2)
	gone := errors.New("the simulator is gone")
	c.faults.train = func(*climber) error { return gone }
	_, err := mustNew(t, c.opt).Train(t.Context())
	if !errors.Is(err, ErrNoHealthyMember) || !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}

func TestTrainMustAdvance(t *testing.T) {
	c := newColony(1)
	c.opt.New = func(m Member) (Trainee, error) { return stuck{newClimber(m, c.faults)}, nil }
	_, err := mustNew(t, c.opt).Train(t.Context())
	if err == nil || !strings.Contains(err.Error(), "must advance") {
		t.Errorf("the error is %v", err)
	}
}

// stuck never counts a step.
type stuck struct{ *climber }

func (stuck) Steps() int64 { return 7 }

// TestFailedApply lets every part of taking over weights fail, and checks that the target is as it was.
func TestFailedApply(t *testing.T) {
	wrong := errors.New("wrong shape")
	once := func(c *colony, f func() error) func(m *climber) error {
		done := false
		return func(m *climber) error {
			if m.id == 1 && m.steps == 50 && !done {
				done = true
				return f()
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		arm    func(c *colony)
		action strategy.Action
		cause  string
	}{
		"restore":        {func(c *colony) { c.faults.restore = once(c, func() error { return wrong }) }, strategy.Replace, "restore: wrong shape"},
		"restore panics": {func(c *colony) { c.faults.restore = once(c, func() error { panic("oh") }) }, strategy.Replace, "panic: oh"},
		"hyperparameters": {func(c *colony) {
			f := once(c, func() error { return wrong })
			c.faults.set = func(m *climber, _ map[string]float64) error { return f(m) }
		}, strategy.Replace, "hyperparameters: wrong shape"},
		"self-mutation": {func(c *colony) {
			f := once(c, func() error { return wrong })
			c.faults.set = func(m *climber, _ map[string]float64) error { return f(m) }
		}, strategy.SelfMutate, "hyperparameters: wrong shape"},
		"source": {func(c *colony) {
			c.faults.snapshot = func(m *climber) error {
				if m == c.built[0] {
					return wrong
				}
				return nil
			}
		}, strategy.Replace, "source: snapshot: wrong shape"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newColony(3)
			c.opt.Strategy = decided{{Member: 1, Action: test.action, Source: 0, Mutate: true, Reason: "test"}}
			c.opt.TotalSteps = 60
			c.mutate(func(m *explore.Mutation) { m.Rate = 1 })
			// Member 2 is the best, so that only decisions take snapshots of the others.
			c.opt.Initial = []map[string]float64{{"learning_rate": 0.01}, {"learning_rate": 0.02}, {"learning_rate": 0.1}}
			test.arm(c)
			var before, after climber
			c.opt.Progress = func(u Update) {
				if u.Event == nil && u.Iteration == 1 && u.Status.Member == 1 {
					before = *c.built[1]
				}
			}
			c.faults.train = func(m *climber) error {
				if m == c.built[1] && m.steps == 50 {
					after = *m
				}
				return nil
			}
			p := mustTrain(t, c.opt)
			if before.x != after.x || before.rate != after.rate || before.discount != after.discount || before.steps != after.steps {
				t.Errorf("the target was %+v and is %+v", before, after)
			}
			e := kinds(p.Journal(), journal.ApplyFailed)
			if len(e) != 1 || e[0].Member != 1 || e[0].After != nil || !strings.Contains(e[0].Cause, test.cause) {
				t.Errorf("the journal says %+v", e)
			}
			if p.Table().Rows[1].Parent != -1 {
				t.Error("it has a parent now")
			}
		})
	}
}

// TestCannotBePutBack: when even undoing fails the member counts as failed, and is rescued later.
func TestCannotBePutBack(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy = first{decided{{Member: 1, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "test"}}, strategy.DefaultIsaacLab()}
	c.opt.TotalSteps = 150
	c.faults.restore = func(m *climber) error {
		if m == c.built[1] {
			return errors.New("broken for good")
		}
		return nil
	}
	p := mustTrain(t, c.opt)
	failed := kinds(p.Journal(), journal.Failed)
	if len(failed) != 1 || failed[0].Member != 1 || failed[0].Iteration != 1 {
		t.Errorf("failures are %+v", failed)
	}
	rescues := 0
	for _, e := range kinds(p.Journal(), journal.Replace) {
		if e.Member == 1 && e.Iteration == 2 {
			rescues++
		}
	}
	if rescues != 1 || len(c.built) != 4 {
		t.Errorf("%d rescues with %d trainees", rescues, len(c.built))
	}
}

// TestRescueThatFails keeps the failed member out until a later rescue succeeds.
func TestRescueThatFails(t *testing.T) {
	c := newColony(3)
	build, refuse := c.opt.New, 2
	c.opt.New = func(m Member) (Trainee, error) {
		if len(c.built) == 3 && refuse > 0 {
			refuse--
			return nil, errors.New("no memory")
		}
		return build(m)
	}
	c.faults.train = func(m *climber) error {
		if m == c.built[0] && m.steps == 10 {
			return errors.New("gone")
		}
		return nil
	}
	p := mustTrain(t, c.opt)
	if e := kinds(p.Journal(), journal.ApplyFailed); len(e) != 2 || !strings.Contains(e[1].Cause, "building it anew: no memory") || e[1].Iteration != 2 {
		t.Errorf("failed rescues are %+v", e)
	}
	if e := kinds(p.Journal(), journal.Failed); len(e) != 1 {
		t.Errorf("failures are %+v", e)
	}
	if s := p.Generation().Members[0]; !s.Healthy() || s.Steps != 500 {
		t.Errorf("member 0 ended as %+v", s)
	}
}

// first decides by one strategy in the first interval and by another later.
type first [2]strategy.Strategy

func (f first) Decide(g strategy.Generation, rng *rand.Rand) []strategy.Decision {
	return f[min(g.Iteration-1, 1)].Decide(g, rng)
}
