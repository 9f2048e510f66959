package agents_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// TestPeersJAX gives the second update of an agent to the JAX program that the benchmarks time, and compares every
// parameter and every scaler after it.
func TestPeersJAX(t *testing.T) {
	python := peers.JAX(t)
	sp := spaces.Set{Observation: spaces.Unbounded(17), Action: spaces.Unbounded(6)}
	judged := sp
	judged.AMPObservation = spaces.Unbounded(34)
	settings := map[string]any{"rollouts": 32, "learning_epochs": 8, "mini_batches": 8,
		"learning_rate": []float64{3e-4}, "grad_norm_clip": []float64{0.5}, "entropy_loss_scale": 0.01,
		"discount_factor": 0.97, "observation_preprocessor": "RunningStandardScaler",
		"value_preprocessor": "RunningStandardScaler"}
	ofAMP := both(settings, map[string]any{"task_reward_scale": 0.5,
		"amp_observation_preprocessor": "RunningStandardScaler"})
	ofGRU := both(map[string]any{"sequence_length": 16, "learning_epochs": 4, "mini_batches": 4}, settings)
	t.Run("ppo", func(t *testing.T) {
		a := check.Get(ppo.New(ppo.Options{Spaces: sp, NumEnvs: 16, Seed: 1, Dict: settings,
			Models: ppo.MLPs(sp, []int{64, 64}, "relu")}))(t)
		compareJAX(t, python, a, sp, settings)
	})
	t.Run("gru", func(t *testing.T) {
		a := check.Get(ppo.New(ppo.Options{Spaces: sp, NumEnvs: 16, Seed: 1, Dict: ofGRU,
			Models: ppo.Recurrent(sp, models.GRU(64), []int{64, 32}, "relu")}))(t)
		compareJAX(t, python, a, sp, ofGRU)
	})
	t.Run("amp", func(t *testing.T) {
		a := check.Get(amp.New(amp.Options{Spaces: judged, NumEnvs: 16, Motions: stillness(34), Dict: ofAMP, Seed: 1,
			Models: amp.MLPs(judged, []int{64, 64}, "relu")}))(t)
		compareJAX(t, python, a, judged, ofAMP)
	})
}

// keptRows draws the rows of AMP's minibatches, and keeps them.
type keptRows struct {
	width          int
	rng            *rand.Rand
	motion, replay []float32
}

// Begin and Rows implement amp's sampler.
func (k *keptRows) Begin(*tensor.Scope, int) {}

func (k *keptRows) Rows(s *tensor.Scope, _ int, n int64) (motion, replay tensor.Tensor) {
	return k.draw(s, &k.motion, n), k.draw(s, &k.replay, n)
}

func (k *keptRows) draw(s *tensor.Scope, to *[]float32, n int64) tensor.Tensor {
	rows := make([]float32, int(n)*k.width)
	for i := range rows {
		rows[i] = float32(k.rng.NormFloat64())
	}
	*to = append(*to, rows...)
	return tensor.From(s, rows, n, int64(k.width))
}

// compareJAX closes the agent.
func compareJAX(t *testing.T, python string, a onpolicy.Algorithm, sp spaces.Set, settings map[string]any) {
	t.Helper()
	defer a.Close()
	core := inside(a, "Parts").Interface().(onpolicy.Parts)
	kept := &keptRows{width: sp.AMPObservation.Width(), rng: rand.New(rand.NewPCG(1, 2))}
	if kept.width > 0 {
		core.NoReplays = true
		inside(a, "Draw").Set(reflect.ValueOf(kept))
	}
	var orders []int64
	shuffle := core.Shuffle
	core.Shuffle = func(s *tensor.Scope, n int64) tensor.Tensor {
		order, numbers := shuffle(s, n), make([]int64, n)
		must(t, tensor.Read(order, numbers))
		orders = append(orders, numbers...)
		return order
	}
	w := agenttest.NewWorld(sp, agenttest.Seeds(1, 16)...)
	agenttest.Learn(t, a, w, 1)
	agenttest.Fill(t, a, w)
	before := agenttest.Snapshot(t, a)
	orders, kept.motion, kept.replay = nil, nil, nil
	must(t, a.Update(context.Background()))

	epochs := settings["learning_epochs"].(int)
	steps := int64(epochs * settings["mini_batches"].(int))
	before.Arrays["draws/steps"] = checkpoint.ArrayInt64([]int64{1}, []int64{steps}) // of the first update
	before.Arrays["draws/order"] = checkpoint.ArrayInt64([]int64{int64(epochs), int64(len(orders) / epochs)}, orders)
	if width := int64(kept.width); width > 0 {
		for name, x := range map[string][]float32{"motions": kept.motion, "replay": kept.replay} {
			before.Arrays["draws/"+name] = checkpoint.ArrayFloat32([]int64{int64(len(x)) / width, width}, x)
		}
	}
	dir := t.TempDir()
	for name, snap := range map[string]*checkpoint.Snapshot{"before": before, "after": agenttest.Snapshot(t, a)} {
		file := check.Get(os.Create(filepath.Join(dir, name)))(t)
		must(t, checkpoint.EncodeSafetensors(file, snap))
		must(t, file.Close())
	}
	text := check.Get(json.Marshal(settings))(t)
	var differences map[string]float64
	must(t, json.Unmarshal([]byte(peers.Run(t, python, filepath.Join("..", "benchmarks", "jax_update.py"), "check",
		filepath.Join(dir, "before"), filepath.Join(dir, "after"), string(text))), &differences))
	for name, x := range differences {
		check.Near(t, x, 0, 1e-5, "%s differs, of its largest value", name)
	}
	for _, e := range core.Flat.Entries() {
		_, ok := differences[e.Name]
		check.Not(t, !ok, "%s has not been compared", e.Name)
	}
}
