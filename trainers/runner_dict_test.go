package trainers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

func walkers(t testing.TB) envs.Env {
	t.Helper()
	env := value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 4, Seed: 1}))(t)
	t.Cleanup(func() { env.Close() })
	return env
}

// fromDict makes a trainer and closes its agent. It returns the agent's first weights and the complete dictionary.
func fromDict(t testing.TB, dict map[string]any, env envs.Env) (map[string]checkpoint.Array, map[string]any) {
	t.Helper()
	tr := value(trainers.FromDict(dict, env))(t)
	defer tr.Agent().Close()
	return agenttest.Snapshot(t, tr.Agent().(agenttest.Agent)).Arrays, tr.Dict()
}

// What Dict returns, written as YAML and read again, makes the agent that the original makes.
func TestDict(t *testing.T) {
	for name, x := range map[string]struct {
		text string
		env  envs.Env
	}{
		"ppo":                          {ppoYAML, pendulum(t)},
		"amp":                          {strings.Replace(ampYAML, "SEPARATE", "true", 1), walkers(t)},
		"without a trainer and a seed": {"{models: {mlp: [8]}, agent: {class: PPO}, trainer: null}", pendulum(t)},
		"mappo with settings and models of each agent": {mappoYAML, games(t)},
	} {
		weights, full := fromDict(t, value(config.FromYAML([]byte(x.text)))(t), x.env)
		written := value(yaml.Marshal(full))(t)
		for from, d := range map[string]map[string]any{"Go": full, "YAML": value(config.FromYAML(written))(t)} {
			again, second := fromDict(t, d, x.env)
			if diff := cmp.Diff(weights, again); diff != "" {
				t.Errorf("%s, %s: the first weights differ:\n%.500s", name, from, diff)
			}
			if text := value(yaml.Marshal(second))(t); string(text) != string(written) {
				t.Errorf("%s, %s: completed again it is\n%s\nafter\n%s", name, from, text, written)
			}
		}
	}
}

// games are games of two seats that take turns.
func games(t *testing.T) envs.Env {
	env := value(classic.NewTicTacToe(classic.Config{NumEnvs: 2}))(t)
	t.Cleanup(func() { must(t, env.Close()) })
	return env
}

// mappoYAML is in the words of skrl 1.4, in which STATES are what a model reads.
const mappoYAML = `
seed: 3
models:
  player_0: {mlp: [8]}
  player_1:
    separate: true
    policy: {class: CategoricalMixin, network: [{name: net, input: STATES, layers: [6]}], output: ACTIONS}
    value: {class: DeterministicMixin, network: [{name: net, input: STATES, layers: [4]}], output: ONE}
memory: {class: RandomMemory, memory_size: -1}
agent:
  class: MAPPO
  rollouts: 4
  mini_batches: {player_0: 1, player_1: 2}
  learning_rate: {player_0: 1.0e-3, player_1: 3.0e-4}
  state_preprocessor: RunningStandardScaler
  state_preprocessor_kwargs: null
  shared_state_preprocessor: RunningStandardScaler
  shared_state_preprocessor_kwargs: null
trainer: {timesteps: 12}
`

// Each agent of a dictionary has its own settings and models; value networks read the joint observation and who acts,
// policies their own.
func TestSeveralAgents(t *testing.T) {
	tr := value(trainers.FromYAML([]byte(mappoYAML), games(t), func(c *trainers.Config) {
		*c = trainers.Config{Timesteps: 12}
	}))(t)
	defer tr.Agent().Close()
	must(t, tr.Train(t.Context()))
	saved := agenttest.Snapshot(t, tr.Agent()).Arrays
	for array, want := range map[string][]int64{
		"agent_0/policy/net.0.weight": {8, 18}, "agent_0/value/net.0.weight": {8, 38},
		"agent_1/policy/net.0.weight": {6, 18}, "agent_1/value/net.0.weight": {4, 38},
		"agent_0/observation_preprocessor/running_mean": {18}, "agent_1/state_preprocessor/running_mean": {38},
	} {
		if got := saved[array].Shape; !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", array, got, want)
		}
	}
	for change, want := range map[[2]string]string{
		{"class: MAPPO", "class: PPO"}:            `"agent.class" is "PPO": 2 agents act`,
		{"player_1: 2}", "player_2: 2}"}:          `"mini_batches" has values of player_0, player_2, and the agents`,
		{", player_1: 3.0e-4}", "}"}:              `"learning_rate" has values of some agents only; player_1 missing`,
		{"rollouts: 4", "parameter_sharing: all"}: "share parameters",
		{"  player_0: {mlp: [8]}\n", ""}:          `"models" has values of some agents only; player_0 missing`,
	} {
		text := strings.Replace(mappoYAML, change[0], change[1], 1)
		refused(trainers.FromYAML([]byte(text), games(t)))(t, change[1], want)
	}
}
