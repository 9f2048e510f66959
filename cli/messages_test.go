package cli

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// TestMessages checks that mistakes that users often make are answered with what to write instead.
func TestMessages(t *testing.T) {
	here(t, "short.yaml", short)
	population, _ := gorl(t, 0, "train", "--example", "population")
	write(t, "population.yaml", population)
	for call, want := range map[string]string{
		"train -c short.yaml -c other.yaml": `it is given twice, first as "short.yaml"`,
		"train -c short.yaml -s agent.learning_rate_scheduler=Cosine --check": `"T_max" is 0: .* ` +
			`learning_rate_scheduler_kwargs gives it: {T_max: auto}`,
		"train -c short.yaml -s environment.id=Pendulum -s models={policy:{class:CategoricalMixin}} --check": `class ` +
			`is CategoricalMixin, but the environment's actions are Box\(1\): use GaussianMixin`,
		"train -c population.yaml -s pbt.mutation={learning_rat:mutate_float} --check": `want one of ` +
			`bounds_loss_scale, .*, learning_rate, .* did you mean "learning_rate"`,
		"train -c population.yaml --schedule s.json":  `--schedule is for a run of one agent`,
		"train -c short.yaml --schedule nowhere.json": `--schedule: .* nowhere.json`,
		"eval -e 3 runs/pole":                         `unknown shorthand flag: 'e'`,
		"plot nowhere":                                `nowhere`,
		"inspect nowhere":                             `nowhere`, "convert nowhere a.npz": `nowhere`,
	} {
		args := strings.Fields(call)
		for i := range args { // YAML wants a space behind a colon
			args[i] = strings.ReplaceAll(args[i], ":", ": ")
		}
		_, stderr := gorl(t, commandline.WrongUse, args...)
		matches(t, stderr, `(?s)`+want)
		if strings.Contains(stderr, "*wrappers.") {
			t.Error(stderr)
		}
	}
	_, stderr := gorl(t, 0, "train", "-c", "short.yaml", "--check", "-s",
		"environment={id: CartPolePixels, num_envs: 4}")
	matches(t, stderr, `note: models.mlp reads pictures as numbers from 0 to 255`)
	help, _ := gorl(t, 0, "train", "--help")
	matches(t, help, `--task TASK`, `--headless`, `--track`, `--max-iterations number`)
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

// TestSchedule trains by a schedule: the agent has the values of each phase, also after it was resumed in between, and
// the run is as long as the schedule.
func TestSchedule(t *testing.T) {
	here(t, "short.yaml", short)
	write(t, "s.json", `{"schema": 1, "objective": "o", "member": 0, "seed": 1, "steps": 512, "phases": [
		{"from": 0, "member": 0, "hyperparameters": {"learning_rate": 0.01}},
		{"from": 256, "member": 1, "hyperparameters": {"learning_rate": 0.002, "entropy_loss_scale": 0.5}}]}`)
	rates := func(run string) (list []float64) {
		for _, name := range []string{"32", "64", "96", "128"} {
			saved := load(t, "runs/"+run+"/checkpoints/agent_"+name+".safetensors")
			list = append(list, get(saved.Snapshot.Float("hyperparameters", "learning_rate"))(t))
		}
		return list
	}
	gorl(t, 0, "train", "-c", "short.yaml", "--schedule", "s.json", "-q")
	gorl(t, 0, "train", "-c", "short.yaml", "--schedule", "s.json", "-q", "-n", "two", "--timesteps", "64")
	gorl(t, 0, "train", "--resume", "runs/two", "--schedule", "s.json", "-q", "--timesteps", "128")
	for _, run := range []string{"pole", "two"} {
		if got := rates(run); got[0] != 0.01 || got[2] != 0.002 || got[3] != 0.002 {
			t.Errorf("%s has the learning rates %v", run, got)
		}
	}
	write(t, "s.json", `{"schema": 1, "objective": "o", "member": 0, "seed": 1, "steps": 512, "phases": [
		{"from": 0, "member": 0, "hyperparameters": {"style_reward_scale": 1}}]}`)
	_, stderr := gorl(t, commandline.WrongUse, "train", "-c", "short.yaml", "--schedule", "s.json", "--check")
	matches(t, stderr, `--schedule: .* sets "style_reward_scale", which the agent does not have; .*learning_rate`)
}
