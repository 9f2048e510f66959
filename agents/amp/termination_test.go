package amp

import (
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// impatient returns an agent that ends episodes after 3 steps with a style reward below ½, whose discriminator's
// logit is the first AMP feature, so that the style reward is ln(1 + e^x).
func impatient(t *testing.T, settings map[string]any) *Agent {
	t.Helper()
	settings["termination_style_reward"], settings["termination_steps"] = 0.5, 3
	settings["amp_observation_preprocessor"] = nil
	a := open(t, Options{Spaces: plain, Models: judgedBy(models.MLPConfig{Inputs: 3, Outputs: 1}),
		Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Dict: small(settings), Seed: 4})
	for i, values := range [][]float32{{1, 0, 0}, {0}} {
		must(t, tensor.Write(a.learner.discriminator.Parameters()[i].Tensor, values))
	}
	return a
}

// recorded makes a step in which environment i shows x[i] and, where ended or invalid has it, ends or shows no
// transition.
func recorded(t *testing.T, a *Agent, x []float32, ended, invalid []int) {
	t.Helper()
	n := len(x)
	check.Get(a.Act(agents.Observation{Observations: make([]float32, 4*n)}))(t)
	next := agents.Transition{Rewards: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
		NextObservations: make([]float32, 4*n), FinalObservations: make([]float32, 4*n),
		AMPObservations: make([]float32, 3*n),
		Invalid:         make([]bool, n)}
	for i, v := range x {
		next.AMPObservations[3*i], next.AMPObservations[3*i+1] = v, 9
		next.Terminated[i] = slices.Contains(ended, i) && i%2 == 0
		next.Truncated[i] = slices.Contains(ended, i) && i%2 == 1
		next.Invalid[i] = slices.Contains(invalid, i)
	}
	must(t, a.Record(next))
}

// poor and fine have a style reward of ln(1 + e^x) below and above ½.
const (
	poor = float32(-1)
	fine = float32(0)
)

// An episode is to end behind three poor steps in a row, and only then: a fine step, the end of the episode and a row
// that shows no transition begin anew.
func TestTerminations(t *testing.T) {
	a := impatient(t, map[string]any{"rollouts": 50})
	check.Is(t, a.Terminates(), true, "the agent says that it ends episodes")
	for k, step := range []struct {
		x              [4]float32
		ended, invalid []int
		want           [4]bool
	}{
		{x: [4]float32{poor, poor, poor, poor}},
		{x: [4]float32{poor, poor, fine, poor}},
		{x: [4]float32{poor, fine, poor, poor}, ended: []int{3}, want: [4]bool{true}},
		{x: [4]float32{poor, poor, poor, poor}, want: [4]bool{true}}, // an environment that has not ended it
		{x: [4]float32{poor, poor, poor, poor}, ended: []int{0}, invalid: []int{1}, want: [4]bool{2: true}},
		{x: [4]float32{poor, poor, poor, poor}, ended: []int{2}, want: [4]bool{3: true}},
		{x: [4]float32{poor, poor, poor, fine}},
		{x: [4]float32{poor, poor, poor, poor}, want: [4]bool{true, true}},
	} {
		recorded(t, a, step.x[:], step.ended, step.invalid)
		check.Same(t, a.Terminations(), step.want[:], "after step %d", k)
	}
	a.ResetHidden(1)
	recorded(t, a, []float32{poor, poor, poor, poor}, nil, nil)
	check.Same(t, a.Terminations(), []bool{true, false, true, false}, "after a reset of environment 1")
}

// The reward that counts is the one of an update by the same discriminator, whose scaler and mask it uses.
func TestTerminationsByStyle(t *testing.T) {
	a := newAgent(t, plain, 2, map[string]any{"termination_style_reward": 0.75, "termination_steps": 1,
		"discriminator_masked_features": "1"})
	w := agenttest.NewWorld(plain, agenttest.Seeds(2, 5)...)
	agenttest.Learn(t, a, w, 3)
	seen := [2]int{}
	for range 7 {
		must(t, agenttest.Step(a, w))
		style := check.Get(a.StyleRewards(w.Last.AMPObservations))(t)
		for i, got := range a.Terminations() {
			want := style[i] < 0.75 && !w.Last.Terminated[i] && !w.Last.Truncated[i]
			if got != want {
				t.Errorf("a style reward of %g, ended %v: %v", style[i], w.Last.Terminated[i] || w.Last.Truncated[i],
					got)
			}
			if want {
				seen[1]++
			} else {
				seen[0]++
			}
		}
	}
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("%v episodes go on and end, which shows little", seen)
	}
}
