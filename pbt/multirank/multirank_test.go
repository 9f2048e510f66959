package multirank

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// on runs lead on rank 0 of two, goroutines with a group each, and follow on the other.
//
//nolint:revive // the context is the follower's, not the call's
func on(t *testing.T, build Build, follower context.Context, member memberFunc) (errs [2]error) {
	t.Helper()
	cfg := distributed.DefaultConfig()
	cfg.Timeout = time.Minute
	groups := must.Get(distributed.Local(2, cfg))(t)
	var wait sync.WaitGroup
	for r, g := range groups {
		wait.Go(func() {
			defer g.Close()
			if r == 0 {
				errs[r] = lead(t.Context(), g, build, member)
			} else {
				errs[r] = follow(follower, g, build)
			}
		})
	}
	wait.Wait()
	return errs
}

// logs are the calls that the trainees of each rank have had.
type logs struct {
	mu    sync.Mutex
	calls [2][]string
}

// fake is a trainee whose objective grows by its talent with every step. fault, where there is one, fails a call.
type fake struct {
	rank          int
	logs          *logs
	fault         func(rank int, call string) error
	steps, talent int64
	rate          float64
	seed          int64
	closed        bool
}

func (f *fake) call(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	f.logs.mu.Lock()
	f.logs.calls[f.rank] = append(f.logs.calls[f.rank], text)
	f.logs.mu.Unlock()
	if f.fault != nil {
		return f.fault(f.rank, text)
	}
	return nil
}

func (f *fake) Train(ctx context.Context, steps int64) error {
	if err := f.call("train %d", steps); err != nil {
		return err
	}
	f.steps += steps
	return nil
}
func (f *fake) Steps() int64 { return f.steps }
func (f *fake) Metrics() map[string]float64 {
	return map[string]float64{"episode.return": float64(f.steps*f.talent) + f.rate}
}
func (f *fake) Hyperparameters() map[string]float64 {
	return map[string]float64{"learning_rate": f.rate}
}
func (f *fake) SetHyperparameters(values map[string]float64) error {
	if err := f.call("set %v", values); err != nil {
		return err
	}
	f.rate = values["learning_rate"]
	return nil
}
func (f *fake) Snapshot() (*checkpoint.Snapshot, error) {
	return &checkpoint.Snapshot{Values: map[string]any{"steps": f.steps, "talent": f.talent, "rate": f.rate}}, nil
}
func (f *fake) Restore(s *checkpoint.Snapshot) error {
	steps, err1 := s.Int("steps")
	talent, err2 := s.Int("talent")
	rate, err3 := s.Float("rate")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if err := f.call("restore %d", steps); err != nil {
		return err
	}
	f.steps, f.talent, f.rate = steps, talent, rate
	return nil
}
func (f *fake) Reseed(seed int64) error { f.seed = seed; return f.call("reseed %d", seed) }
func (f *fake) Plan(steps int64)        { _ = f.call("plan %d", steps) }
func (f *fake) Samples(string, int) []float64 {
	return []float64{float64(f.steps * f.talent)}
}
func (f *fake) CheckEvaluation() error { return nil }
func (f *fake) EvaluateMetrics(context.Context, int, int64) (map[string]float64, error) {
	return f.Metrics(), nil
}
func (f *fake) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	return f.call("close")
}

// fakes builds them, and notes every build.
func fakes(l *logs, fault func(rank int, call string) error) Build {
	return func(g *distributed.Group, m pbt.Member) (Trainee, error) {
		f := &fake{rank: g.Rank(), logs: l, fault: fault, talent: int64(m.ID + 1),
			rate: m.Hyperparameters["learning_rate"]}
		if err := f.call("build %d with %v, restoring %t", m.ID, m.Hyperparameters, m.Restoring != nil); err != nil {
			return nil, err
		}
		return f, nil
	}
}

