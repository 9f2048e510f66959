package pbt

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// TestWeightsThatAreNotFinite: a member with a good objective and weights that are not finite is never copied nor the
// best; it is rescued, unless the strategy is strict.
func TestWeightsThatAreNotFinite(t *testing.T) {
	for _, strict := range []bool{false, true} {
		c := newColony(4)
		c.rates(0.01, 0.1, 0.02, 0.012) // member 1 would be the best and the leader
		c.opt.Strategy = strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001, Strict: strict}
		c.opt.TotalSteps, c.opt.Explore = 150, nil
		c.divergeUnseen(70, 1)
		p := mustTrain(t, c.opt)
		events := map[journal.Kind]journal.Event{}
		for _, e := range p.Journal() {
			if e.Iteration == 2 && e.Parent == 1 {
				t.Errorf("it was copied: %+v", e)
			}
			if e.Iteration == 2 && e.Member == 1 {
				events[e.Kind] = e
			}
		}
		if e := events[journal.Diverged]; e.HasObjective || !strings.HasPrefix(e.Cause, "weights: ") {
			t.Fatalf("the event is %+v", e)
		}
		if b := p.Best(); b.Iteration == 2 && b.Member == 1 || b.Snapshot.CheckFinite() != nil {
			t.Errorf("the best is %+v", b)
		}
		kind, cause := journal.Replace, "weights are not finite; rescued by"
		if strict {
			kind, cause = journal.Keep, "weights are not finite; not ranked"
		}
		if e := events[kind]; !strings.HasPrefix(e.Cause, cause) || !e.HasObjective || !number.Finite(e.Objective) {
			t.Errorf("what became of it is %+v", e)
		}
		if s := p.Generation().Members[1]; s.Steps != 150 || s.NotFinite != strict || s.Healthy() == strict {
			t.Errorf("it ended as %+v", s)
		}
	}
}

// TestNobodyIsHealthy: the population gives up, leaves everything on disk as it was, and can be continued once what
// spoilt it is mended.
func TestNobodyIsHealthy(t *testing.T) {
	t.Parallel()
	gone := errors.New("the simulator is gone")
	for want, test := range map[string]struct {
		members int
		diverge func(c *colony)
		is      error
	}{
		"interval 3; member 0: episode.return is NaN; member 1:": {3, func(c *colony) { c.diverge(120, 0, 1, 2) }, nil},
		"interval 3; member 0: weights:":                         {1, func(c *colony) { c.divergeUnseen(120, 0) }, nil},
		"interval 3; member 0: the simulator is gone": {2, func(c *colony) {
			c.at(0, 120, func(*climber) error { return gone })
			c.at(1, 120, func(*climber) error { return gone })
		}, gone},
	} {
		c := newColony(test.members)
		c.opt.Directory, c.opt.Parallel = t.TempDir(), 1
		var before map[string]string
		c.opt.Progress = func(u Update) {
			if before == nil && u.Iteration == 3 {
				before = contents(t, c.opt.Directory)
			}
		}
		test.diverge(c)
		p := mustNew(t, c.opt)
		_, err := p.Train(t.Context())
		if !errors.Is(err, ErrNoHealthyMember) || !strings.Contains(err.Error(), want) ||
			test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		must.Equal(t, "the files", before, contents(t, c.opt.Directory))
		if e := kinds(p.Journal(), journal.Hopeless); len(e) != test.members {
			t.Errorf("%s: the journal ends with %+v", want, e)
		}
		if _, again := p.Train(t.Context()); again == nil || again.Error() != err.Error() {
			t.Errorf("training on gave %v", again)
		}
		mustClose(t, p)

		c.faults.train, c.opt.Progress = nil, nil
		if n := len(kinds(mustTrain(t, c.opt).Journal(), journal.Hopeless)); n != 0 {
			t.Errorf("the journal holds %d ends", n)
		}
	}
}

