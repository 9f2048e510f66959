package ppo

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// recipe is a case of testdata/recipes.json, which recipes.py beside it makes with PyTorch.
type recipe struct {
	Settings struct {
		Discrete    bool
		Epochs      int
		Minibatches int
		LR          float64
		Anneal      bool
		Start       int
		Gamma       float64
		Lambda      float64
		Clip        float64
		ValueClip   *float64 `json:"value_clip"`
		Half        bool
		VFCoef      float64 `json:"vf_coef"`
		EntCoef     float64 `json:"ent_coef"`
		MaxGradNorm float64 `json:"max_grad_norm"`
		Eps         float64
		Betas       []float64
		Bootstrap   bool
		Normalize   string
	}
	Steps, Envs  int
	TotalUpdates int `json:"total_updates"`
	Seed         int64
	Init         map[string]golden.Tensor
	Updates      []struct {
		LearningRate float64 `json:"learning_rate"`
		Orders       [][]int64
		Parameters   map[string]golden.Tensor
		Rollout      map[string][]float32
	}
}

// dict is the recipe in gorl's words, as docs/recipes.md has them.
func (r *recipe) dict() map[string]any {
	s := r.Settings
	d := map[string]any{
		"rollouts": r.Steps, "learning_epochs": s.Epochs, "mini_batches": s.Minibatches, "learning_rate": s.LR,
		"discount_factor": s.Gamma,
		"gae_lambda":      s.Lambda, "ratio_clip": s.Clip, "value_clip": 0.0, "value_loss_scale": s.VFCoef,
		"entropy_loss_scale": s.EntCoef,
		"grad_norm_clip":     s.MaxGradNorm, "adam_epsilon": s.Eps, "adam_betas": s.Betas,
		"advantage_normalization": s.Normalize,
		"time_limit_bootstrap":    s.Bootstrap,
	}
	if s.Half {
		d["value_loss_scale"] = 0.5 * s.VFCoef
	}
	if s.ValueClip != nil {
		d["value_clip"] = *s.ValueClip
	}
	if s.Anneal {
		d["learning_rate_scheduler"] = "LinearLR"
		d["learning_rate_scheduler_kwargs"] = map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": "auto",
			"start_epoch": s.Start}
	}
	return d
}

// told acts as the recipe's rollout says.
type told struct {
	models.Policy
	next []float32
}

func (p *told) Sample(s *tensor.Scope, in models.Inputs, _ *tensor.Generator) models.Action {
	a := tensor.From(s, p.next, tensor.Size(in.Observations, 0), int64(p.ActionWidth()))
	return models.Action{Actions: a, Executed: a, LogProb: p.Evaluate(s, in, a).LogProb}
}

// agent makes the recipe's agent, with its first parameters.
func (r *recipe) agent(t *testing.T) (*Agent, *told) {
	t.Helper()
	const actions, observations = 2, 3
	sp := spaces.Set{Observation: spaces.Unbounded(observations), Action: spaces.Unbounded(actions)}
	if r.Settings.Discrete {
		sp.Action = spaces.NewDiscrete(actions)
	}
	policy, value, err := models.ActorCritic(sp, []int{8, 8}, "tanh", models.DefaultGaussianConfig(), 1)
	must(t, err)
	p := &told{Policy: policy}
	a := open(t, Options{Spaces: sp, NumEnvs: r.Envs, Models: Models{Policy: p, Value: value}, Dict: r.dict(),
		Seed: r.Seed})
	check.Same(t, a.Plan(r.TotalUpdates*r.Steps), nil, "notes")
	snap := check.Get(a.Snapshot(agents.SnapshotOptions{}))(t)
	for name, x := range r.Init {
		snap.Arrays[name] = checkpoint.ArrayFloat32(snap.Arrays[name].Shape, x.Float32s())
	}
	must(t, a.Restore(snap))
	return a, p
}

// collect acts and records one rollout.
func (r *recipe) collect(t *testing.T, a *Agent, p *told, rollout map[string][]float32) {
	t.Helper()
	row := func(name string, step int) []float32 {
		width := len(rollout[name]) / r.Steps
		if name == "observations" { // one step more
			width = len(rollout[name]) / (r.Steps + 1)
		}
		return rollout[name][step*width : (step+1)*width]
	}
	flags := func(name string, step int) (out []bool) {
		for _, x := range row(name, step) {
			out = append(out, x != 0)
		}
		return out
	}
	for i := range r.Steps {
		p.next = row("actions", i)
		check.Get(a.Act(agents.Observation{Observations: row("observations", i)}))(t)
		must(t, a.Record(agents.Transition{Rewards: row("rewards", i), Terminated: flags("terminated", i),
			Truncated: flags("truncated", i), NextObservations: row("observations", i+1),
			FinalObservations: row("final_observations", i)}))
	}
}

// TestRecipes compares the parameters after two updates of CleanRL's and Stable-Baselines3's PPO with those of an
// independent program: minibatches that normalise their own advantages, both value losses, Adam's epsilon and betas, a
// learning rate that falls with the updates, one limit for all gradients.
func TestRecipes(t *testing.T) {
	var cases map[string]*recipe
	must(t, json.Unmarshal(check.Read(t, "testdata/recipes.json"), &cases))
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			r := cases[name]
			a, p := r.agent(t)
			r.sameOrders(t, a)
			compare := golden.NewComparison(t)
			for k, u := range r.Updates {
				r.collect(t, a, p, u.Rollout)
				compare.Scalar("learning rate", a.LearningRate(), u.LearningRate)
				must(t, a.Update(context.Background()))
				got, moved := agenttest.Parameters(t, a), 0.0
				for name, want := range u.Parameters {
					golden.Compare(compare, name, got[name], want)
					moved = max(moved, golden.Error(got[name], r.Init[name].Data))
				}
				check.Not(t, moved < 100*golden.Tolerance, "update %d has moved parameters by %g only", k+1, moved)
			}
		})
	}
}

// sameOrders skips the test where libtorch shuffles otherwise than the one that the golden numbers were made with.
func (r *recipe) sameOrders(t *testing.T, a *Agent) {
	t.Helper()
	state := check.Get(a.learner.Gen.State())(t)
	gen := tensortest.Opened[*tensor.Generator](t)(tensor.NewGenerator(0, a.learner.Device))
	must(t, gen.SetState(state))
	s := noGrad(t, a.learner.Device)
	for _, u := range r.Updates {
		for _, want := range u.Orders {
			got := make([]int64, len(want))
			must(t, tensor.Read(s.RandPerm(gen, int64(len(want))), got))
			if !slices.Equal(got, want) {
				t.Skipf("this libtorch shuffles as %v, PyTorch 1.13, with which the golden numbers were made, as %v",
					got, want)
			}
		}
	}
}