// options are a population of two, whose worse member copies the better one and mutates at the end of every interval.
func options() pbt.Options {
	return pbt.Options{
		Members: 2, Objective: "episode.return", IntervalSteps: 50, TotalSteps: 300, Seed: 3,
		Strategy: strategy.IsaacLab{},
		Explore:  explore.Mutation{Rate: 1, Rules: explore.Rules{"learning_rate": explore.MutateFloat}},
		Initial:  []map[string]float64{{"learning_rate": 0.01}, {"learning_rate": 0.02}},
	}
}

// populate trains the members of a population, each by train, and returns their journals.
func populate(t *testing.T, o pbt.Options, train func(id int, member memberFunc) error) []journal.Event {
	t.Helper()
	store := workspace.NewMemory(o.Members)
	journals, errs := make([][]journal.Event, o.Members), make([]error, o.Members)
	var wait sync.WaitGroup
	for id := range o.Members {
		wait.Go(func() {
			errs[id] = train(id, func(ctx context.Context, build buildFunc) (err error) {
				o := o
				o.New = build
				w, err := pbt.Join(ctx, o, pbt.ProcessOptions{Member: id, Store: store})
				if err != nil {
					return err
				}
				defer func() { journals[id], err = w.Journal(), errors.Join(err, w.Close()) }()
				_, err = w.Train(ctx)
				return err
			})
		})
	}
	wait.Wait()
	must.Do(t, errors.Join(errs...))
	return must.Get(journal.Merge(journals...))(t)
}

