package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// A wrong configuration or flag is refused before anything is written, in words that name it and say what to write
// instead. What no machine could hold, or no float32 or file system, is refused before anything is allocated.
func TestTrainWrongUse(t *testing.T) {
	here(t, "short.yaml", short)
	write(t, "broken.yaml", "environment: [")
	write(t, "walker.yaml", strings.NewReplacer("CartPole", "Walker", "PPO", "AMP").Replace(short))
	population, _ := gorl(t, 0, "train", "--example", "population")
	write(t, "population.yaml", population)
	long := strings.Repeat("n", 300)
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--timesteps", "1")
	must(t, os.MkdirAll("converted/checkpoints", 0o755))
	write(t, "converted/checkpoints/agent_1.safetensors", "x")
	const whole = "{total_steps: 100, interval_steps: 10, num_policies: 2, workspace: p}"
	var calls [][2]string
	for _, x := range [][2]string{
		{"", "--example cartpole"},
		{"-c broken.yaml", "broken.yaml:1: did not find"},
		{"short.yaml", `what is "short.yaml" for? Give a configuration with --config`},
		{"-c short.yaml --set environment=null", "environment: {id: CartPole, num_envs: 16}"},
		{"-c short.yaml --set agent.class=AMP", "no reference motion"},
		{"-c short.yaml --set environment.id=Cartpole", `did you mean "CartPole"`},
		{"-c short.yaml --name a/b", "one folder's name"},
		{"-c short.yaml --name 'a\nb: c'", `a\nb`},
		{"-c short.yaml --name pole", "gorl train --resume runs/pole"},
		{"--resume converted", "there is a run in converted, but no run.yaml"},
		{"--resume nowhere -c short.yaml", "no run to go on with in nowhere"},
		{"--resume runs/pole --name x", "leave out --out and --name"},
		{"-c short.yaml --set pbt.num_policies=2 --timesteps 3", "--set pbt.total_steps=N"},
		{"-c short.yaml --set 'pbt=" + whole + "' --set agent.rolouts=2", `agent.rolouts`},
		{"-c short.yaml --set 'pbt=" + whole + "' --set trainer.video_interval=16", "is for a single agent"},
		{"-c short.yaml --set 'environment={id: Blind}' --set trainer.video_interval=16 --check",
			"trainer.video_interval makes films, and the environment Blind cannot draw itself"},
		{"-c short.yaml -c other.yaml", `it is given twice, first as "short.yaml"`},
		{"-c population.yaml --schedule s.json", "--schedule is for a run of one agent"},
		{"--check -c short.yaml -s agent.learning_rate_scheduler=Cosine", "gives it: {T_max: auto}"},
		{"--check -c short.yaml -s environment.id=Pendulum -s 'models={policy: {class: CategoricalMixin}}'",
			"class is CategoricalMixin, but the environment's actions are Box(1): use GaussianMixin"},
		{"--check -c population.yaml -s 'pbt.mutation={learning_rat: mutate_float}'", `did you mean "learning_rate"`},
		{"--check -c short.yaml -s agent.rollouts=1000000000000",
			"a rollout of 1000000000000 timesteps × 4 environments would need"},
		{"--check -c short.yaml -s agent.rollouts=576460752303423488", "a rollout of 576460752303423488 timesteps"},
		{"--check -c short.yaml -s 'models.mlp=[1048576, 1048576]'",
			"1048576 inputs and 1048576 outputs, which is more than 2³¹ weights"},
		{"--check -c walker.yaml -s environment.num_envs=1048576", "a batch of 1048576 simulations would need"},
		{"--check -c short.yaml -s agent.mini_batches=65",
			`agent.mini_batches is 65, but a rollout has only 64 rows ("rollouts" 16 × 4 environments)`},
		{"--check -c short.yaml -s agent.entropy_loss_scale=1e39", "gorl computes in float32, whose greatest number"},
		{"--check -c short.yaml -s trainer.name=" + long, "has 300 bytes; a file or folder may have 255"},
	} {
		calls = append(calls, [2]string{"train " + x[0], x[1]})
	}
	refuses(t, commandline.WrongUse, calls)
	_, stderr := gorl(t, 0, "train", "-c", "short.yaml", "--check",
		"-s", "environment={id: CartPolePixels, num_envs: 4}")
	matches(t, stderr, `note: models.mlp reads pictures as numbers from 0 to 255`)
}

// TestPeersWrongGymnasium checks that an unknown id is answered in one line.
func TestPeersWrongGymnasium(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	here(t, "short.yaml", short)
	_, stderr := gorl(t, commandline.Failed, "train", "-c", "short.yaml", "--check=env", "-s",
		"environment={id: 'gymnasium:CartPol-v1', python: "+python+"}")
	matches(t, stderr, `has no environment 'CartPol-v1': .* Did you mean: .CartPole.`)
	if strings.Count(stderr, "\n") != 1 {
		t.Errorf("the message is\n%s", stderr)
	}
}
