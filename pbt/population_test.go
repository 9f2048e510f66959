package pbt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// TestBeatsItsControl compares the same members with and without selection, over seeds.
func TestBeatsItsControl(t *testing.T) {
	objectives := func(opt Options) []float64 {
		var o []float64
		for _, s := range mustTrain(t, opt).Generation().Members {
			o = append(o, s.Objective)
		}
		slices.Sort(o)
		return o
	}
	for seed := range int64(3) {
		c := newColony(8)
		c.opt.Seed, c.opt.IntervalSteps, c.opt.TotalSteps = seed, 50, 1500
		with := objectives(c.opt)
		c.opt.Strategy = strategy.Never{}
		without := objectives(c.opt)
		if with[7] <= without[7] || with[4] <= without[4] {
			t.Errorf("seed %d: best %.4g and median %.4g with selection, %.4g and %.4g without", seed, with[7], with[4],
				without[7], without[4])
		}
	}
}

// TestProgress: Progress is told every pause and every event but the first, and OnInterval every interval's end.
func TestProgress(t *testing.T) {
	c := newColony(3)
	c.opt.ProgressSteps, c.opt.TotalSteps = 20, 175
	inside, events := false, 0
	updates, want := make(map[int][]int64), []int64{20, 40, 50, 70, 90, 100, 120, 140, 150, 170, 175}
	c.opt.Progress = func(u Update) {
		if inside {
			t.Error("Progress was called twice at once")
		}
		inside = true
		defer func() { inside = false }()
		if u.Event != nil {
			events++
			return
		}
		updates[u.Status.Member] = append(updates[u.Status.Member], u.Status.Steps)
		if u.Status.Objective != u.Metrics["episode.return"] || u.TargetSteps != min(u.Iteration*50, 175) {
			t.Errorf("update is %+v", u)
		}
	}
	var seen []int64
	c.opt.OnInterval = func(p *Population) error {
		seen = append(seen, p.Generation().Members[0].Steps)
		return nil
	}
	p := mustTrain(t, c.opt)
	must.Equal(t, "the updates", map[int][]int64{0: want, 1: want, 2: want}, updates)
	must.Is(t, events, len(p.Journal())-1, "events told")
	must.Same(t, seen, []int64{50, 100, 150, 175}, "steps at the intervals' ends")
}

func TestInitialAndSampledHyperparameters(t *testing.T) {
	c := newColony(3)
	c.opt.Initial = []map[string]float64{{"discount_factor": 0.9}, {}, {"learning_rate": 0.02}}
	g := mustNew(t, c.opt).Generation().Members
	a, b := g[0].Hyperparameters["learning_rate"], g[1].Hyperparameters["learning_rate"]
	if a == b || min(a, b) < 1e-4 || max(a, b) > 0.3 || g[2].Hyperparameters["learning_rate"] != 0.02 ||
		g[0].Hyperparameters["discount_factor"] != 0.9 || g[1].Hyperparameters["discount_factor"] != 0.99 {
		t.Errorf("the members begin as %+v", g)
	}
}

func TestTarget(t *testing.T) {
	c := newColony(4)
	c.opt.Directory, c.opt.TotalSteps, c.opt.Target = t.TempDir(), 5000, &Target{-0.6, 3}
	p := mustTrain(t, c.opt)
	end, _ := p.Iterations()
	if n := len(kinds(p.Journal(), journal.Final)); n != 4 || end < 4 || end >= 100 {
		t.Errorf("%d members ended, after %d intervals", n, end)
	}
	for _, m := range p.Generation().Members {
		sum, scores := 0.0, m.Scores[max(0, len(m.Scores)-10):]
		for _, x := range scores {
			sum += x
		}
		if mean := sum / float64(len(scores)); mean < -0.6 {
			t.Errorf("member %d ended with a mean of %v", m.Member, mean)
		}
	}
	mustClose(t, p)
	again, _ := mustTrain(t, c.opt).Iterations()
	must.Is(t, again, end, "the last interval of a population that goes on")
	c.opt.Directory, c.opt.Target.Generations = t.TempDir(), end+2
	late, _ := mustTrain(t, c.opt).Iterations()
	must.Is(t, late, end+2, "the last interval")
}

// TestStoppedUnsaved: the error of a stopped population lists beside that what could not be saved.
func TestStoppedUnsaved(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := newColony(3)
	c.opt.ProgressSteps, c.opt.Directory, c.opt.Asynchronous = 10, filepath.Join(t.TempDir(), "gone"), true
	c.opt.Progress = func(u Update) {
		if u.Status.Steps > 110 && ctx.Err() == nil {
			_ = os.RemoveAll(c.opt.Directory)
			_ = os.WriteFile(c.opt.Directory, nil, 0o600)
			cancel()
		}
	}
	_, err := mustNew(t, c.opt).Train(ctx)
	list, _ := err.(interface{ Unwrap() []error })
	if !errors.Is(err, context.Canceled) || list == nil || len(list.Unwrap()) < 2 {
		t.Errorf("error %v, want one that joins several", err)
	}
}

// TestCauseAndClose: the error of a cancelled population is the context's and its cause's; it can train on, and a
// closed one cannot. All this holds for the three kinds of population.
func TestCauseAndClose(t *testing.T) {
	t.Parallel()
	cause := errors.New("the power is needed elsewhere")
	for kind, open := range map[string]func(o Options) (*Population, error){
		"stopped in interval 3 of 10:": New,
		"stopped with members in intervals ": func(o Options) (*Population, error) {
			o.Asynchronous = true
			return New(o)
		},
		"member 0 stopped in interval 3 of 10:": func(o Options) (*Population, error) {
			return Join(t.Context(), o, ProcessOptions{Store: workspace.NewMemory(o.Members), Silence: time.Second,
				Heartbeat: time.Millisecond, after: quick})
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := newColony(3)
		c.opt.ProgressSteps, c.opt.Parallel = 10, 1
		c.opt.Progress = func(u Update) {
			if u.Status.Steps > 110 {
				cancel(cause)
			}
		}
		p := must.Get(open(c.opt))(t)
		_, err := p.Train(ctx)
		if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), kind) {
			t.Errorf("the error is %v, want one with %q that wraps context.Canceled and the cause", err, kind)
		}
		if n := len(kinds(p.Journal(), journal.Failed)); n > 0 || c.faults.running.Load() > 0 {
			t.Errorf("%s: %d members failed, %d train on", kind, n, c.faults.running.Load())
		}
		cancel(nil)
		first, err := p.Train(t.Context())
		if again, err1 := p.Train(t.Context()); err != nil || err1 != nil || first.Iteration != again.Iteration {
			t.Errorf("%s: continuing gave %v, %v, then %v, %v", kind, first, err, again, err1)
		}
		for _, s := range p.Generation().Members {
			must.Is(t, s.Steps, 500, "%s: steps of member %d", kind, s.Member)
		}
		must.Do(t, errors.Join(p.Close(), p.Close()))
		for i, m := range c.built {
			must.Is(t, m.closed, 1, "%s: how often trainee %d was closed", kind, i)
		}
		must.RefusedAs(p.Train(t.Context()))(t, kind, "closed")
	}
}
