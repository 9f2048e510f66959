package testdevice_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/devicename"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// graphed are variants with what changes from minibatch to minibatch and from update to update, and more that cannot be
// recorded.
func graphed() []variant {
	byMinibatch := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
		"learning_rate_scheduler_kwargs": map[string]any{"step": "minibatch"}}
	gaussian := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "mini_batch_order": "environments",
		"learning_rate_scheduler_kwargs": map[string]any{"step": "minibatch", "divergence": "gaussian"},
		"bounds_loss_scale":              0.1}
	policyAlone := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
		"learning_rate_scheduler_networks": "policy"}
	return append([]variant{
		{name: "ppo, a rate for each minibatch", spaces: rows, ppo: ppoMLPs, settings: byMinibatch},
		{name: "ppo by the gaussian divergence", spaces: rows, ppo: ppoMLPs, settings: gaussian},
		{name: "ppo, the policy's rate alone", spaces: rows, ppo: ppoMLPs, settings: policyAlone},
		{name: "ppo, adamw and clips apart", spaces: rows, ppo: ppoMLPs,
			settings: map[string]any{"optimizer": "adamw", "weight_decay": 0.1,
				"grad_norm_clip": []any{0.5, 1.0}, "learning_rate": []any{1e-3, 2e-3},
				"advantage_normalization": "minibatch"}},
		{name: "ppo, sgd", spaces: rows, ppo: ppoMLPs,
			settings: map[string]any{"optimizer": "sgd", "sgd_momentum": 0.9}},
		{name: "ppo, bfloat16", spaces: rows, ppo: ppoMLPs, settings: map[string]any{"mixed_precision": true}},
		{name: "ppo, stopped by the divergence", spaces: rows, ppo: ppoMLPs,
			settings: map[string]any{"kl_threshold": 1e3}},
		{name: "amp, a rate for each minibatch", spaces: gait, amp: ampMLPs, settings: byMinibatch},
		{name: "amp by differences", spaces: gait, amp: ampMLPs,
			settings: map[string]any{"discriminator_mode": "differential",
				"amp_observation_preprocessor": "RunningMeanAbsScaler"}},
		{name: "amp, masked", spaces: gait, amp: ampMLPs,
			settings: map[string]any{"discriminator_masked_features": "1"}},
	}, variants...)
}

// alike reports whether no minibatch of a variant depends on what the host sees of the one before.
func alike(v variant) bool {
	return v.settings["compatibility"] == nil && v.settings["kl_threshold"] == nil
}

// recorded reports whether the minibatches of a variant can be CUDA graphs. Those with memory cannot.
func recorded(v variant) bool { return alike(v) && !strings.Contains(v.name, "memory") }

// same trains an agent that makes every minibatch and one that replays minibatches, and wants the same bits: over
// minibatches of two sizes, a replay buffer that fills up, and settings that change between updates. made returns the
// replays that happen while it runs a function.
func same(t *testing.T, v variant, plain, replaying func(v variant) agenttest.Agent, replays int64,
	made func(func()) int64) {
	t.Helper()
	if why := tensor.BFloat16.Supported(tensor.CPU); why != nil && v.settings["mixed_precision"] == true {
		t.Skip(why)
	}
	v = v.with(map[string]any{"learning_epochs": 3, "mini_batches": 5}) // of 48 rows: 10, 10, 10, 9 and 9
	a, b, u, w := plain(v), replaying(v), v.world(), v.world()
	for i := range 4 {
		if i == 2 {
			other := map[string]float64{"learning_rate": 3e-4, "ratio_clip": 0.1, "value_loss_scale": 1}
			must.Do(t, errors.Join(a.SetHyperparameters(other), b.SetHyperparameters(other)))
		}
		if n := made(func() { learn(t, a, u) }); n != 0 {
			t.Errorf("update %d: %d replays by the agent without", i+1, n)
		}
		if n := made(func() { learn(t, b, w) }); n != replays {
			t.Errorf("update %d: %d replays, want %d", i+1, n, replays)
		}
		if d := agenttest.Differences(agenttest.Snapshot(t, a), agenttest.Snapshot(t, b)); len(d) > 0 {
			t.Fatalf("update %d ends otherwise with replays: %q", i+1, d)
		}
		if x, y := figures(a), figures(b); fmt.Sprint(x) != fmt.Sprint(y) {
			t.Errorf("the figures are %v, with replays %v", x, y)
		}
	}
}

