package skrl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The sizes of testdata/agents.py.
const observations, actions, ampObservations, envs, rollouts = 3, 2, 4, 4, 6

// kind is an entry of testdata/agents.json.
type kind struct {
	Algorithm     string         `json:"algorithm"`
	Hidden        []int          `json:"hidden"`
	InitialLogStd float64        `json:"initial_log_std"`
	FixedLogStd   bool           `json:"fixed_log_std"`
	Discrete      bool           `json:"discrete"`
	Shared        bool           `json:"shared"`
	OwnNames      bool           `json:"own_names"`
	Separately    bool           `json:"separately"`
	Camera        bool           `json:"camera"`
	Recurrent     *recurrent     `json:"recurrent"`
	Config        map[string]any `json:"config"`
	// Rounding is what sums in another order may change, relative to arrays and in actions, where layers compute in
	// bfloat16; 0 otherwise.
	Rounding float64 `json:"rounding"`

	release string // compatibility: "" is skrl-2.0's, of which testdata is; "none" is gorl's own algorithm
}

// recurrent is the recurrent layer before a kind's perceptrons.
type recurrent struct {
	Kind           string `json:"kind"`
	HiddenSize     int    `json:"hidden_size"`
	Layers         int    `json:"num_layers"`
	SequenceLength int    `json:"sequence_length"`
}

func kinds(t testing.TB) map[string]kind {
	t.Helper()
	text, err := os.ReadFile("testdata/agents.json")
	must(t, err)
	out := map[string]kind{}
	must(t, json.Unmarshal(text, &out))
	return out
}

func (k kind) spaces() spaces.Set {
	sp := spaces.Set{Observation: spaces.Unbounded(observations), Action: spaces.NewBox(-1, 1, actions)}
	if k.Discrete {
		sp.Action = spaces.NewDiscrete(actions)
	}
	if k.Camera {
		sp.Observation = spaces.NewPicture(6, 5, 2)
	}
	if k.Algorithm == "AMP" {
		sp.AMPObservation = spaces.Unbounded(ampObservations)
	}
	return sp
}

// agent is a gorl agent whose actions can be set.
type agent struct {
	agenttest.Agent
	dist     *scripted
	rounding float64 // kind.Rounding
}

func (a agent) rate() float64 { return a.Agent.(interface{ LearningRate() float64 }).LearningRate() }

// scripted is a distribution that draws the given actions.
type scripted struct {
	models.Distribution
	next []float32
}

func (d *scripted) Sample(s *tensor.Scope, out tensor.Tensor, gen *tensor.Generator) models.Action {
	if d.next == nil {
		return d.Distribution.Sample(s, out, gen)
	}
	a := tensor.From(s, d.next, tensor.Size(out, 0), int64(d.ActionWidth()))
	return models.Action{Actions: a, Executed: a, LogProb: d.Evaluate(s, out, a).LogProb}
}

// motion is one and the same motion, as in agents.py.
type motion struct{}

func (motion) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) {
	var rows []float32
	for range n {
		for i := range ampObservations {
			rows = append(rows, -1+2*float32(i)/(ampObservations-1))
		}
	}
	return rows, nil
}

// models makes the policy and the value network.
func (k kind) models(sp spaces.Set, gaussian models.GaussianConfig, seed int64) (models.Policy, models.Network, error) {
	net := []models.Container{{Name: "net", Input: "OBSERVATIONS", Activations: []string{"elu"}}}
	for _, n := range k.Hidden {
		net[0].Layers = append(net[0].Layers, models.Layer{Out: fmt.Sprint(n)})
	}
	switch r := k.Recurrent; {
	case k.Camera:
		net[0].Input = "cnn"
		net = append([]models.Container{{Name: "cnn", Input: "permute(OBSERVATIONS, (0, 3, 1, 2)) / 255",
			Activations: []string{"relu"},
			Layers: []models.Layer{{Out: "3", Conv: &models.Conv{Kernel: [2]int{2, 2}, Stride: [2]int{2, 1}}},
				{Out: "2", Conv: &models.Conv{Kernel: [2]int{2, 2}, Padding: [2]int{1, 1}}}, {Flatten: true}}}}, net...)
	case r != nil && k.Shared:
		net[0].Layers = append([]models.Layer{{Recurrent: r.Kind, Out: fmt.Sprint(r.HiddenSize), Layers: r.Layers}},
			net[0].Layers...)
		net[0].Activations = []string{"", "elu"}
	case r != nil:
		layer := models.RecurrentLayer{Kind: r.Kind, HiddenSize: r.HiddenSize, Layers: r.Layers}
		return models.RecurrentActorCritic(sp, layer, k.Hidden, "elu", gaussian, seed)
	case !k.Shared:
		return models.ActorCritic(sp, k.Hidden, "elu", gaussian, seed)
	}
	actor := models.Spec{Class: "Gaussian", Gaussian: gaussian, Network: net, Output: "ACTIONS"}
	critic := models.Spec{Class: "Deterministic", Network: net, Output: "ONE"}
	if k.Shared {
		return models.BuildShared(actor, critic, sp, seed)
	}
	policy, err := actor.BuildPolicy(sp, seed)
	if err != nil {
		return nil, nil, err
	}
	value, err := critic.BuildNetwork(sp, seed)
	return policy, value, err
}

