package cli

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/runfile"
)

const poles = `
seed: 3
environment: {id: CartPole, num_envs: 2}
agent: {class: PPO, rollouts: 8, learning_epochs: 1, mini_batches: 1, observation_preprocessor: RunningStandardScaler,
  learning_rate_scheduler: LinearLR, learning_rate_scheduler_kwargs: {total_iters: 50}}
`

// populations are files of every kind of population, as short as they can be, with keys that their complete form has.
var populations = map[string]struct {
	text string
	has  map[string]any
}{
	"isaaclab": {poles + `
models: {mlp: [8]}
pbt: {num_policies: 2, interval_steps: 128, total_steps: 384, workspace: p, objective: episode.length,
  mutation: {learning_rate: mutate_float}, parameters: {gae_lambda: {rule: one_minus, min: 0.5}},
  sample: {learning_rate: {low: 1e-4, high: 1e-3, log: true}}}
launcher: {max_parallel: 1}
`, map[string]any{
		"preset": "isaaclab", "strict": false, "pbt.threshold_std": 0.1, "pbt.heartbeat": "5s",
		"pbt.sample.learning_rate": map[string]any{"low": 1e-4, "high": 1e-3,
			"log": true}, "pbt.parameters.gae_lambda.min": 0.5,
		"launcher.restarts.backoff": "1s", "launcher.max_parallel": 1,
	}},
	"samplefactory": {poles + `
preset: samplefactory
models: {mlp: [8]}
pbt: {num_policies: 3, pbt_period_env_steps: 128, pbt_start_mutation: 0, total_steps: 384, workspace: p,
  pbt_target_objective: episode.length, exploration_loss_coeff: 0.01}
`, map[string]any{"preset": "samplefactory", "pbt.reference": []any{0}, "pbt.pbt_replace_fraction": 0.3,
		"pbt.stats_avg": 100}},
	"raytune": {poles + `
preset: raytune
models: {policy: {class: Categorical, network: [{name: net, input: OBSERVATIONS, layers: [8], activations: tanh}],
  output: ACTIONS}, value: {class: Deterministic, output: ONE,
  network: [{name: net, input: OBSERVATIONS, layers: [8], activations: tanh}]}}
pbt: {num_policies: 3, time_attr: env_steps, perturbation_interval: 128, total_steps: 384, workspace: p,
  metric: episode.length, mode: max,
  hyperparam_mutations: {lr: [1e-3, 1e-4], gamma: {uniform: [0.9, 0.99]}, lambda: "uniform(0.8, 0.9)"}}
`, map[string]any{"preset": "raytune", "pbt.quantile_fraction": 0.25, "models.separate": true,
		"models.value.clip_actions": false}},
	"evolution": {poles + `
mutation: {probabilities: {arch_mut: 1}, rl_hp_selection: {lr: {min: 1e-4, max: 1e-2}}}
selection_strategy: {tournament_size: 2}
training: {pop_size: 2, max_steps: 384, evo_steps: 128, directory: p}
`, map[string]any{
		"network.head_config.hidden_size": []any{64}, "mutation.probabilities.new_layer": 0.2,
		"selection_strategy.elitism": true, "mutation.rl_hp_selection.lr.min": 1e-4,
	}},
	"groups": {strings.NewReplacer("CartPole", "Spread", "PPO", "MAPPO").Replace(poles) + `
mutation: {probabilities: {arch_mut: 1},
  rl_hp_selection: {lr: {min: 1e-4, max: 1e-2}, agent_0.lr: {min: 1e-3, max: 1e-2}}}
network: {head_config: {hidden_size: [8]}}
training: {pop_size: 2, max_steps: 256, evo_steps: 128, directory: p}
`, map[string]any{"agent.class": "MAPPO", "agent.parameter_sharing": "off",
		"network.head_config.hidden_size": []any{8}}},
}

// TestCheckHoldsEveryDefault checks, for every kind of population, that the configuration in effect has the defaults
// of all sections and keyword arguments, that run.yaml is what --check prints, and that the run that it describes is
// the same.
func TestCheckHoldsEveryDefault(t *testing.T) {
	for name, x := range populations {
		t.Run(name, func(t *testing.T) {
			here(t, "given.yaml", x.text)
			printed, _ := gorl(t, 0, "train", "-c", "given.yaml", "--check")
			absent(t, "p") // checking trains nothing
			c := get(runfile.Parse([]byte(printed)))(t)
			want := map[string]any{
				"environment.max_episode_steps": 0, "agent.gae_lambda": 0.95,
				"agent.learning_rate_scheduler_kwargs.start_factor":    1.0 / 3,
				"agent.learning_rate_scheduler_kwargs.warmup_steps":    0,
				"agent.learning_rate_scheduler_kwargs.total_iters":     50,
				"agent.observation_preprocessor_kwargs.clip_threshold": 5,
				"agent.observation_preprocessor_kwargs.epsilon":        1e-8,
			}
			if name == "raytune" {
				delete(want, "agent.gae_lambda") // which is drawn
			}
			maps.Copy(want, x.has)
			for key, value := range want {
				same(t, key, value, at(c, key))
			}
			write(t, "effective.yaml", printed)
			again, _ := gorl(t, 0, "train", "-c", "effective.yaml", "--check")
			same(t, "what is printed of what was printed", printed, again)
			first, _ := gorl(t, 0, "train", "-c", "given.yaml", "-q")
			second, _ := gorl(t, 0, "train", "-c", "effective.yaml", "-q")
			first, second = strings.TrimSpace(first), strings.TrimSpace(second)
			same(t, "the run of what was printed differs", trained(t, first), trained(t, second))
		})
	}
}

// trained are the arrays of all members of a population.
func trained(t testing.TB, dir string) map[string]map[string]checkpoint.Array {
	t.Helper()
	arrays := map[string]map[string]checkpoint.Array{}
	for _, path := range globbed(t, filepath.Join(dir, "*", "state", "*.safetensors"), 0) {
		arrays[get(filepath.Rel(dir, path))(t)] = loaded(t, path)
	}
	return arrays
}
