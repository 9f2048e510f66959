package trainers_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

const planRollouts, planRate = 8, 1e-3

// annealed is an agent whose learning rate falls to 0 in a straight line, and an environment for it.
func annealed(t *testing.T, totalIters any, settings map[string]any) (envs.Env, agenttest.Agent) {
	t.Helper()
	env := value(classic.NewCartPole(classic.Config{NumEnvs: 2}))(t)
	dict := map[string]any{"rollouts": planRollouts, "learning_rate": planRate, "learning_rate_scheduler": "LinearLR",
		"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": totalIters}}
	for k, v := range settings {
		dict[k] = v
	}
	return env, smallPPO(t, env.Spaces(), 5, dict)
}

// rates trains and returns the learning rate of each update, by the number of the update from 1.
func rates(t *testing.T, totalIters any, cfg trainers.Config, settings map[string]any) map[int]float64 {
	t.Helper()
	env, agent := annealed(t, totalIters, settings)
	defer agent.Close()
	of := map[int]float64{}
	cfg.CloseEnvironmentAtExit = true
	cfg.Callbacks = append(cfg.Callbacks, trainers.StepFunc(func(tr *trainers.Trainer, _ *envs.Step) error {
		if n := int(tr.Timestep()); n%planRollouts == planRollouts-1 { // the next step ends a rollout
			of[n/planRollouts+1] = agent.(interface{ LearningRate() float64 }).LearningRate()
		}
		return nil
	}))
	tr := sequential(t, env, agent, cfg)
	must(t, tr.Train(context.Background()))
	must(t, tr.Close())
	return of
}

// With total_iters: auto update k of K has the rate lr·(1 − (k−1)/K). K comes from the run's timesteps, and after a
// resume with more timesteps from the new ones.
func TestPlan(t *testing.T) {
	check := func(what string, of map[int]float64, first, last int) {
		t.Helper()
		if len(of) != last-first+1 {
			t.Errorf("%s: %d updates, want %d", what, len(of), last-first+1)
		}
		for k := first; k <= last; k++ {
			if want := planRate * (1 - float64(k-1)/float64(last)); math.Abs(of[k]-want) > 1e-15 {
				t.Errorf("%s: update %d has the rate %g, want %g", what, k, of[k], want)
			}
		}
	}
	cfg := trainers.Config{Timesteps: 5*planRollouts + 3, Directory: t.TempDir(), Name: "run", Resume: true,
		SaveBuffers: true}
	check("first run", rates(t, "auto", cfg, nil), 1, 5)
	cfg.Timesteps = 8 * planRollouts
	check("resumed", rates(t, "auto", cfg, nil), 6, 8)
	// skrl 2.0 steps the schedule once an epoch.
	check("skrl", rates(t, "auto", trainers.Config{Timesteps: 4 * planRollouts},
		map[string]any{"compatibility": agents.SKRL2}), 1, 4)
}

// The trainer's notes say if the rate is 0 before the run ends, and if there is no update. Otherwise there are none.
func TestPlanNotes(t *testing.T) {
	for _, test := range []struct {
		totalIters any
		timesteps  int
		want       string
	}{
		{3, 10 * planRollouts, "the learning rate is 0 from update 4 of 10 on"},
		{3, 0, ""},
		{"auto", planRollouts, ""},
		{"auto", planRollouts - 1, "nothing is learned: the run has"},
	} {
		env, agent := annealed(t, test.totalIters, nil)
		notes := strings.Join(sequential(t, env, agent, trainers.Config{Timesteps: test.timesteps}).Notes(), "; ")
		if !strings.Contains(notes, test.want) || test.want == "" && notes != "" {
			t.Errorf("total_iters %v of %d timesteps: %q, want %q", test.totalIters, test.timesteps, notes, test.want)
		}
		must(t, errors.Join(agent.Close(), env.Close()))
	}
}

// A member of a population spreads its schedule over the population's environment steps, also when the population goes
// on for longer.
func TestPlanPopulation(t *testing.T) {
	env, agent := annealed(t, "auto", nil) // 2 environments
	m := sequential(t, env, agent, trainers.Config{}).Trainee()
	rate := agent.(interface{ LearningRate() float64 }).LearningRate
	for _, updates := range []int64{4, 8} {
		m.Plan(updates * 2 * planRollouts)
		must(t, m.Train(t.Context(), (updates-1)*2*planRollouts+2-m.Steps())) // one timestep into the last rollout
		if want := planRate * (1 - float64(updates-1)/float64(updates)); math.Abs(rate()-want) > 1e-15 {
			t.Errorf("update %d has the rate %g, want %g", updates, rate(), want)
		}
	}
	must(t, m.Close())
}

// What an agent notices in its data while it trains is passed to OnWarning and listed in Notes.
func TestAgentsNotes(t *testing.T) {
	env := &faulty{Env: newCartPolesOf(t, 2), at: 38, fault: func(s *envs.Step) (*envs.Step, error) {
		s.Observations = slices.Clone(s.Observations)
		s.Observations[2] = 1e8
		return s, nil
	}}
	agent := smallPPO(t, env.Spaces(), 5, map[string]any{"rollouts": 20,
		"observation_preprocessor": "RunningStandardScaler"})
	defer agent.Close()
	var warnings []string
	tr := sequential(t, env, agent, trainers.Config{Timesteps: 60, CloseEnvironmentAtExit: true,
		OnWarning: func(err error) { warnings = append(warnings, err.Error()) }})
	must(t, tr.Train(context.Background()))
	const want = "ppo: observations: environment 0, dimension 2 is 1e+08 at timestep 37, "
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], want) || !slices.Equal(tr.Notes(), warnings) {
		t.Errorf("warnings %q and notes %q, want one that begins with %q", warnings, tr.Notes(), want)
	}
	must(t, tr.Close())
}
