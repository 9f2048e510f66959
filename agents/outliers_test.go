package agents_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
)

// A finite value that ruins running statistics is noted once, with its field, dimension, environment, timestep and
// value, in the first update and in later ones. Ordinary values and rare events are not.
func TestOutliersAreNoted(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 1),
		AMPObservation: spaces.Unbounded(2)}
	for _, test := range []struct {
		name  string
		spoil func(now agents.Observation)
		after func(tr agents.Transition)
		want  string
	}{
		{"nothing", nil, nil, ""},
		{"a rare event", func(now agents.Observation) { now.Observations[1] = 900 },
			func(tr agents.Transition) { tr.Rewards[1] = 500 }, ""},
		{"observations", func(now agents.Observation) { now.Observations[5] = 1e8 }, nil,
			"amp: observations: environment 1, dimension 2 is 1e+08 at timestep %, where the others have mean "},
		{"states", func(now agents.Observation) { now.States[4] = -1e8 }, nil,
			"amp: states: environment 2, dimension 0 is -1e+08 at timestep %"},
		{"AMP observations", nil, func(tr agents.Transition) { tr.AMPObservations[3] = 1e8 },
			"amp: AMP observations: environment 1, dimension 1 is 1e+08 at timestep %"},
		{"rewards", nil, func(tr agents.Transition) { tr.Rewards[2] = 1e8 },
			"amp: rewards: environment 2 is 1e+08 at timestep %"},
		{"two columns", func(now agents.Observation) { now.Observations[1], now.Observations[3] = 1e8, 1e9 }, nil,
			"amp: observations: environment 1, dimension 0 is 1e+09 at timestep %"},
	} {
		for _, settings := range []map[string]any{{}, {"compatibility": agents.SKRL2}, {"overlap": true}} {
			settings["rollouts"], settings["state_preprocessor"] = 20, "RunningStandardScaler"
			x := suite{amp: ampMLPs, spaces: sp}
			for _, at := range []int{7, 400} { // in the first rollout and the 21st
				a, w := x.make(t, 1, settings), x.world(3)
				var notes []string
				for step := range 440 {
					spoiled := step == at || step == at+20
					now := w.Now()
					now.Observations, now.States = slices.Clone(now.Observations), slices.Clone(now.States)
					if spoiled && test.spoil != nil {
						test.spoil(now)
					}
					tr := w.Step(act(t, a, now))
					if spoiled && test.after != nil {
						test.after(tr)
					}
					must(t, a.Record(tr))
					if a.Ready() {
						must(t, a.Update(context.Background()))
						must(t, a.Wait(context.Background()))
						a.Noted(func(note string) { notes = append(notes, note) })
					}
				}
				want := strings.Replace(test.want, "%", strconv.Itoa(at), 1)
				if want == "" && len(notes) > 0 || want != "" && (len(notes) != 1 ||
					!strings.HasPrefix(notes[0], want)) {
					t.Errorf("%s at timestep %d, %v: noted %q, want %q once", test.name, at, settings, notes, want)
				}
				if more := "(1 more dimensions"; len(notes) > 0 && strings.Contains(notes[0],
					more) != (test.name == "two columns") {
					t.Errorf("%s: %q", test.name, notes[0])
				}
			}
		}
	}
}

// A reward whose square float32 cannot sum is refused before anything changes, and an update whose returns have
// become so large is undone with its statistics.
func TestRewardsTooLarge(t *testing.T) {
	x := suite{ppo: ppoMLPs, spaces: spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2)}}
	a, w := x.make(t, 1, map[string]any{"discount_factor": 1.0, "lambda": 1.0}), x.world(2)
	agenttest.Learn(t, a, w, 1)
	for range 8 {
		tr := w.Step(act(t, a, w.Now()))
		before := agenttest.Snapshot(t, a)
		good := tr.Rewards
		tr.Rewards = []float32{0, 1e20, 0}
		if err := a.Record(tr); err == nil || !strings.Contains(err.Error(), "the reward of environment 1 is 1e+20") {
			t.Fatalf("a reward of 1e20: %v", err)
		}
		unchanged(t, a, before, "after a reward of 1e20")
		tr.Rewards = good
		must(t, a.Record(tr))
	}
	must(t, a.Update(context.Background()))
	for range 8 {
		tr := w.Step(act(t, a, w.Now()))
		tr.Terminated, tr.Truncated = make([]bool, rows), make([]bool, rows)
		tr.Rewards = []float32{1.1e18, 1.1e18, 1.1e18}
		must(t, a.Record(tr))
	}
	before := agenttest.Snapshot(t, a)
	var diverged *agents.DivergedError
	if err := a.Update(context.Background()); !errors.As(err, &diverged) || !strings.Contains(err.Error(),
		"value_preprocessor has become") {
		t.Errorf("returns of 9e18: %v", err)
	}
	unchanged(t, a, before, "after returns of 9e18")
}
