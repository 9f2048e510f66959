package pbt

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// latent is a climber with a weight that its objective does not show.
type latent struct {
	*climber
	hidden *float64
}

func (l latent) Snapshot() (*checkpoint.Snapshot, error) {
	s, err := l.climber.Snapshot()
	if err == nil {
		s.Arrays["hidden"] = checkpoint.ArrayFloat64([]int64{1}, []float64{*l.hidden})
	}
	return s, err
}

func (l latent) Restore(s *checkpoint.Snapshot) error {
	x, err := s.Float64s("hidden", 1)
	if err != nil {
		return err
	}
	*l.hidden = x[0]
	return l.climber.Restore(s)
}

// spoil makes the hidden weights of members infinite in their step n.
func (c *colony) spoil(n int64, members ...int) {
	var all []latent
	c.opt.New = func(m Member) (Trainee, error) {
		l := latent{newClimber(m, c.faults), new(float64)}
		c.built, all = append(c.built, l.climber), append(all, l)
		return l, nil
	}
	c.faults.train = func(m *climber) error {
		for _, id := range members {
			if m == c.built[id] && m.steps == n {
				*all[id].hidden = math.Inf(-1)
			}
		}
		return nil
	}
}

func TestWeightsThatAreNotFinite(t *testing.T) {
	for _, strict := range []bool{false, true} {
		c := newColony(4)
		// Member 1 would be the best and the leader.
		c.opt.Initial = []map[string]float64{{"learning_rate": 0.01}, {"learning_rate": 0.1}, {"learning_rate": 0.02}, {"learning_rate": 0.012}}
		c.opt.Strategy = strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001, Strict: strict}
		c.opt.TotalSteps = 150
		c.opt.Explore = nil
		c.spoil(70, 1)
		var updates []Update
		c.opt.Progress = func(u Update) {
			if u.Iteration == 2 && u.Event != nil && u.Event.Member == 1 {
				updates = append(updates, u)
			}
		}
		p := mustTrain(t, c.opt)
		diverged := kinds(p.Journal(), journal.Diverged)
		if len(diverged) == 0 || diverged[0].Member != 1 || diverged[0].Iteration != 2 || diverged[0].HasObjective || !strings.Contains(diverged[0].Cause, `weights: checkpoint: not finite: "hidden"`) {
			t.Fatalf("diverged are %+v", diverged)
		}
		for _, e := range p.Journal() {
			if e.Iteration == 2 && e.Parent == 1 {
				t.Errorf("it was copied: %+v", e)
			}
		}
		if b := p.Best(); b.Iteration == 2 && b.Member == 1 {
			t.Errorf("it is the best: %+v", b)
		}
		if err := p.Best().Snapshot.CheckFinite(); err != nil {
			t.Error(err)
		}
		events := map[journal.Kind]journal.Event{}
		for _, u := range updates {
			events[u.Event.Kind] = *u.Event
		}
		if strict {
			if e := events[journal.Keep]; e.Cause != "weights are not finite; not ranked" || !number.Finite(e.Objective) {
				t.Errorf("what became of it is %+v", e)
			}
			if s := p.Generation().Members[1]; !s.NotFinite || !s.Diverged() || s.Healthy() || len(diverged) != 2 {
				t.Errorf("it ended as %+v after %d events", s, len(diverged))
			}
			continue
		}
		if e := events[journal.Replace]; e.Parent < 0 || !strings.HasPrefix(e.Cause, "weights are not finite; rescued by") || !e.HasObjective || !number.Finite(e.Objective) {
			t.Errorf("what became of it is %+v", e)
		}
		if s := p.Generation().Members[1]; !s.Healthy() || s.NotFinite || len(diverged) != 1 {
			t.Errorf("it ended as %+v after %d events", s, len(diverged))
		}
	}
}

// TestAllWeightsNotFinite gives up, and leaves everything on disk as it was.
func TestAllWeightsNotFinite(t *testing.T) {
	t.Parallel()
	c := newColony(3)
	c.opt.Directory, c.opt.Parallel = t.TempDir(), 1
	var before map[string]string
	c.opt.Progress = func(u Update) {
		if before == nil && u.Iteration == 3 {
			before = contents(t, c.opt.Directory)
		}
	}
	c.spoil(120, 0, 1, 2)
	p := mustNew(t, c.opt)
	_, err := p.Train(t.Context())
	if !errors.Is(err, ErrNoHealthyMember) || !strings.Contains(err.Error(), `interval 3; member 0: weights: checkpoint: not finite: "hidden"`) {
		t.Errorf("the error is %v", err)
	}
	if d := cmp.Diff(before, contents(t, c.opt.Directory)); d != "" || len(before) < 4 {
		t.Errorf("%d files; changed are %s", len(before), d)
	}
	if e := kinds(p.Journal(), journal.Hopeless); len(e) != 3 || !strings.HasPrefix(e[0].Cause, "weights:") || !number.Finite(e[0].Objective) {
		t.Errorf("the journal ends with %+v", e)
	}
	best := p.Best()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	c.faults.train, c.opt.Progress = nil, nil // what spoilt them is mended
	p = mustTrain(t, c.opt)
	if p.Best().Objective < best.Objective || p.Best().Snapshot.CheckFinite() != nil {
		t.Errorf("the best was %v and is %v", best.Objective, p.Best().Objective)
	}
}

// TestOneOfOneDiverges has nobody to be rescued by.
func TestOneOfOneDiverges(t *testing.T) {
	c := newColony(1)
	c.opt.Strategy = strategy.Never{}
	c.spoil(120, 0)
	if _, err := mustNew(t, c.opt).Train(t.Context()); !errors.Is(err, ErrNoHealthyMember) {
		t.Errorf("the error is %v", err)
	}
}

// TestDivergedIsSaved: where it is kept, a member continues as diverged.
func TestDivergedIsSaved(t *testing.T) {
	c := newColony(3)
	c.opt.Strategy, c.opt.Directory = strategy.Never{}, t.TempDir()
	c.spoil(420, 1)
	p := mustTrain(t, c.opt)
	want := p.Generation()
	if !want.Members[1].NotFinite {
		t.Errorf("it ended as %+v", want.Members[1])
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mustNew(t, c.opt).Generation().Members[1]; !got.NotFinite || !got.Diverged() || got.Steps != 500 {
		t.Errorf("it is restored as %+v", got)
	}
}
