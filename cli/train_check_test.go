package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// fileOfSkrl is a file as Isaac Lab has them.
const fileOfSkrl = `seed: 42
models:
  separate: False
  policy:
    class: GaussianMixin
    clip_actions: False
    initial_log_std: 0.0
    network:
      - name: net
        input: OBSERVATIONS
        layers: [32, 32]
        activations: elu
    output: ACTIONS
  value:
    class: DeterministicMixin
    network:
      - name: net
        input: OBSERVATIONS
        layers: [32, 32]
        activations: elu
    output: ONE
memory:
  class: RandomMemory
  memory_size: -1
agent:
  class: PPO
  rollouts: 16
  learning_epochs: 4
  mini_batches: 2
  lambda: 0.95
  learning_rate: 3.0e-04
  learning_rate_scheduler: KLAdaptiveLR
  learning_rate_scheduler_kwargs:
    kl_threshold: 0.008
  state_preprocessor: RunningStandardScaler
  experiment:
    directory: "ant_direct"
    write_interval: auto
trainer:
  class: SequentialTrainer
  timesteps: 8000
  environment_info: log
`

// TestCheckNamesLines checks wrong files without their simulator. Every error names the file, the line, and the key.
func TestCheckNamesLines(t *testing.T) {
	sized := []string{"--observation-space", "48", "--action-space", "12"}
	population, evolving := populations["isaaclab"].text, populations["evolution"].text
	for _, x := range []struct {
		text, from, to string
		want           string // after "f.yaml:"
		flags          []string
	}{
		// sections and YAML
		{fileOfSkrl, "seed: 42", "sede: 42", `1: unknown key sede`, nil},
		{fileOfSkrl, "seed: 42", "seed: -1", `1: seed is -1`, nil},
		{fileOfSkrl, "memory:", "memori:", `22: unknown key memori`, nil},
		{fileOfSkrl, "  lambda", "\tlambda", `30: tabs cannot indent YAML; use spaces`, nil},
		{fileOfSkrl, "  lambda: 0.95", "  rollouts: 8", `30: mapping key "rollouts" already defined at line 27`, nil},
		{fileOfSkrl, "trainer:\n", "trainer: 3\nmember:\n", `39: trainer is 3; want a section of keys`, nil},
		{fileOfSkrl, "layers: [32, 32]", "layers: [32, 32", `10: did not find expected`, nil},
		// models
		{fileOfSkrl, "GaussianMixin", "GausianMixin", `5: models.policy.class`, nil},
		{fileOfSkrl, "initial_log_std: 0.0", "initial_log_std: x", `7: models.policy.initial_log_std is "x"`, nil},
		{fileOfSkrl, "initial_log_std", "initial_logstd", `7: unknown key models.policy.initial_logstd`, nil},
		{fileOfSkrl, "input: OBSERVATIONS", "input: OBSERVATION", `10: models.policy.network[0].input`, nil},
		{fileOfSkrl, "layers: [32, 32]", "layers: [32, -2]", `11: models.policy.network[0].layers`, nil},
		{fileOfSkrl, "activations: elu", "activations: elo", `12: models.policy.network[0].activations`, nil},
		{fileOfSkrl, "  value:\n", "  valeu:\n", `14: models.valeu`, nil},
		{fileOfSkrl, "separate: False", "separate: 3", `3: models.separate`, nil},
		{fileOfSkrl, "output: ONE", "output: ACTIONS", `21: models.value`, sized},
		// agent
		{fileOfSkrl, "class: PPO", "class: SAC",
			`26: agent.class is "SAC"; gorl does not have this agent of skrl; want PPO, AMP, IPPO or MAPPO`, nil},
		{fileOfSkrl, "class: PPO", "class: MAPPO\n  parameter_sharing: some", `27: agent.parameter_sharing`, nil},
		{fileOfSkrl, "learning_rate: 3.0e-04", "learning_rate: -1", `31: agent.learning_rate is -1; want a number`,
			nil},
		{fileOfSkrl, "learning_epochs: 4", "learning_epoch: 4", `28: unknown key agent.learning_epoch`, nil},
		{fileOfSkrl, "rollouts: 16", "rollouts: many", `27: agent.rollouts is "many" (string); want an integer`, nil},
		{fileOfSkrl, "KLAdaptiveLR", "KLAdaptive", `32: agent.learning_rate_scheduler`, nil},
		{fileOfSkrl, "kl_threshold", "kl_treshold", `34: `, nil},
		{fileOfSkrl, "mini_batches: 2", "mini_batches: 4000", `29: agent.mini_batches is 4000`, nil},
		{fileOfSkrl, "mini_batches: 2", "sequence_length: 3", `29: agent.sequence_length is 3`, nil},
		{fileOfSkrl, "lambda: 0.95", "lambda: 2", `30: agent.lambda is 2`, nil},
		{fileOfSkrl, "write_interval: auto", "write_interval: x", `38: agent.experiment.write_interval is "x"`, nil},
		{fileOfSkrl, "memory_size: -1", "memory_size: 3", `24: memory.memory_size is 3`, nil},
		// trainer
		{fileOfSkrl, "timesteps: 8000", "timestep: 8000", `41: unknown key trainer.timestep`, nil},
		{fileOfSkrl, "timesteps: 8000", "timesteps: -1", `41: trainer.timesteps is -1`, nil},
		{fileOfSkrl, "environment_info: log", "trackers: [wandbb]", `42: trainer.trackers[0]`, nil},
		{fileOfSkrl, "environment_info: log", "best: episode.retrun", `42: trainer.best is "episode.retrun"`, nil},
		{fileOfSkrl, "environment_info: log", "stop_at_return: 3", `42: trainer.stop_at_return`, nil},
		// populations
		{population, "num_policies: 2", "num_policies: 1", `8: pbt.num_policies is 1; want at least 2`, nil},
		{population, "objective: episode.length", "objective: episode.lenght", `8: pbt.objective`, nil},
		{population, "mutate_float", "mutate_flaot", `9: pbt.mutation.learning_rate`, nil},
		{population, "interval_steps", "interval_step", `8: unknown key pbt.interval_step`, nil},
		{population, "{class: PPO", "{ratio_clip: -1, class: PPO", `4: agent.ratio_clip is -1`, nil},
		// evolutions
		{evolving, "tournament_size: 2", "tournament_size: none", `8: selection_strategy.tournament_size`, nil},
		{evolving, "pop_size: 2", "pop_sise: 2", `9: unknown key training.pop_sise`, nil},
		{evolving, "{lr:", "{lrr:", `7: `, nil},
		{evolving, "class: PPO", "class: DQN", `4: agent.class is "DQN"; gorl does not have this agent`, nil},
		// rl_games
		{games, "gamma: 0.95", "gama: 0.95", `27: unknown key params.config.gama`, nil},
		{games, "activation: elu", "activation: elo", `12: params.network.mlp.activation`, nil},
		// the command line
		{fileOfSkrl, "", "", "--set agent.learning_rate=-1: agent.learning_rate is -1; want a number > 0",
			[]string{"--set", "agent.learning_rate=-1"}},
		{fileOfSkrl, "", "", `there is no section "learning_rate"; did you mean agent.learning_rate?`,
			[]string{"--set", "learning_rate=1e-3"}},
	} {
		if !strings.Contains(x.text, x.from) {
			t.Fatalf("the file has no %q", x.from)
		}
		here(t, "f.yaml", strings.Replace(x.text, x.from, x.to, 1))
		args := append([]string{"train", "-c", "f.yaml", "--check", "--env", "isaaclab:Isaac-Ant-v0",
			"--num-envs", "8"},
			x.flags...)
		_, stderr := gorl(t, commandline.WrongUse, args...)
		want := x.want
		if want[0] >= '0' && want[0] <= '9' {
			want = "f.yaml:" + want
		}
		if !strings.Contains(stderr, want) || strings.Contains(stderr, "trainers:") {
			t.Errorf("%s → %s: want %s in\n%s", x.from, x.to, want, stderr)
		}
	}
}

