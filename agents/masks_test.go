package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// maskableCase is a rollout and an update of MaskablePPO, see testdata/maskable/maskable.py. Everything but Initial
// and Updated is ordered by time, then by environment.
type maskableCase struct {
	NVec             []int         `json:"nvec"`
	Initial, Updated [][]float32   // the parameters, layer by layer, first of the policy
	Observations     [][][]float32 // one more than there are steps
	Masks            [][][]float32
	Actions          [][][]float32
	LogProb          [][]float32 `json:"log_prob"`
	Rewards          [][]float32
	Dones            [][]bool
	Deterministic    [][]float32
	Losses           map[string]float64
}

// TestMaskablePPO compares masked log-probabilities, deterministic actions, losses and updated parameters with
// sb3-contrib's MaskablePPO.
func TestMaskablePPO(t *testing.T) {
	var all struct{ Cases []maskableCase }
	must(t, json.Unmarshal(check.Read(t, "testdata/maskable/maskable.json"), &all))
	for _, c := range all.Cases {
		t.Run(fmt.Sprint(c.NVec), c.compare)
	}
}

func (c *maskableCase) compare(t *testing.T) {
	steps, n, width := len(c.Actions), len(c.Actions[0]), len(c.Observations[0][0])
	sp := spaces.Set{Observation: spaces.Unbounded(width), Action: spaces.NewMultiDiscrete(c.NVec...)}
	if len(c.NVec) == 1 {
		sp.Action = spaces.NewDiscrete(c.NVec[0])
	}
	sp.ActionMask = spaces.NewActionMask(sp.Action)
	policy, value, err := ppoMLPs(sp).Make(1)
	must(t, err)
	actor := &told{Policy: policy}
	a := check.Get(ppo.New(ppo.Options{Spaces: sp, NumEnvs: n, Models: ppo.Models{Policy: actor, Value: value},
		Dict: map[string]any{"rollouts": steps, "mini_batches": 1, "learning_epochs": 3, "discount_factor": 0.97,
			"gae_lambda": 0.9, "ratio_clip": 0.2, "value_clip": 0, "entropy_loss_scale": 0.03, "value_loss_scale": 0.5,
			"grad_norm_clip": 0.5, "learning_rate": 0.02, "adam_epsilon": 1e-5,
			"advantage_normalization": "minibatch"}}))(t)
	agenttest.Close(t, a)
	names := c.setParameters(t, a)
	a.SetTraining(false)
	check.Same(t, act(t, a, c.at(0)), slices.Concat(c.Deterministic...), "deterministic actions")
	a.SetTraining(true)
	for step := range steps {
		actor.next = slices.Concat(c.Actions[step]...)
		check.Get(a.Act(c.at(step)))(t)
		must(t, a.Record(agents.Transition{Rewards: c.Rewards[step], Terminated: c.Dones[step],
			Truncated: make([]bool, n), NextObservations: slices.Concat(c.Observations[step+1]...)}))
	}
	near := func(what string, got, want []float32, tolerance float64) {
		t.Helper()
		check.Is(t, len(got), len(want), "values of %s", what)
		for i := range want {
			check.Near(t, float64(got[i]), float64(want[i]), tolerance, "%s: value %d", what, i)
		}
	}
	snap := agenttest.Snapshot(t, a)
	recorded := check.Get(snap.Float32s(layout.Rollout("log_prob"), int64(steps), int64(n), 1))(t)
	near("log-probabilities", recorded, slices.Concat(c.LogProb...), 1e-5)
	must(t, a.Update(context.Background()))
	figures := map[string]float64{}
	a.Tracked(func(tag string, x float64) { figures[tag] = x })
	for tag, want := range map[string]float64{"Loss / Policy loss": c.Losses["policy"],
		"Loss / Value loss": 0.5 * c.Losses["value"], "Policy / Entropy": -c.Losses["entropy"]} {
		near(tag, []float32{float32(figures[tag])}, []float32{float32(want)}, 1e-5)
	}
	after := agenttest.Parameters(t, a)
	for i, name := range names {
		near(name, after[name], c.Updated[i], 1e-4)
	}
}

// at returns what the environments show before a step.
func (c *maskableCase) at(step int) agents.Observation {
	return agents.Observation{Observations: slices.Concat(c.Observations[step]...),
		ActionMasks: slices.Concat(c.Masks[step]...)}
}

// setParameters puts the case's initial parameters into an agent, and returns their names in the case's order.
func (c *maskableCase) setParameters(t *testing.T, a agenttest.Agent) (names []string) {
	t.Helper()
	snap := agenttest.Snapshot(t, a)
	for i, name := range snap.Values[layout.Parameters].([]any) {
		names = append(names, name.(string))
		shape := snap.Arrays[names[i]].Shape
		snap.Arrays[names[i]] = checkpoint.ArrayFloat32(shape, c.Initial[i])
	}
	must(t, a.Restore(snap))
	return names
}

// unmasked is a custom policy that does not apply masks.
type unmasked struct{ *models.Stochastic }

// Sample implements [models.Policy] without the masks.
func (p unmasked) Sample(s *tensor.Scope, in models.Inputs, gen *tensor.Generator) models.Action {
	in.ActionMask = tensor.Tensor{}
	return p.Stochastic.Sample(s, in, gen)
}

// Masks that are missing, malformed, or not applied by a custom policy are errors of Act. Random first actions obey the
// masks.
func TestMaskErrors(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewMultiDiscrete(2, 3)}
	sp.ActionMask = spaces.NewActionMask(sp.Action)
	newAgent := func(settings map[string]any, wrap func(*models.Stochastic) models.Policy) *ppo.Agent {
		policy, value, err := ppoMLPs(sp).Make(1)
		must(t, err)
		a := check.Get(ppo.New(ppo.Options{Spaces: sp, NumEnvs: 2, Dict: settings,
			Models: ppo.Models{Policy: wrap(policy.(*models.Stochastic)), Value: value}}))(t)
		agenttest.Close(t, a)
		return a
	}
	random := newAgent(map[string]any{"random_timesteps": 1}, func(p *models.Stochastic) models.Policy { return p })
	in := agents.Observation{Observations: make([]float32, 4)}
	for want, masks := range map[string][]float32{
		"there are 0 values of action masks, want 10 (2 environments × 5)": nil,
		"environment 1: the action mask allows no choice of index 1 of MultiDiscrete(2, 3)": {1, 0, 0, 0, 1, 1, 1, 0, 0,
			0},
		"environment 1: the action mask has 0.5 for choice 1 of": {1, 0, 0, 0, 1, 0, 0.5, 1, 0, 0},
	} {
		in.ActionMasks = masks
		check.RefusedAs(random.Act(in))(t, masks, want)
	}
	in.ActionMasks = []float32{1, 0, 0, 0, 1, 0, 1, 1, 0, 0}
	check.Same(t, act(t, random, in), []float32{0, 2, 1, 0}, "random actions where the masks allow one each")
	own := newAgent(nil, func(p *models.Stochastic) models.Policy { return unmasked{p} })
	var ignored error
	for k := 0; k < 100 && ignored == nil; k++ { // until it draws a forbidden choice
		_, ignored = own.Act(in)
	}
	check.RefuseAs(t, "a policy that ignores masks", ignored, "does not apply Inputs.ActionMask")
}
