package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// games is a file of rl_games for a moment's training in Pendulum.
const games = `
params:
  seed: 7
  algo: {name: a2c_continuous}
  model: {name: continuous_a2c_logstd}
  network:
    name: actor_critic
    separate: False
    space:
      continuous: {mu_activation: None, sigma_activation: None, mu_init: {name: default},
        sigma_init: {name: const_initializer, val: 0}, fixed_sigma: True}
    mlp: {units: [16, 8], activation: elu, d2rl: False, initializer: {name: default}, regularizer: {name: None}}
  load_checkpoint: False
  load_path: ''
  config:
    name: swing
    env_name: rlgpu
    device: 'cuda:0'
    ppo: True
    mixed_precision: True
    normalize_input: True
    normalize_value: True
    value_bootstrap: True
    num_actors: -1
    reward_shaper: {scale_value: 0.1}
    normalize_advantage: True
    gamma: 0.95
    tau: 0.95
    learning_rate: 1e-3
    lr_schedule: adaptive
    kl_threshold: 0.008
    score_to_win: 20000
    max_epochs: 4
    save_frequency: 2
    grad_norm: 1.0
    entropy_coef: 0.001
    truncate_grads: True
    e_clip: 0.2
    horizon_length: 16
    minibatch_size: 32
    mini_epochs: 2
    critic_coef: 2
    clip_value: True
    bounds_loss_coef: 0.001
pbt:
  {enabled: False, policy_idx: 0, num_policies: 2, directory: ., workspace: flock, objective: episode.return,
  interval_steps: 128, mutation_rate: 1.0,
  mutation: {agent.params.config.learning_rate: mutate_float, agent.params.config.gamma: mutate_discount,
    agent.params.config.bounds_loss_coef: mutate_float}}
`

// A file of rl_games trains as it is, and what gorl convert makes of it trains the same.
func TestTrainFileOfRLGames(t *testing.T) {
	here(t, "rl_games_ppo_cfg.yaml", games)
	stdout, stderr := gorl(t, 0, "train", "--config", "rl_games_ppo_cfg.yaml", "--env", "Pendulum", "--num-envs", "8")
	matches(t, stdout, `gorl eval runs/swing`)
	matches(t, stderr, `note: these keys have no meaning for gorl: config\.device, config\.env_name, `,
		`runs/swing: PPO in Pendulum, seed 7`)
	for key, want := range map[string]any{
		"environment.num_envs": 8, "trainer.timesteps": 64, "trainer.checkpoint_interval": 32,
		"agent.mini_batch_size": 32, "agent.discount_factor": 0.95,
		"trainer.stop_at_episode_return": 20000,
		"environment.wrappers":           []any{map[string]any{"rescale_action": map[string]any{}}},
	} {
		same(t, key, want, value(t, "runs/swing/run.yaml", key))
	}
	said, _ := gorl(t, 0, "convert", "rl_games_ppo_cfg.yaml", "made/gorl.yaml", "--env", "Pendulum")
	matches(t, said, `^rl_games_ppo_cfg\.yaml → made/gorl\.yaml\nnote: these keys`)
	matches(t, text("made/gorl.yaml"), `^# Made of rl_games_ppo_cfg\.yaml by gorl convert\.\n#\n# these keys have no m`)
	gorl(t, 0, "train", "-c", "made/gorl.yaml", "-q", "--num-envs", "8", "--name", "again")
	const last = "checkpoints/agent_64.safetensors"
	same(t, "the converted file trains another agent", loaded(t, "runs/swing", last), loaded(t, "runs/again", last))
	gorl(t, 0, "eval", "runs/swing", "--episodes", "8")
}