// TestCheckStartsNothing checks right files of every kind for a simulator that is not installed.
func TestCheckStartsNothing(t *testing.T) {
	several := strings.Replace(fileOfSkrl, "class: PPO", "class: MAPPO\n  discount_factor: {cart: 0.9, pole: 0.99}", 1)
	for _, text := range []string{fileOfSkrl, several, populations["isaaclab"].text,
		populations["evolution"].text, games} {
		for _, flags := range [][]string{nil, {"--observation-space", "Dict(a=12, b=Box(8, 8, 3))", "--action-space",
			"Box(4)"}} {
			if strings.Contains(text, "network:") && flags != nil {
				flags[1] = "48" // perceptrons read vectors
			}
			here(t, "f.yaml", text)
			args := append([]string{"train", "-c", "f.yaml", "--check", "--env", "isaaclab:Isaac-Ant-v0", "--num-envs",
				"8", "--device", "cuda:0"}, flags...)
			printed, stderr := gorl(t, 0, args...)
			if !strings.Contains(printed, "device: cuda:0") {
				t.Errorf("the configuration in effect lacks the device:\n%s", printed)
			}
			if said := strings.Contains(stderr, "whether networks fit them was not checked"); said != (flags == nil) {
				t.Errorf("with %v it said: %s", flags, stderr)
			}
		}
	}
}

// TestCheckTellsAll checks that one call reports all errors, in a file and on the command line.
func TestCheckTellsAll(t *testing.T) {
	here(t, "f.yaml", fileOfSkrl)
	_, stderr := gorl(t, commandline.WrongUse, "train", "-c", "f.yaml", "--env", "CartPole", "-s", "agent.rollouts=0",
		"-s", "trainer.timesteps=x", "-s", "models.policy.output=3", "-s", "environment.num_env=3")
	has(t, stderr, "agent.rollouts is 0", "trainer.timesteps is", "models.policy.output",
		"unknown key environment.num_env")

	// each once
	here(t, "f.yaml", "gamma: 0.99\n"+fileOfSkrl)
	_, stderr = gorl(t, commandline.WrongUse, "train", "-c", "f.yaml", "--check", "--env", "CartPole")
	if strings.Count(stderr, "gamma") != 1 || !strings.Contains(stderr, "f.yaml:1: unknown key gamma (given 0.99)") {
		t.Errorf("a number that is no section: %s", stderr)
	}
}

// TestCheckFigures checks names of figures against those that an environment of this process reports.
func TestCheckFigures(t *testing.T) {
	for best, status := range map[string]int{"episode.return": 0, "episode.success": commandline.WrongUse,
		"style_reward": commandline.WrongUse, "Loss / Policy loss": 0} {
		here(t, "f.yaml", fmt.Sprintf("environment: {id: CartPole}\nmodels: {mlp: [8]}\nagent: {class: PPO}\n"+
			"trainer: {best: %s}\n", best))
		_, stderr := gorl(t, status, "train", "-c", "f.yaml", "--check")
		if status != 0 && !strings.Contains(stderr, "f.yaml:4: trainer.best is") {
			t.Errorf("%s: %s", best, stderr)
		}
		if status == 0 && !strings.Contains(stderr, "the run has the default of 100000 timesteps") {
			t.Errorf("the default length is not told: %s", stderr)
		}
	}
}
