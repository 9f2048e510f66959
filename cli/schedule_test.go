package cli

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// TestSchedule trains by a schedule: the agent has the values of each phase, also after it was resumed in between, and
// the run is as long as the schedule.
func TestSchedule(t *testing.T) {
	here(t, "short.yaml", short)
	schedule := func(phases string) {
		write(t, "s.json", `{"schema": 1, "objective": "o", "member": 0, "seed": 1, "steps": 512, "phases": [`+
			phases+`]}`)
	}
	schedule(`{"from": 0, "member": 0, "hyperparameters": {"learning_rate": 0.01}},
		{"from": 256, "member": 1, "hyperparameters": {"learning_rate": 0.002, "entropy_loss_scale": 0.5}}`)
	gorl(t, 0, "train", "-c", "short.yaml", "--schedule", "s.json", "-q", "--timesteps", "64")
	gorl(t, 0, "train", "--resume", "runs/pole", "--schedule", "s.json", "-q")
	for step, want := range map[string]float64{"32": 0.01, "96": 0.002, "128": 0.002} {
		saved := load(t, "runs/pole/checkpoints/agent_"+step+".safetensors")
		same(t, "the learning rate at "+step, want, get(saved.Snapshot.Float("hyperparameters", "learning_rate"))(t))
	}
	schedule(`{"from": 0, "member": 0, "hyperparameters": {"style_reward_scale": 1}}`)
	_, stderr := gorl(t, commandline.WrongUse, "train", "-c", "short.yaml", "--schedule", "s.json", "--check")
	matches(t, stderr, `--schedule: .* sets "style_reward_scale", which the agent does not have; .*learning_rate`)
}
