package trainers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/trainers"
)

// halving is a registered schedule: the rate halves every Every of the run's epochs, which Plan tells.
type halving struct {
	*schedulers.Curve
	every  int
	epochs int64
}

func (h *halving) Name() string      { return "Halving" }
func (h *halving) Plan(epochs int64) { h.epochs = epochs }
func (h *halving) LearningRate() float64 {
	return h.Base() / float64(int(1)<<(int(h.State()["step"])/h.every))
}

type halvingSettings struct {
	Every int `yaml:"every" config:"min=1"`
}

var lastHalving *halving

func init() {
	schedulers.Register("Halving", halvingSettings{Every: 1}, func(base float64,
		s halvingSettings) (schedulers.Scheduler, error) {
		curve, err := schedulers.NewConstant(base, schedulers.ConstantConfig{})
		lastHalving = &halving{Curve: curve, every: s.Every}
		return lastHalving, err
	})
}

// A registered schedule is named by YAML, with settings that are checked, knows the length of the run, and goes on in
// a resumed run.
func TestRegisteredSchedule(t *testing.T) {
	dir := t.TempDir()
	var rates []string
	train := func(timesteps int, kwargs string) error {
		env := value(classic.NewCartPole(classic.Config{NumEnvs: 2}))(t)
		defer env.Close()
		tr, err := trainers.FromYAML([]byte(fmt.Sprintf(`
models: {mlp: [8]}
agent: {class: PPO, rollouts: 8, learning_epochs: 1, learning_rate: 8.0e-4, learning_rate_scheduler: Halving,
        learning_rate_scheduler_kwargs: %s}
trainer: {timesteps: %d, directory: %s, name: run, resume: true}
`, kwargs, timesteps, dir)), env)
		if err != nil {
			return err
		}
		defer tr.Agent().Close()
		defer tr.Close()
		if err := tr.Train(t.Context()); err != nil {
			return err
		}
		rates = append(rates, fmt.Sprintf("%.0e of %d", tr.Metrics()["Learning / Learning rate"], lastHalving.epochs))
		return nil
	}
	for _, timesteps := range []int{16, 32} {
		must(t, train(timesteps, "{every: 2}"))
	}
	if got := strings.Join(rates, ", "); got != "4e-04 of 2, 2e-04 of 4" {
		t.Errorf("the rates after the last update are %s", got)
	}
	if err := train(32, "{evry: 2}"); err == nil || !strings.Contains(err.Error(),
		`schedulers: Halving: unknown key "evry" (given 2): did you mean "every"?`) {
		t.Errorf("error %v", err)
	}
}