// build makes the gorl agent that a kind describes, with parameters of its own.
func (k kind) build(t testing.TB, seed int64) agent {
	t.Helper()
	sp := k.spaces()
	gaussian := models.DefaultGaussianConfig()
	gaussian.InitialLogStd, gaussian.FixedLogStd = k.InitialLogStd, k.FixedLogStd
	policy, value, err := k.models(sp, gaussian, seed)
	must(t, err)
	own := policy.(*models.Stochastic)
	a := agent{dist: &scripted{Distribution: own.Dist}, rounding: k.Rounding}
	own.Dist = a.dist
	config := maps.Clone(k.Config)
	maps.Copy(config, map[string]any{"rollouts": rollouts, "learning_epochs": 2, "mini_batches": 2,
		"learning_rate": 1e-3})
	switch k.release {
	case "":
		config["compatibility"] = "skrl-2.0"
	case "skrl-2.1":
		config["compatibility"], config["mini_batches"] = k.release, 1
	}
	if k.Recurrent != nil {
		config["sequence_length"] = k.Recurrent.SequenceLength
	}
	if k.Algorithm == "AMP" {
		discriminator, err := models.NewMLP(models.MLPConfig{Inputs: ampObservations, Outputs: 1, Hidden: k.Hidden,
			Activation: "elu"}, seed)
		must(t, err)
		maps.Copy(config, map[string]any{"amp_batch_size": 8, "motion_dataset_size": 64, "reply_buffer_size": 256})
		a.Agent, err = amp.New(amp.Options{Spaces: sp, NumEnvs: envs, Dict: config, Motions: motion{}, Seed: seed,
			Models: amp.Models{Policy: policy, Value: value, Discriminator: discriminator}})
		must(t, err)
	} else {
		a.Agent, err = ppo.New(ppo.Options{Spaces: sp, NumEnvs: envs, Dict: config, Seed: seed,
			Models: ppo.Models{Policy: policy, Value: value}})
		must(t, err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func snapshot(t testing.TB, a agents.Snapshotter) *checkpoint.Snapshot {
	t.Helper()
	s, err := a.Snapshot(agents.SnapshotOptions{})
	must(t, err)
	return s
}

// load reads a checkpoint into an agent.
func load(t testing.TB, a agents.Snapshotter, path string) *skrl.Checkpoint {
	t.Helper()
	c, err := skrl.Read(path)
	must(t, err)
	s, err := c.Snapshot(snapshot(t, a))
	must(t, err)
	must(t, a.Restore(s))
	return c
}

// rollout is what agents.py kept.
type rollout struct {
	t testing.TB
	*npz.File
}

func readRollout(t testing.TB, path string) rollout {
	t.Helper()
	f, err := npz.Open(path)
	must(t, err)
	return rollout{t, f}
}

// row is step i of an array (T, N, ·), or rows i·N to (i+1)·N of the probe.
func (r rollout) row(name string, i int) []float32 {
	r.t.Helper()
	a, err := r.Get(name)
	must(r.t, err)
	x, err := a.Float32s()
	must(r.t, err)
	n := len(x) / a.Shape[0]
	if len(a.Shape) == 2 {
		n *= envs
	}
	return x[i*n : (i+1)*n]
}

// flags is row for truth values.
func (r rollout) flags(name string, i int) []bool {
	r.t.Helper()
	var out []bool
	for _, x := range r.row(name, i) {
		out = append(out, x != 0)
	}
	return out
}

// compareActions compares the actions of an agent in evaluation with skrl's.
func (r rollout) compareActions(a agent, name string) {
	r.t.Helper()
	a.SetTraining(false)
	defer a.SetTraining(true)
	probe, err := r.Get("probe")
	must(r.t, err)
	worst := 0.0
	for i := range probe.Shape[0] / envs {
		got, err := a.Act(agents.Observation{Observations: r.row("probe", i)})
		must(r.t, err)
		want := r.row(name, i)
		if len(got) != len(want) {
			r.t.Fatalf("%d actions, want %d", len(got), len(want))
		}
		for j := range got {
			worst = max(worst, math.Abs(float64(got[j])-float64(want[j])))
		}
	}
	if !(worst <= max(1e-5, a.rounding)) {
		r.t.Errorf("actions %s: they differ from skrl's by up to %.3g", name, worst)
	}
	r.t.Logf("actions %s: they differ from skrl's by at most %.2g", name, worst)
}

// learn makes an agent collect skrl's rollout, with its actions, and learn from it.
func (r rollout) learn(a agent) {
	r.t.Helper()
	for i := range rollouts {
		a.dist.next = r.row("actions", i)
		if _, err := a.Act(agents.Observation{Observations: r.row("observations", i)}); err != nil {
			r.t.Fatal(err)
		}
		step := agents.Transition{Rewards: r.row("rewards", i), Terminated: r.flags("terminated", i),
			Truncated:        r.flags("truncated", i),
			NextObservations: r.row("next_observations", i)}
		if a.Name() == "AMP" {
			step.AMPObservations = r.row("amp_observations", i)
		}
		must(r.t, a.Record(step))
	}
	must(r.t, a.Update(context.Background()))
	a.dist.next = nil
}

// compareState compares an agent's state with a checkpoint of skrl.
func compareState(t testing.TB, a agent, c *skrl.Checkpoint) {
	t.Helper()
	got := snapshot(t, a)
	want, err := c.Snapshot(got)
	must(t, err)
	worst, which := 0.0, ""
	for _, name := range slices.Sorted(maps.Keys(want.Arrays)) {
		if e := difference(t, got.Arrays[name], want.Arrays[name]); !(e <= worst) {
			worst, which = e, name
		}
	}
	if !(worst <= max(1e-5, a.rounding)) {
		t.Errorf("%s: relative error %.3g", which, worst)
	}
	t.Logf("%d arrays compared; the worst is %s: %.2g", len(want.Arrays), which, worst)
	if g, w := fmt.Sprint(got.Values["optimizer_steps"]), fmt.Sprint(want.Values["optimizer_steps"]); g != w {
		t.Errorf("steps of the optimizer: %s, want %s", g, w)
	}
	adam, err := c.Adam()
	must(t, err)
	if rate := a.rate(); math.Abs(rate-adam.LearningRate) > 1e-12 {
		t.Errorf("learning rate %g, want %g", rate, adam.LearningRate)
	}
}

// difference is ‖got − want‖ / ‖want‖.
func difference(t testing.TB, got, want checkpoint.Array) float64 {
	t.Helper()
	g, w := floats(t, got), floats(t, want)
	if len(g) != len(w) {
		t.Fatalf("%d values, want %d", len(g), len(w))
	}
	var d, n float64
	for i := range w {
		d += (g[i] - w[i]) * (g[i] - w[i])
		n += w[i] * w[i]
	}
	if n == 0 {
		return math.Sqrt(d)
	}
	return math.Sqrt(d / n)
}

func floats(t testing.TB, a checkpoint.Array) (out []float64) {
	t.Helper()
	switch a.DType {
	case checkpoint.F64:
		x, err := a.Float64s()
		must(t, err)
		return x
	case checkpoint.F32:
		x, err := a.Float32s()
		must(t, err)
		for _, v := range x {
			out = append(out, float64(v))
		}
	default:
		for _, b := range a.Data {
			out = append(out, float64(b))
		}
	}
	return out
}

// first is the file that a folder's agents begin with.
func (k kind) first(folder string) string {
	if k.Separately {
		return filepath.Join(folder, "policy_1.pt")
	}
	return filepath.Join(folder, "first.pt")
}

// resume loads start into a new agent, lets it learn, and compares the result with skrl's.
func (k kind) resume(t testing.TB, folder, start string) agent {
	t.Helper()
	a := k.build(t, 5)
	load(t, a, start)
	r := readRollout(t, filepath.Join(folder, "rollout.npz"))
	r.compareActions(a, "before")
	r.learn(a)
	second, err := skrl.Read(filepath.Join(folder, "second.pt"))
	must(t, err)
	compareState(t, a, second)
	r.compareActions(a, "after")
	return a
}

// An agent continues from skrl's checkpoint as skrl does: it takes the same actions, and after one more update it has
// the same parameters, moments, scalers and learning rate.
func TestResumesAsSkrl(t *testing.T) {
	all := kinds(t)
	for _, name := range []string{"ppo", "ppo_shared", "amp_separately"} {
		t.Run(name, func(t *testing.T) {
			k, folder := all[name], filepath.Join("testdata", name)
			k.resume(t, folder, k.first(folder))
		})
	}
}

// TestPeersBothWays is TestResumesAsSkrl with checkpoints of an installed skrl, and back: skrl loads gorl's file, takes
// the same actions, and both agree after one more update.
func TestPeersBothWays(t *testing.T) {
	python := peers.Python(t, "torch", "skrl")
	all := kinds(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			k, there, back := all[name], t.TempDir(), t.TempDir()
			k.release = "skrl-2.1"
			peers.Run(t, python, "testdata/agents.py", name, there, "--seed", "7")
			a := k.resume(t, there, k.first(there))
			opt := skrl.Options{}
			if k.OwnNames {
				like, err := skrl.Read(k.first(there))
				must(t, err)
				opt.Like = like
			}
			written := filepath.Join(back, "gorl.pt")
			must(t, skrl.Write(written, snapshot(t, a), opt))
			peers.Run(t, python, "testdata/agents.py", name, back, "--from", written, "--seed", "8")
			r := readRollout(t, filepath.Join(back, "rollout.npz"))
			r.compareActions(a, "before")
			b := k.build(t, 6) // without the memories of a, and at its first step, as skrl's
			restored := snapshot(t, a)
			restored.Values["timestep"] = int64(0)
			must(t, b.Restore(restored))
			r.learn(b)
			second, err := skrl.Read(filepath.Join(back, "second.pt"))
			must(t, err)
			compareState(t, b, second)
			r.compareActions(b, "after")
		})
	}
}