func TestGraphsChangeNothing(t *testing.T) {
	testdevice.SkipWithGraphs(t, "it compares agents without")
	for _, v := range graphed() {
		t.Run(v.name, func(t *testing.T) {
			with := func(on bool) func(v variant) agenttest.Agent {
				return func(v variant) agenttest.Agent {
					return v.with(map[string]any{"cuda_graphs": on}).make(t, testdevice.Name(0))
				}
			}
			replays := int64(2*2 + 3*3) // of the sizes 10 and 9 one minibatch each is made as usual
			if !recorded(v) {
				replays = 0
			}
			same(t, v, with(false), with(true), replays, func(f func()) int64 {
				n := testdevice.During(0, f)
				if n.Replays == 0 && n.Captured > 0 || n.Replays > 0 && n.Captured < 2*80 {
					t.Errorf("%d launches are recorded for %d replays", n.Captured, n.Replays)
				}
				return n.Replays
			})
		})
	}
}

// On the CPU agents of small networks replay minibatches without being told to, with one compute thread and with two.
func TestReplaysChangeNothing(t *testing.T) {
	if os.Getenv("GORL_ENGINE") == "torch" {
		t.Skip("without gorl's engine nothing is replayed")
	}
	defer tensor.SetThreads(tensor.Threads())
	wider := []variant{ // which two threads share
		{name: "amp, wider", spaces: gait, amp: func(sp spaces.Set) amp.Models {
			return amp.MLPs(sp, []int{200, 150}, "relu")
		}},
		{name: "ppo, wider memory", spaces: rows, settings: map[string]any{"sequence_length": 4},
			ppo: func(sp spaces.Set) ppo.Models { return ppo.Recurrent(sp, models.GRU(150, 2), []int{200}, "relu") }},
	}
	for _, threads := range []int{1, 2} {
		tensor.SetThreads(threads)
		for _, v := range append(graphed(), wider...) {
			t.Run(fmt.Sprintf("%s, %d threads", v.name, threads), func(t *testing.T) {
				with := func(eager bool) func(v variant) agenttest.Agent {
					return func(v variant) agenttest.Agent {
						devicename.Eager = eager
						defer func() { devicename.Eager = false }()
						return v.make(t, "cpu")
					}
				}
				replays := int64(2*2 + 3*3) // of the sizes 10 and 9 one minibatch each is recorded
				if !replayed(v) {
					replays = 0
				}
				same(t, v, with(true), with(false), replays, func(f func()) int64 {
					before := devicename.Replays.Load()
					f()
					return devicename.Replays.Load() - before
				})
			})
		}
	}
}

// replayed reports whether gorl's engine knows all of a variant's operations that have a gradient.
func replayed(v variant) bool {
	others := []string{"ppo, sgd", "ppo, bfloat16", "amp, masked", "ppo, pictures", "amp, pictures", "amp, wasserstein"}
	return alike(v) && !slices.Contains(others, v.name)
}

// learn makes a rollout and its update, and waits for that.
func learn(t *testing.T, a agenttest.Agent, w *agenttest.World) {
	t.Helper()
	agenttest.Learn(t, a, w, 1)
	must.Do(t, a.(agents.Overlapping).Wait(context.Background()))
}

// figures are those that an agent tracks.
func figures(a agenttest.Agent) map[string]float64 {
	out := map[string]float64{}
	a.Tracked(func(tag string, x float64) { out[tag] = x })
	return out
}

// A policy that reads from the device while it evaluates cannot be recorded: the update fails, is undone, and says what
// to set.
func TestGraphsRefuseReads(t *testing.T) {
	testdevice.SkipWithGraphs(t, "it makes an agent without")
	v := variant{spaces: rows, settings: map[string]any{"cuda_graphs": true}, ppo: func(sp spaces.Set) ppo.Models {
		return ppo.Models{Make: func(seed int64) (models.Policy, models.Network, error) {
			policy, value, err := ppoMLPs(sp).Make(seed)
			return &reading{policy}, value, err
		}}
	}}
	a := v.make(t, testdevice.Name(0))
	agenttest.Fill(t, a, v.world())
	before := agenttest.Snapshot(t, a)
	must.Refuse(t, a.Update(t.Context()), `"cuda_graphs"`, "read by the host")
	if d := agenttest.Differences(before, agenttest.Snapshot(t, a)); len(d) > 0 {
		t.Errorf("%q changed", d)
	}
}

// reading is a policy that reads an observation before it evaluates.
type reading struct{ models.Policy }

func (p *reading) Evaluate(s *tensor.Scope, in models.Inputs, actions tensor.Tensor) models.Evaluation {
	if _, err := tensor.Float32s(in.Observations); err != nil {
		s.Fail(err)
	}
	return p.Policy.Evaluate(s, in, actions)
}
