package cli

import (
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
		{fileOfSkrl, "  lambda", "\tlambda", `30: tabs cannot indent YAML; use spaces`, nil},
		{fileOfSkrl, "  lambda: 0.95", "  rollouts: 8", `30: mapping key "rollouts" already defined at line 27`, nil},
		{fileOfSkrl, "trainer:\n", "trainer: 3\nmember:\n", `39: trainer is 3; want a section of keys`, nil},
		{fileOfSkrl, "layers: [32, 32]", "layers: [32, 32", `10: did not find expected`, nil},
		// models
		{fileOfSkrl, "GaussianMixin", "GausianMixin", `5: models.policy.class`, nil},
		{fileOfSkrl, "input: OBSERVATIONS", "input: OBSERVATION", `10: models.policy.network[0].input`, nil},
		{fileOfSkrl, "activations: elu", "activations: elo", `12: models.policy.network[0].activations`, nil},
		{fileOfSkrl, "output: ONE", "output: ACTIONS", `21: models.value`, sized},
		// agent
		{fileOfSkrl, "class: PPO", "class: SAC",
			`26: agent.class is "SAC"; gorl does not have this agent of skrl; want PPO, AMP, IPPO or MAPPO`, nil},
		{fileOfSkrl, "learning_rate: 3.0e-04", "learning_rate: -1", `31: agent.learning_rate is -1; want a number`,
			nil},
		{fileOfSkrl, "rollouts: 16", "rollouts: many", `27: agent.rollouts is "many" (string); want an integer`, nil},
		{fileOfSkrl, "kl_threshold", "kl_treshold", `34: `, nil},
		{fileOfSkrl, "mini_batches: 2", "sequence_length: 3", `29: agent.sequence_length is 3`, nil},
		{fileOfSkrl, "write_interval: auto", "write_interval: x", `38: agent.experiment.write_interval is "x"`, nil},
		// trainer
		{fileOfSkrl, "environment_info: log", "trackers: [wandbb]", `42: trainer.trackers[0]`, nil},
		{fileOfSkrl, "environment_info: log", "best: episode.retrun", `42: trainer.best is "episode.retrun"`, nil},
		// populations
		{population, "num_policies: 2", "num_policies: 1", `8: pbt.num_policies is 1; want at least 2`, nil},
		{population, "objective: episode.length", "objective: episode.lenght", `8: pbt.objective`, nil},
		// evolutions
		{evolving, "tournament_size: 2", "tournament_size: none", `8: selection_strategy.tournament_size`, nil},
		{evolving, "{lr:", "{lrr:", `7: `, nil},
		{evolving, "class: PPO", "class: DQN", `4: agent.class is "DQN"; gorl does not have this agent`, nil},
		// rl_games
		{games, "gamma: 0.95", "gama: 0.95", `27: unknown key params.config.gama`, nil},
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
		args := append([]string{"train", "-c", "f.yaml", "--check", "--env", "isaaclab:Isaac-Ant-v0", "--num-envs",
			"8"}, x.flags...)
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
}

// TestCheckFigures checks names of figures against those that an environment of this process reports.
func TestCheckFigures(t *testing.T) {
	write := func(best string) {
		here(t, "f.yaml",
			"environment: {id: CartPole}\nmodels: {mlp: [8]}\nagent: {class: PPO}\ntrainer: {best: "+best+"}")
	}
	for _, best := range []string{"episode.success", "style_reward"} {
		write(best)
		refuses(t, commandline.WrongUse, [][2]string{{"train -c f.yaml --check", "f.yaml:4: trainer.best is"}})
	}
	write("Loss / Policy loss")
	_, stderr := gorl(t, 0, "train", "-c", "f.yaml", "--check")
	has(t, stderr, "the run has the default of 100000 timesteps")
}