// Isaac Lab's command lines work as they are.
func TestIsaacLabCommandLines(t *testing.T) {
	here(t, "rl_games_ppo_cfg.yaml", games)
	write(t, "skrl.yaml", short)
	const call = "train --config rl_games_ppo_cfg.yaml --env Pendulum --num_envs 8 --headless -q "
	const skrl = "train -c skrl.yaml -q "
	for _, x := range []struct {
		args, key string
		want      any
	}{
		{call + "--seed 3", "seed", 3},
		{call + "agent.params.config.mini_epochs=1 +agent.params.config.weight_decay=0.5", "agent.weight_decay", 0.5},
		{call + "--max_iterations 1 --video --video_length 3", "trainer.video_interval", 2000},
		{call + "--track --wandb-name one --wandb-entity us --wandb-project-name p --set trainer.trackers=[]",
			"trainer.trackers", []any{}},
		// Files of skrl and of gorl take them, too; what Hydra calls agent is the file.
		{skrl + "agent.agent.learning_epochs=1", "agent.learning_epochs", 1},
		{skrl + "agent.learning_epochs=3", "agent.learning_epochs", 3},
		{skrl + "--max_iterations=2", "trainer.timesteps", 32},
	} {
		gorl(t, 0, strings.Fields(x.args+" --name one")...)
		same(t, x.args, x.want, value(t, "runs/one/run.yaml", x.key))
		must(t, os.RemoveAll("runs"))
	}
	// Isaac Lab's device is also the simulator's.
	f := trainFlags{device: "cuda:1", console: console{given: func(string) bool { return false }}}
	f.isaac.task, f.isaac.assignments = "Isaac-Ant-v0", []string{"env.scene.gravity=3"}
	c := get(f.readAny("rl_games_ppo_cfg.yaml"))(t)
	want := map[string]any{"device": "cuda:1", "scene": map[string]any{"gravity": 3}}
	same(t, "the settings of the simulator", want, c.Section("environment")["kwargs"])
	same(t, "the simulator", any("isaaclab:Isaac-Ant-v0"), c.Section("environment")["id"])
	refuses(t, commandline.WrongUse, [][2]string{
		{"train --task Isaac-Ant-v0",
			"finds the agent's file by --task Isaac-Ant-v0, and gorl cannot; give --config FILE"},
		{call + "--task Pendulum", "give one of them"}, {call + "--video_interval 9", "need --video"},
		{call + "--checkpoint model.pth", "does not read weights of rl_games"},
		{call + "--max-iterations 3 --timesteps 5", "give one of them"},
		{call + "agent.params.config.gamma=2", `params.config.gamma is 2; want a number from 0 to 1`},
		{call + "env.scene.gravity=3", `unknown key environment.kwargs`},
		{call + "learning_rate=3", `what is "learning_rate=3" for?`},
	})
}

// A population of Isaac Lab's file trains in one command; or each member in one of its own, which share a folder.
func TestIsaacLabPopulation(t *testing.T) {
	here(t, "rl_games_ppo_cfg.yaml", games)
	base := []string{"train", "--config", "rl_games_ppo_cfg.yaml", "--env", "Pendulum", "--num_envs", "8", "--headless",
		"-s", "environment.max_episode_steps=8", "agent.pbt.enabled=True", "agent.pbt.num_policies=2"}
	stdout, _ := gorl(t, 0, append(base[:len(base):len(base)], "agent.pbt.workspace=one", "agent.pbt.directory=all")...)
	matches(t, stdout, `Best: member [01] after 512 environment steps, episode\.return `,
		`The population is in all/one\.`)
	for key, want := range map[string]any{"pbt.num_policies": 2, "pbt.total_steps": 512, "preset": "isaaclab",
		"environment.num_envs": 8} {
		same(t, key, want, value(t, "all/one/run.yaml", key))
	}
	// One after the other: members do not wait for each other.
	for _, member := range []string{"1", "0"} {
		_, stderr := gorl(t, 0, append(base[:len(base):len(base)], "agent.pbt.workspace=two", "agent.pbt.directory=all",
			"agent.pbt.policy_idx="+member, "--seed="+member)...)
		matches(t, stderr, `note: --seed `+member+` is not used: a population has one seed`)
	}
	same(t, "members in the population's file", 2, value(t, "all/two/config.yaml", "pbt.num_policies"))
	globbed(t, "all/two/001/*", 0)
}
