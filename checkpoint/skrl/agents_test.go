package skrl_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

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
	out := map[string]kind{}
	must.Do(t, json.Unmarshal(must.Read(t, "testdata/agents.json"), &out))
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

// unsupported says why this processor cannot compute a kind; nil if it can.
func (k kind) unsupported() error {
	if k.Config["mixed_precision"] != true {
		return nil
	}
	return tensor.BFloat16.Supported(tensor.CPU)
}

// build makes the gorl agent that a kind describes, with parameters of its own.
func (k kind) build(t testing.TB, seed int64) agent {
	t.Helper()
	if why := k.unsupported(); why != nil {
		t.Skip(why)
	}
	sp := k.spaces()
	gaussian := models.DefaultGaussianConfig()
	gaussian.InitialLogStd, gaussian.FixedLogStd = k.InitialLogStd, k.FixedLogStd
	policy, value, err := k.models(sp, gaussian, seed)
	must.Do(t, err)
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
		discriminator := must.Get(models.NewMLP(models.MLPConfig{Inputs: ampObservations, Outputs: 1, Hidden: k.Hidden,
			Activation: "elu"}, seed))(t)
		maps.Copy(config, map[string]any{"amp_batch_size": 8, "motion_dataset_size": 64, "reply_buffer_size": 256})
		a.Agent = must.Get(amp.New(amp.Options{Spaces: sp, NumEnvs: envs, Dict: config, Motions: motion{}, Seed: seed,
			Models: amp.Models{Policy: policy, Value: value, Discriminator: discriminator}}))(t)
	} else {
		a.Agent = must.Get(ppo.New(ppo.Options{Spaces: sp, NumEnvs: envs, Dict: config, Seed: seed,
			Models: ppo.Models{Policy: policy, Value: value}}))(t)
	}
	t.Cleanup(func() { must.Do(t, a.Close()) })
	return a
}

func snapshot(t testing.TB, a agents.Snapshotter) *checkpoint.Snapshot {
	t.Helper()
	return must.Get(a.Snapshot(agents.SnapshotOptions{}))(t)
}
