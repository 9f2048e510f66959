package trainers_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/trainers"
)

const planRollouts, planRate = 8, 1e-3

// annealed is an agent whose learning rate falls to 0 in a straight line, and an environment for it.
func annealed(t *testing.T, totalIters any, settings map[string]any) (envs.Env, agenttest.Agent) {
	t.Helper()
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 2})
	if err != nil {
		t.Fatal(err)
	}
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
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	return of
}

// With total_iters: auto update k of K has the rate lr·(1 − (k−1)/K), K from the run's timesteps, and after a resume with
// more timesteps from the new ones.
func TestPlan(t *testing.T) {
	checkLiveTensors(t)
	check := func(what string, of map[int]float64, first, last, total int) {
		t.Helper()
		if len(of) != last-first+1 {
			t.Errorf("%s: %d updates, want %d", what, len(of), last-first+1)
		}
		for k := first; k <= last; k++ {
			if want := planRate * (1 - float64(k-1)/float64(total)); math.Abs(of[k]-want) > 1e-15 {
				t.Errorf("%s: update %d has the rate %g, want %g", what, k, of[k], want)
			}
		}
	}
	cfg := trainers.Config{Timesteps: 5*planRollouts + 3, Directory: t.TempDir(), Name: "run", Resume: true, SaveBuffers: true}
	check("first run", rates(t, "auto", cfg, nil), 1, 5, 5)
	cfg.Timesteps = 8 * planRollouts
	check("resumed", rates(t, "auto", cfg, nil), 6, 8, 8)
	cfg = trainers.Config{Timesteps: 7 * planRollouts}
	of := rates(t, "auto", cfg, map[string]any{"learning_starts": 2*planRollouts + 1})
	for k := range 2 { // rollouts that are thrown away
		if of[k+1] != planRate {
			t.Errorf("before learning starts the rate is %g", of[k+1])
		}
		delete(of, k+1)
	}
	for k := range 5 {
		of[k+1] = of[k+3]
	}
	delete(of, 6)
	delete(of, 7)
	check("learning starts late", of, 1, 5, 5)
	// skrl 2.0 steps the schedule once an epoch.
	of = rates(t, "auto", trainers.Config{Timesteps: 4 * planRollouts}, map[string]any{"compatibility": agents.SKRL2})
	check("skrl", of, 1, 4, 4)
}

// The trainer notes where the rate is 0 before the run ends, that there is no update, and nothing otherwise.
func TestPlanNotes(t *testing.T) {
	checkLiveTensors(t)
	for _, test := range []struct {
		totalIters any
		timesteps  int
		want       string
	}{
		{3, 10 * planRollouts, "the learning rate is 0 from update 4 of 10 on"},
		{3, 3 * planRollouts, ""},
		{3, 0, ""},
		{"auto", 10 * planRollouts, ""},
		{"auto", planRollouts, ""},
		{"auto", planRollouts - 1, "nothing is learned: the run has"},
		{"late", 2*planRollouts - 1, "nothing is learned: the run has"},
		{"late", 2 * planRollouts, ""},
	} {
		var settings map[string]any
		if test.totalIters == "late" {
			test.totalIters, settings = "auto", map[string]any{"learning_starts": planRollouts}
		}
		env, agent := annealed(t, test.totalIters, settings)
		notes := strings.Join(sequential(t, env, agent, trainers.Config{Timesteps: test.timesteps}).Notes(), "; ")
		if !strings.Contains(notes, test.want) || test.want == "" && notes != "" {
			t.Errorf("total_iters %v of %d timesteps: %q, want %q", test.totalIters, test.timesteps, notes, test.want)
		}
		agent.Close()
		env.Close()
	}
}

// A group tells its agents, and names them in notes.
func TestPlanGroup(t *testing.T) {
	checkLiveTensors(t)
	env, one := annealed(t, "auto", nil)
	other, two := annealed(t, 2, nil)
	defer env.Close()
	defer other.Close()
	group, err := trainers.NewGroup([]agents.Agent{one, two}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	tr := sequential(t, env, group, trainers.Config{Timesteps: 4 * planRollouts})
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	if notes := tr.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "agent 1: ppo: the learning rate is 0 from update 3 of 4 on") {
		t.Errorf("%q", notes)
	}
}

