package multirank

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/trainers"
)

// cartPoles builds a rank's PPO agent in four cart-poles of its own.
func cartPoles(g *distributed.Group, m pbt.Member) (Trainee, error) {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4})
	if err != nil {
		return nil, err
	}
	t, err := trainers.FromDictIn(g, map[string]any{"seed": int(m.Seed % 1000),
		"models": map[string]any{"mlp": []any{16}},
		"agent":  map[string]any{"class": "PPO", "rollouts": 16, "observation_preprocessor": "RunningStandardScaler"}},
		env,
		func(cfg *trainers.Config) { *cfg = trainers.Config{Seed: cfg.Seed} })
	if err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return t.Trainee(), nil
}

// comparing is a real trainee with a function that is called after every call that changes it.
type comparing struct {
	Trainee
	note func(call string)
}

func (c *comparing) Train(ctx context.Context, steps int64) error {
	defer c.note("train")
	return c.Trainee.Train(ctx, steps)
}

func (c *comparing) Restore(s *checkpoint.Snapshot) error {
	defer c.note("restore")
	return c.Trainee.Restore(s)
}

func (c *comparing) Reseed(seed int64) error {
	defer c.note("reseed")
	return c.Trainee.Reseed(seed)
}

func (c *comparing) SetHyperparameters(values map[string]float64) error {
	defer c.note("set")
	return c.Trainee.SetHyperparameters(values)
}

// state is what a trainee has after a call.
type state struct {
	call   string
	arrays map[string]checkpoint.Array // of the agent, without random numbers
	random string
	rates  map[string]float64
}

func stateOf(t *testing.T, call string, x Trainee) state {
	snap, err := x.(*trainers.Trainee).Agent().(agents.Snapshotter).Snapshot(agents.SnapshotOptions{})
	if err != nil {
		t.Error(err)
		return state{}
	}
	s := state{call, snap.Arrays, fmt.Sprint(snap.Values["random"]), x.Hyperparameters()}
	for name, a := range snap.Arrays {
		if strings.Contains(name, "random") {
			s.random += fmt.Sprint(a.Data)
			delete(snap.Arrays, name)
		}
	}
	return s
}

// Members of two ranks that train PPO replace and mutate each other in place: after every call both ranks have the same
// parameters, statistics and hyperparameters, bit for bit, and random numbers of their own.
func TestReplaceInPlace(t *testing.T) {
	o := options()
	o.IntervalSteps, o.TotalSteps, o.Initial, o.Seed = 256, 1536, nil, 5
	var states [2][2][]state // by member and rank, from its build on
	events := populate(t, o, func(id int, member memberFunc) error {
		build := func(g *distributed.Group, m pbt.Member) (Trainee, error) {
			x, err := cartPoles(g, m)
			if err != nil {
				return nil, err
			}
			note := func(call string) {
				states[id][g.Rank()] = append(states[id][g.Rank()], stateOf(t, call, x))
			}
			note("build")
			return &comparing{x, note}, nil
		}
		errs := on(t, build, t.Context(), member)
		return errors.Join(errs[:]...)
	})
	if count(events, journal.Replace) < 2 || count(events, journal.Final) != 2 {
		t.Errorf("want replacements and two ends: %v", events)
	}
	for _, e := range events {
		if e.Kind == journal.Final && e.Steps != 1536 {
			t.Errorf("member %d ends after %d environment steps, want 1536, those of both ranks", e.Member, e.Steps)
		}
	}
	calls := map[string]int{}
	for id, of := range states {
		if len(of[0]) != len(of[1]) {
			t.Fatalf("member %d: %d and %d calls", id, len(of[0]), len(of[1]))
		}
		for i, a := range of[0] {
			b := of[1][i]
			if calls[a.call]++; a.call != b.call || !cmp.Equal(a.arrays, b.arrays) || !cmp.Equal(a.rates, b.rates) {
				t.Errorf("member %d, call %d: the ranks differ after %s and %s", id, i, a.call, b.call)
			}
			if a.random == b.random {
				t.Errorf("member %d, call %d: both ranks have the same random numbers after %s", id, i, a.call)
			}
		}
	}
	if calls["build"] != 2 || calls["train"] < 12 || calls["restore"] < 2 || calls["reseed"] < 2 || calls["set"] < 2 {
		t.Errorf("%v; want members that are built once and replaced in place", calls)
	}
}

// Another rank is asked to stop: all ranks stop behind the same update, and the member is saved as one that was
// stopped.
func TestOtherRankStops(t *testing.T) {
	follower, cancel := context.WithCancel(t.Context())
	defer cancel()
	build := func(g *distributed.Group, m pbt.Member) (Trainee, error) {
		x, err := cartPoles(g, m)
		return &comparing{x, func(string) {
			if g.Rank() == 1 {
				cancel() // within the first interval
			}
		}}, err
	}
	errs := on(t, build, follower, func(ctx context.Context, build buildFunc) error {
		x, err := build(pbt.Member{})
		if err != nil {
			return err
		}
		defer x.Close()
		err = errors.Join(x.Train(ctx, 8), x.Train(ctx, 100_000))
		if x.Steps() != 128 || ctx.Err() == nil {
			t.Errorf("it stopped after %d environment steps, want 128: 16 timesteps of two ranks' 4 environments; the "+
				"member's context: %v", x.Steps(), ctx.Err())
		}
		return err
	})
	for r, err := range errs {
		if !errors.Is(err, launch.ErrStopped) {
			t.Errorf("rank %d: %v, want that it was stopped", r, err)
		}
	}
}
