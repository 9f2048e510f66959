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
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// A finite value that ruins running statistics is noted once, with its field, dimension, environment, timestep and
// value, in the first update and in later ones. Ordinary values and rare events are not.
func TestOutliersAreNoted(t *testing.T) {
	x := suite{amp: ampMLPs, spaces: spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(2),
		Action: spaces.NewBox(-1, 1, 1), AMPObservation: spaces.Unbounded(2)}}
	for _, test := range []struct {
		name  string
		spoil func(now agents.Observation, tr agents.Transition) // each sees one of them
		want  string
	}{
		{"a rare event", func(now agents.Observation, tr agents.Transition) {
			now.Observations[1], tr.Rewards[1] = 900, 500
		}, ""},
		{"two columns", func(now agents.Observation, _ agents.Transition) {
			now.Observations[1], now.Observations[3] = 1e8, 1e9
		}, "amp: observations: environment 1, dimension 0 is 1e+09 at timestep %"},
		{"states", func(now agents.Observation, _ agents.Transition) { now.States[4] = -1e8 },
			"amp: states: environment 2, dimension 0 is -1e+08 at timestep %"},
		{"AMP observations", func(_ agents.Observation, tr agents.Transition) { tr.AMPObservations[3] = 1e8 },
			"amp: AMP observations: environment 1, dimension 1 is 1e+08 at timestep %"},
		{"rewards", func(_ agents.Observation, tr agents.Transition) { tr.Rewards[2] = 1e8 },
			"amp: rewards: environment 2 is 1e+08 at timestep %"},
	} {
		for _, settings := range []map[string]any{{}, {"compatibility": agents.SKRL2}, {"overlap": true}} {
			settings["rollouts"], settings["state_preprocessor"] = 20, "RunningStandardScaler"
			for _, at := range []int{7, 100} { // in the first rollout and the sixth
				a, w := x.make(t, 1, settings), x.world(3)
				var notes []string
				for step := range 140 {
					now := w.Now()
					now.Observations, now.States = slices.Clone(now.Observations), slices.Clone(now.States)
					ignored := agents.Transition{AMPObservations: make([]float32, 6), Rewards: make([]float32, 3)}
					spoiled := step == at || step == at+20
					if spoiled {
						test.spoil(now, ignored)
					}
					tr := w.Step(act(t, a, now))
					if spoiled {
						test.spoil(agents.Observation{Observations: make([]float32, 9), States: make([]float32, 6)}, tr)
					}
					must(t, a.Record(tr))
					if a.Ready() {
						must(t, update(a))
						a.Noted(func(note string) { notes = append(notes, note) })
					}
				}
				if test.want == "" {
					check.Same(t, notes, nil, "%s at timestep %d, %v", test.name, at, settings)
					continue
				}
				check.Is(t, len(notes), 1, "notes of %s at timestep %d, %v", test.name, at, settings)
				check.Refuse(t, errors.New(notes[0]), strings.Replace(test.want, "%", strconv.Itoa(at), 1))
				more := strings.Contains(notes[0], "(1 more dimensions")
				check.Is(t, more, test.name == "two columns", "%s", notes[0])
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
		tr.Terminated, tr.Truncated = make([]bool, rows), make([]bool, rows)
		before := agenttest.Snapshot(t, a)
		tr.Rewards = []float32{0, 1e20, 0}
		check.RefuseAs(t, "a reward of 1e20", a.Record(tr), "the reward of environment 1 is 1e+20")
		unchanged(t, a, before, "by a reward of 1e20")
		tr.Rewards = []float32{1.1e18, 1.1e18, 1.1e18}
		must(t, a.Record(tr))
	}
	before := agenttest.Snapshot(t, a)
	diverges(t, "returns of 9e18", a.Update(context.Background()), "value_preprocessor has become")
	unchanged(t, a, before, "by returns of 9e18")
}