// count is how many events of a kind there are.
func count(events []journal.Event, kind journal.Kind) (n int) {
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// A population whose members have two ranks decides and writes what one whose members have one rank does, and both
// ranks of a member are told the same, in the same order. The same with a setting that rebuilds trainees.
func TestJournalAsOfOneRank(t *testing.T) {
	for _, rebuild := range [][]string{nil, {"learning_rate"}} {
		o := options()
		o.Rebuild = rebuild
		var alone logs
		want := populate(t, o, func(_ int, member memberFunc) error {
			return member(t.Context(), func(m pbt.Member) (pbt.Trainee, error) { return fakes(&alone, nil)(nil, m) })
		})
		var both [2]logs
		got := populate(t, o, func(id int, member memberFunc) error {
			errs := on(t, fakes(&both[id], nil), t.Context(), member)
			return errors.Join(errs[:]...)
		})
		must.Equal(t, "the journals differ", want, got)
		if n := count(got, journal.Replace); n < 3 {
			t.Errorf("%d replacements, want several", n)
		}
		rebuilt, closed := 0, 0 // closed: trainees of rank 1
		for _, e := range got {
			if e.Rebuilt {
				rebuilt++
			}
		}
		for id := range both {
			must.Equal(t, fmt.Sprint("what the ranks of member ", id, " were told"), both[id].calls[0],
				both[id].calls[1])
			for _, call := range both[id].calls[1] {
				if call == "close" {
					closed++
				}
			}
		}
		if closed != rebuilt+2 || rebuilt > 0 != (rebuild != nil) {
			t.Errorf("%d trainees of rank 1 were closed, %d members rebuilt", closed, rebuilt)
		}
	}
}

// What fails on one rank is undone on both.
func TestUndo(t *testing.T) {
	for failing := range 2 {
		for what, call := range map[string]func(f pbt.Trainee) error{
			"restore 70": func(f pbt.Trainee) error {
				return f.Restore(&checkpoint.Snapshot{Values: map[string]any{"steps": int64(70), "talent": int64(9),
					"rate": 0.7}})
			},
			"set map[learning_rate:0.5]": func(f pbt.Trainee) error {
				return f.SetHyperparameters(map[string]float64{"learning_rate": 0.5})
			},
		} {
			var trainees [2]*fake
			inner := fakes(&logs{}, func(rank int, call string) error {
				if rank == failing && call == what {
					return errors.New("no room")
				}
				return nil
			})
			build := func(g *distributed.Group, m pbt.Member) (Trainee, error) {
				f, err := inner(g, m)
				trainees[g.Rank()] = f.(*fake)
				return f, err
			}
			errs := on(t, build, t.Context(), func(ctx context.Context, build buildFunc) error {
				f, err := build(pbt.Member{Hyperparameters: map[string]float64{"learning_rate": 0.01}})
				if err != nil {
					return err
				}
				defer f.Close()
				trained := f.Train(ctx, 20)
				err = call(f)
				if err == nil || !strings.Contains(err.Error(), "no room") || errors.Is(err, pbt.ErrBroken) {
					return fmt.Errorf("the error is %w, want that of rank %d", err, failing)
				}
				return errors.Join(trained, f.Train(ctx, 10)) // and both go on
			})
			must.Do(t, errors.Join(errs[:]...))
			for r, f := range trainees {
				if f.steps != 30 || f.talent != 1 || f.rate != 0.01 {
					t.Errorf("rank %d fails to %s: after 10 more steps rank %d has %+v, want it as before", failing,
						what, r, f)
				}
			}
		}
	}
}

// A rank ends, while the member trains or while it takes over weights: the member is broken, which is neither published
// as its failure nor written to its journal.
func TestBroken(t *testing.T) {
	for _, what := range []string{"train 5", "restore 50"} {
		store := workspace.NewMemory(2)
		join := func(ctx context.Context, id int, build buildFunc) (events []journal.Event, err error) {
			o := options()
			o.New, o.Asynchronous = build, true
			w, err := pbt.Join(ctx, o, pbt.ProcessOptions{Member: id, Store: store})
			if err != nil {
				return nil, err
			}
			_, err = w.Train(ctx)
			return w.Journal(), errors.Join(err, w.Close())
		}
		// The better member has published the weights that the other is to copy.
		alone := func(m pbt.Member) (pbt.Trainee, error) { return fakes(&logs{}, nil)(nil, m) }
		must.Get(join(t.Context(), 1, alone))(t)
		fault := func(rank int, call string) error {
			if rank == 1 && call == what {
				panic("the simulator is gone")
			}
			return nil
		}
		var events []journal.Event
		errs := on(t, fakes(&logs{}, fault), t.Context(), func(ctx context.Context, build buildFunc) (err error) {
			events, err = join(ctx, 0, build)
			return err
		})
		if !errors.Is(errs[0], pbt.ErrBroken) || !errors.Is(errs[1], pbt.ErrBroken) ||
			!strings.Contains(errs[0].Error(), "simulator is gone at multirank.TestBroken (multirank_test.go:") {
			t.Errorf("%s: the errors are %v", what, errs)
		}
		if len(events) == 0 || events[len(events)-1].Kind != journal.Start {
			t.Errorf("%s: the journal has %v", what, events)
		}
		view := must.Get(store.View())(t)
		if h := view.Members[0].Heartbeat; h == nil || h.Phase != workspace.Stopped {
			t.Errorf("%s: peers see %+v", what, h)
		}
	}
}

// The other ranks end as rank 0 does, so that a launcher sees one status.
func TestEndAlike(t *testing.T) {
	for _, want := range []error{nil, pbt.ErrYield, pbt.ErrRestart, launch.ErrStopped} {
		errs := on(t, fakes(&logs{}, nil), t.Context(), func(context.Context, buildFunc) error { return want })
		for r, err := range errs {
			if !errors.Is(err, want) {
				t.Errorf("rank %d ends with %v, want %v", r, err, want)
			}
		}
	}
	full := errors.New("the disk is full")
	errs := on(t, fakes(&logs{}, nil), t.Context(), func(context.Context, buildFunc) error { return full })
	must.Refuse(t, errs[1], "rank 0 has ended: the disk is full")
}

// A build that fails on one rank ends all.
func TestBuildFails(t *testing.T) {
	for failing := range 2 {
		fault := func(rank int, call string) error {
			if rank == failing {
				return errors.New("no such environment")
			}
			return nil
		}
		errs := on(t, fakes(&logs{}, fault), t.Context(), func(_ context.Context, build buildFunc) error {
			_, err := build(pbt.Member{})
			return err
		})
		for r, err := range errs {
			if !errors.Is(err, pbt.ErrBroken) || !strings.Contains(err.Error(), "no such environment") {
				t.Errorf("rank %d fails to build: rank %d says %v", failing, r, err)
			}
		}
	}
}
