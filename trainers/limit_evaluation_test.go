package trainers

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// An evaluation with limits plays whole loops of the batch, each of at most so many steps, and leaves training alone.
func TestLimitEvaluation(t *testing.T) {
	agenttest.CheckLive(t)
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 200})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"), Dict: map[string]any{"rollouts": 8, "learning_epochs": 1}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := New(env, agent, Config{Seed: 1, SaveBuffers: true})
	if err != nil {
		t.Fatal(err)
	}
	trainee := trainer.Trainee()
	defer trainee.Close()
	figures := func(steps, loops, episodes int) map[string]float64 {
		t.Helper()
		if err := trainee.LimitEvaluation(steps, loops); err != nil {
			t.Fatal(err)
		}
		f, err := trainee.EvaluateMetrics(t.Context(), episodes, 7)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := figures(5, 3, 1); f["episode.length"] != 5 || f["episode.return"] != 5 { // nobody falls within 5 steps
		t.Errorf("cut after 5 steps: %v", f)
	}
	whole, cut := figures(0, 1, 1), figures(200, 1, 1)
	if whole["episode.return"] != cut["episode.return"] || whole["episode.length"] != cut["episode.length"] {
		t.Errorf("with a limit beyond all episodes: %v, without %v", cut, whole)
	}
	if f := figures(0, 1, 1); f["episode.return"] != whole["episode.return"] {
		t.Errorf("the same evaluation gives %v, then %v", whole, f)
	}
	if f := figures(0, 5, 1); f["episode.return"] == whole["episode.return"] {
		t.Errorf("five loops give the same as one: %v", f)
	}
	if err := trainee.LimitEvaluation(-1, 0); err == nil || !strings.Contains(err.Error(), "give 0 or more") {
		t.Error(err)
	}
	if err := trainee.LimitEvaluation(5, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := trainee.EvaluateMetrics(t.Context(), 0, 1); err == nil {
		t.Error("an evaluation of no episodes")
	}
	if err := trainee.Train(t.Context(), 64); err != nil {
		t.Fatal(err)
	}
}

// MaxSteps cuts episodes with their return so far, in as many rounds as the episodes need.
func TestEvaluateMaxSteps(t *testing.T) {
	agenttest.CheckLive(t)
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	agent, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	e, err := Evaluate(t.Context(), env, agent, EvaluateOptions{Episodes: 7, MaxSteps: 5, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if e.Episodes != 8 || e.Length != 5 || e.Return != 5 || len(e.Each) != 8 || len(e.Metrics) != 0 {
		t.Errorf("two rounds of four episodes, each cut after 5 steps: %+v", e)
	}
	for i, x := range e.Each {
		if x.Env != i%4 || x.Length != 5 || x.Return != 5 {
			t.Errorf("episode %d is %+v, want that of environment %d, of 5 steps", i, x, i%4)
		}
	}
	if !agent.SetTraining(true) {
		t.Error("the agent was left in evaluation")
	}
	if _, err := Evaluate(t.Context(), env, agent, EvaluateOptions{Episodes: 1, MaxSteps: -1}); err == nil || !strings.Contains(err.Error(), "MaxSteps") {
		t.Errorf("%v, want an error that names MaxSteps", err)
	}
}
