// Package actors makes agents of every kind of policy that gorl can describe, a little trained, for tests of what acts
// without them: package infer and its exports.
package actors

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Rows is the number of environments of every agent.
const Rows = 100

// Case is one kind of agent.
type Case struct {
	Name   string
	Spaces spaces.Set
	// Models builds policy and value.
	Models makeModels
	// AMP makes it an AMP agent, Scaled gives it an observation normalizer.
	AMP, Scaled bool
}

var (
	vector = spaces.Unbounded(7)
	box    = spaces.Space{Kind: spaces.Box, Shape: []int{3}, Low: []float32{-1, -0.3, -2}, High: []float32{1, 0.2, 0.5}}
	free   = spaces.Unbounded(3)
)

// Cases are all of them.
func Cases() []Case {
	var list []Case
	for _, f := range description.Activations() {
		for i := range 4 {
			c := Case{Name: f + "/ppo", Spaces: spaces.Set{Observation: vector, Action: free}, AMP: i >= 2,
				Scaled: i%2 == 1}
			if c.AMP {
				c.Name = f + "/amp"
			}
			if c.Scaled {
				c.Name += "/scaled"
			}
			c.Models = perceptrons(c.Spaces, f, models.DefaultGaussianConfig())
			list = append(list, c)
		}
	}
	list = append(append(list, distributions()...), remembering()...)
	slices.SortStableFunc(list, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Named is the case of a name.
func Named(t testing.TB, name string) Case {
	t.Helper()
	all := Cases()
	i := slices.IndexFunc(all, func(c Case) bool { return c.Name == name })
	must.Not(t, i < 0, "there is no case %q", name)
	return all[i]
}

// distributions are policies of every distribution, and networks that are no perceptrons.
func distributions() []Case {
	clipped := models.DefaultGaussianConfig()
	mean, narrow := clipped, clipped
	clipped.ClipActions, mean.ClipMeanActions = true, true
	narrow.FixedLogStd, narrow.InitialLogStd, narrow.MaxLogStd = true, 0.5, 0.25
	seen := clipped
	seen.StateDependentLogStd, seen.InitialLogStd, seen.MaxLogStd = true, -0.5, -0.49
	bounded := spaces.Set{Observation: vector, Action: box}
	one := spaces.Set{Observation: vector, Action: spaces.NewDiscrete(5)}
	many := spaces.Set{Observation: vector, Action: spaces.NewMultiDiscrete(3, 2, 4)}
	masked, maskedMany := one, many
	masked.ActionMask, maskedMany.ActionMask = spaces.NewActionMask(one.Action), spaces.NewActionMask(many.Action)
	indices := spaces.Set{Observation: spaces.NewMultiDiscrete(4, 3), Action: spaces.NewMultiDiscrete(3, 6, 4, 5)}
	list := []Case{
		{Name: "clip_actions", Spaces: bounded, Models: perceptrons(bounded, "elu", clipped), Scaled: true},
		{Name: "clip_mean_actions", Spaces: bounded, Models: perceptrons(bounded, "elu", mean)},
		{Name: "fixed_log_std", Spaces: bounded, Models: perceptrons(bounded, "tanh", narrow)},
		{Name: "state_dependent_log_std", Spaces: bounded, Models: perceptrons(bounded, "tanh", seen), Scaled: true},
		{Name: "categorical", Spaces: one, Models: perceptrons(one, "relu", mean), Scaled: true},
		{Name: "multi_categorical", Spaces: many, Models: perceptrons(many, "elu", mean), Scaled: true},
		{Name: "categorical/masks", Spaces: masked, Models: perceptrons(masked, "relu", mean)},
		{Name: "multi_categorical/masks", Spaces: maskedMany, Models: perceptrons(maskedMany, "elu", mean),
			Scaled: true},
	}
	for name, c := range map[string]struct {
		sp    spaces.Set
		class string
		spec  models.Spec
	}{
		"spec/one_hot": {indices, "MultiCategorical",
			spec("one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)", "ACTIONS")},
		"spec/output": {bounded, "Gaussian", spec("OBSERVATIONS", "2 * tanh(ACTIONS) - 0.5")},
		"spec/columns": {bounded, "MultivariateGaussian", models.Spec{Network: []models.Container{
			{Name: "arm", Input: "OBSERVATIONS[:, 2:5]", Layers: layers("6", "4"),
				Activations: []string{"tanh", "softmax"}},
			{Name: "net", Input: "concatenate([arm, -OBSERVATIONS, exp(-abs(OBSERVATIONS[:, -1]))])",
				Layers: []models.Layer{{Out: "9", NoBias: true}, {Flatten: true}}, Activations: []string{"gelu"}},
		}, Output: "ACTIONS / (1 + abs(net[:, 0])) + sin(OBSERVATIONS[:, :3]) - cos(OBSERVATIONS[:, 1])"}},
		"spec/softmax": {one, "Categorical", spec("OBSERVATIONS", "softmax(ACTIONS) * 3")},
	} {
		c.spec.Class, c.spec.Gaussian = c.class, models.DefaultGaussianConfig()
		list = append(list, Case{Name: name, Spaces: c.sp, Models: specified(c.spec, c.sp)})
	}
	parts := spaces.Set{Action: free, Observation: spaces.NewDict(map[string]spaces.Space{
		"arm":     spaces.NewDict(map[string]spaces.Space{"joints": spaces.Unbounded(4), "tip": spaces.Unbounded(3)}),
		"gripper": spaces.NewMultiDiscrete(2, 3)})}
	for name, c := range map[string]struct {
		sp      spaces.Set
		encoder []int
		latent  int
	}{
		"evolvable": {bounded, nil, 0}, "evolvable/latent": {bounded, []int{9}, 5},
		"evolvable/dict": {parts, []int{9, 8}, 5}, "evolvable/indices": {indices, nil, 0},
	} {
		list = append(list, Case{Name: name, Spaces: c.sp, Scaled: name == "evolvable/latent",
			Models: valued(c.sp, models.DefaultGaussianConfig(), func(outputs int, seed int64) (models.Network, error) {
				a, err := description.NewArchitecture(c.sp.Observation, c.encoder, c.latent, []int{20, 10}, "silu")
				if err != nil {
					return nil, err
				}
				return models.NewEvolvable(models.EvolvableConfig{Architecture: a, Outputs: outputs, OutputGain: 3},
					seed)
			})})
	}
	value := spec("OBSERVATIONS", "ONE")
	value.Class = "Deterministic"
	shared := spec("OBSERVATIONS", "tanh(ACTIONS)")
	shared.Class, shared.Gaussian = "Gaussian", clipped
	return append(list, Case{Name: "shared", Spaces: bounded, Scaled: true,
		Models: func(seed int64) (models.Policy, models.Network, error) {
			return models.BuildShared(shared, value, bounded, seed)
		}})
}

// specified builds the policy of a specification, and a perceptron for the value.
func specified(spec models.Spec, sp spaces.Set) makeModels {
	return func(seed int64) (models.Policy, models.Network, error) {
		policy, err := spec.BuildPolicy(sp, seed)
		if err != nil {
			return nil, nil, err
		}
		value, err := models.RecurrentValue(sp, models.RecurrentLayer{}, []int{8}, "tanh", seed)
		return policy, value, err
	}
}

func layers(sizes ...string) []models.Layer {
	var list []models.Layer
	for _, s := range sizes {
		list = append(list, models.Layer{Out: s})
	}
	return list
}

func spec(input, output string) models.Spec {
	return models.Spec{Output: output, Network: []models.Container{{Name: "net", Input: input,
		Layers: layers("16", "12"), Activations: []string{"elu"}}}}
}

// makeModels builds policy and value.
type makeModels = func(seed int64) (models.Policy, models.Network, error)

// perceptrons makes a policy whose actions are not near zero, as those of models.ActorCritic are.
func perceptrons(sp spaces.Set, activation string, gaussian models.GaussianConfig) makeModels {
	return valued(sp, gaussian, func(outputs int, seed int64) (models.Network, error) {
		return models.NewMLP(models.MLPConfig{Inputs: sp.Observation.Width(), Outputs: outputs, Hidden: []int{70, 33},
			Activation: activation, OutputGain: 3}, seed)
	})
}

// valued makes a policy of a network with as many outputs as the distribution of the actions has parameters, and a
// perceptron for the value.
func valued(sp spaces.Set, gaussian models.GaussianConfig,
	network func(outputs int, seed int64) (models.Network, error)) makeModels {
	return func(seed int64) (models.Policy, models.Network, error) {
		dist, err := models.NewDistribution(sp.Action, gaussian)
		if err != nil {
			return nil, nil, err
		}
		net, err := network(dist.Outputs(), seed)
		if err != nil {
			return nil, nil, err
		}
		policy, err := models.NewPolicy(net, dist)
		if err != nil {
			return nil, nil, err
		}
		value, err := models.RecurrentValue(sp, models.RecurrentLayer{}, []int{8}, "tanh", seed+1)
		return policy, value, err
	}
}

// New makes the agent, lets it learn a little, so that weights and normalizer are no initial ones, and puts it into
// evaluation. It is closed with the test.
func (c Case) New(t testing.TB, seed int64) agenttest.Agent {
	t.Helper()
	settings := map[string]any{"rollouts": 4, "learning_epochs": 2, "mini_batches": 2, "learning_rate": 3e-3}
	if c.Scaled {
		settings["observation_preprocessor"] = "RunningStandardScaler"
	}
	sp := c.Spaces
	policy, value, err := c.Models(seed)
	must.Do(t, err)
	var agent agenttest.Agent
	if c.AMP {
		sp.AMPObservation = spaces.Unbounded(2)
		settings["motion_dataset_size"], settings["reply_buffer_size"], settings["amp_batch_size"] = 50, 60, 20
		discriminator := must.Get(models.NewMLP(
			models.MLPConfig{Inputs: 2, Outputs: 1, Hidden: []int{8}, Activation: "tanh"}, seed))(t)
		agent, err = amp.New(amp.Options{Spaces: sp, NumEnvs: Rows, Seed: seed, Dict: settings,
			Motions: &agenttest.Motion{Width: 2, Mean: 0.7},
			Models:  amp.Models{Policy: policy, Value: value, Discriminator: discriminator}})
	} else {
		agent, err = ppo.New(ppo.Options{Spaces: sp, NumEnvs: Rows, Seed: seed, Dict: settings,
			Models: ppo.Models{Policy: policy, Value: value}})
	}
	must.Not(t, err != nil, "%s: %v", c.Name, err)
	agenttest.Close(t, agent)
	world := agenttest.NewWorld(sp, agenttest.Seeds(seed, Rows)...)
	if c.Spaces.Observation.Kind == spaces.Box { // the world shows numbers only
		agenttest.Learn(t, agent, world, 2)
	}
	agent.SetTraining(false)
	return agent
}

// Observations fills rows: numbers so far out that normalizers limit some of them, and valid indices.
func (c Case) Observations(rng *rand.Rand, rows []float32) {
	c.Spaces.Observation.Sample(rng, rows)
	if o := c.Spaces.Observation; o.Kind == spaces.Box && o.DType == "" {
		for i := range rows {
			rows[i] *= 2
		}
	}
}