// TestFailedMemberIsRescued: what a trainee returns or panics with is in the journal, and another takes its place. A
// rescue that fails is tried again at the next interval's end.
func TestFailedMemberIsRescued(t *testing.T) {
	for name, fault := range map[string]func() error{
		"error": func() error { return errors.New("the simulator is gone") },
		"panic": func() error { panic("the simulator is gone") },
	} {
		c := newColony(4)
		c.at(2, 60, func(*climber) error { return fault() })
		refused := false
		c.opt.New = func(m Member) (Trainee, error) {
			if len(c.built) == 4 && !refused {
				refused = true
				return nil, errors.New("no memory")
			}
			return c.build(m)
		}
		var told error
		c.opt.Progress = func(u Update) {
			if u.Event != nil && u.Event.Kind == journal.Failed {
				told = u.Err
			}
		}
		p := mustTrain(t, c.opt)
		failed := kinds(p.Journal(), journal.Failed)
		if len(failed) != 1 || failed[0].Member != 2 || failed[0].Iteration != 2 || failed[0].Cause == "" ||
			strings.Contains(failed[0].Cause, "goroutine") {
			t.Fatalf("failures are %+v", failed)
		}
		p1, isPanic := errors.AsType[*PanicError](told)
		if isPanic != (name == "panic") || isPanic && (!bytes.Contains(p1.Stack, []byte("climber")) ||
			!strings.Contains(told.Error(), " at pbt.TestFailedMemberIsRescued")) {
			t.Errorf("the failure was told as %v", told)
		}
		if e := kinds(p.Journal(), journal.ApplyFailed); len(e) != 1 || e[0].Iteration != 2 ||
			!strings.Contains(e[0].Cause, "no memory") {
			t.Errorf("failed rescues are %+v", e)
		}
		if !slices.ContainsFunc(kinds(p.Journal(), journal.Replace), func(e journal.Event) bool {
			return e.Member == 2 && e.Iteration == 3 && strings.Contains(e.Cause, "training failed; rescued by leader")
		}) {
			t.Errorf("it was not rescued: %+v", p.Journal())
		}
		if len(c.built) != 5 || c.built[2].closed != 1 || p.Trainee(2) != Trainee(c.built[4]) {
			t.Error("the failed trainee was not replaced and closed")
		}
		if s := p.Generation().Members[2]; s.Steps != 500 || !s.Healthy() {
			t.Errorf("member 2 ended as %+v", s)
		}
	}
}

// TestFailedApply lets every part of a change fail, and checks that the member is as it was. A member that cannot be
// put back counts as failed.
func TestFailedApply(t *testing.T) {
	wrong := errors.New("wrong shape")
	once := func(f func() error) func(m *climber) error {
		done := false
		return func(m *climber) error {
			if m.id != 1 || m.steps != 50 || done {
				return nil
			}
			done = true
			return f()
		}
	}
	set := func(c *colony) {
		f := once(func() error { return wrong })
		c.faults.set = func(m *climber, _ map[string]float64) error { return f(m) }
	}
	restore := func(f func() error) func(c *colony) { return func(c *colony) { c.faults.restore = once(f) } }
	evolve := func(b breeder) func(c *colony) { return func(c *colony) { c.breed(b) } }
	for _, test := range []struct {
		cause  string
		action strategy.Action
		arm    func(c *colony)
	}{
		{"panic: barren", strategy.SelfMutate, evolve(breeder{fault: func() error { panic("barren") }})},
		{"returned no snapshot", strategy.Replace, evolve(breeder{chain: "nothing"})},
		{"restore: wrong shape", strategy.Replace, restore(func() error { return wrong })},
		{"panic: oh", strategy.Replace, restore(func() error { panic("oh") })},
		{"hyperparameters: wrong shape", strategy.Replace, set},
		{"hyperparameters: wrong shape", strategy.SelfMutate, set},
		{"source: snapshot: wrong shape", strategy.Replace, func(c *colony) {
			c.faults.snapshot = func(m *climber) error {
				if m == c.built[0] {
					return wrong
				}
				return nil
			}
		}},
	} {
		t.Run(test.cause+string(test.action), func(t *testing.T) {
			c := newColony(3)
			c.opt.Strategy = decided{{Member: 1, Action: test.action, Mutate: true, Reason: "test"}}
			c.opt.TotalSteps, c.opt.Explore = 60, doubling("learning_rate")
			c.rates(0.01, 0.02, 0.1) // member 2 is the best, so that only decisions take snapshots of the others
			test.arm(c)
			before, after := c.atEnd(1), climber{}
			c.at(1, 50, func(m *climber) error { after = *m; return nil })
			p := mustTrain(t, c.opt)
			if before.x != after.x || before.rate != after.rate || before.steps != after.steps {
				t.Errorf("the target was %+v and is %+v", before, after)
			}
			if e := kinds(p.Journal(), journal.ApplyFailed); len(e) != 1 || e[0].Member != 1 || e[0].After != nil ||
				e[0].Mutation != "" || e[0].Rebuilt || (e[0].Architecture == "size 1") != (c.opt.Evolve != nil) ||
				!strings.Contains(e[0].Cause, test.cause) || p.Table().Rows[1].Parent != -1 {
				t.Errorf("the journal says %+v", e)
			}
		})
	}
	c := newColony(3)
	c.opt.Strategy = decided{{Member: 1, Action: strategy.Replace}}
	c.faults.restore = func(*climber) error { return wrong }
	if e := kinds(mustTrain(t, c.opt).Journal(), journal.Failed); len(e) != 1 || e[0].Member != 1 {
		t.Errorf("failures are %+v", e)
	}
}

// doubling is a mutation without chance: it doubles or halves.
func doubling(keys ...string) explore.Mutation {
	m := explore.Mutation{Rate: 1, ChangeRange: [2]float64{2, 2}, Rules: explore.Rules{}}
	for _, key := range keys {
		m.Rules[key] = explore.MutateFloat
	}
	return m
}