// A trainer without a length does not guess one.
func TestPlanMissing(t *testing.T) {
	checkLiveTensors(t)
	env, agent := annealed(t, "auto", nil)
	defer env.Close()
	defer agent.Close()
	tr := sequential(t, env, agent, trainers.Config{})
	if err := tr.Trainee().Train(context.Background(), 2*planRollouts); err == nil || !strings.Contains(err.Error(), "TotalSteps") {
		t.Error(err)
	}
}

// Members of a population spread their schedule over the population's steps, also where it goes on for longer.
func TestPlanPopulation(t *testing.T) {
	checkLiveTensors(t)
	of := map[int64]float64{}
	o := pbt.Options{Members: 2, IntervalSteps: 4 * planRollouts, TotalSteps: 8 * planRollouts, Objective: "Policy / Entropy", Directory: t.TempDir(), Seed: 1}
	o.New = func(m pbt.Member) (pbt.Trainee, error) {
		env, agent := annealed(t, "auto", nil)
		return trainers.NewTrainee(env, func() (agents.Agent, error) { return agent, nil }, trainers.Config{
			SaveBuffers: true,
			Callbacks: []trainers.Callback{trainers.StepFunc(func(tr *trainers.Trainer, _ *envs.Step) error {
				if m.ID == 0 {
					of[tr.Timestep()] = agent.(interface{ LearningRate() float64 }).LearningRate()
				}
				return nil
			})}})
	}
	train := func() {
		t.Helper()
		p, err := pbt.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	train() // 8 rollouts' worth of environment steps in 2 environments: 4 updates
	if got, want := of[3*planRollouts], planRate*(1-3.0/4); math.Abs(got-want) > 1e-15 {
		t.Errorf("the fourth update's rate is %g, want %g", got, want)
	}
	o.TotalSteps = 16 * planRollouts // 8 updates
	train()
	if got, want := of[7*planRollouts], planRate*(1-7.0/8); math.Abs(got-want) > 1e-15 {
		t.Errorf("the eighth update's rate is %g, want %g", got, want)
	}
}

// spike is an environment whose first environment shows one enormous observation.
type spike struct {
	envs.Env
	at int
}

func (s *spike) Step(actions []float32) (*envs.Step, error) {
	step, err := s.Env.Step(actions)
	if s.at--; s.at == 0 && err == nil {
		step.Observations[2] = 1e8
	}
	return step, err
}

// What an agent notices in its data while it trains is passed to OnWarning and listed in Notes.
func TestAgentsNotes(t *testing.T) {
	checkLiveTensors(t)
	inside, err := classic.NewCartPole(classic.Config{NumEnvs: 2})
	if err != nil {
		t.Fatal(err)
	}
	env := &spike{inside, 37}
	agent := smallPPO(t, env.Spaces(), 5, map[string]any{"rollouts": 20, "observation_preprocessor": "RunningStandardScaler"})
	defer agent.Close()
	var warnings []string
	tr := sequential(t, env, agent, trainers.Config{Timesteps: 60, CloseEnvironmentAtExit: true,
		OnWarning: func(err error) { warnings = append(warnings, err.Error()) }})
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	const want = "ppo: observations: environment 0, dimension 2 is 1e+08 at timestep 37, "
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], want) || !slices.Equal(tr.Notes(), warnings) {
		t.Errorf("warnings %q and notes %q, want one that begins with %q", warnings, tr.Notes(), want)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
}

// A run without a length is an error of Train, before anything is made.
func TestTrainWithoutTimesteps(t *testing.T) {
	checkLiveTensors(t)
	cfg := run(t, 0)
	tr, done := scenes[0].start(t, cfg)
	defer done()
	if err := tr.Train(t.Context()); err == nil || !strings.Contains(err.Error(), `"timesteps"`) || tr.Dir() != "" {
		t.Errorf("%v with the folder %q, want an error that names timesteps and no folder", err, tr.Dir())
	}
	if _, err := tr.Step(t.Context()); err != nil {
		t.Error(err)
	}
}
