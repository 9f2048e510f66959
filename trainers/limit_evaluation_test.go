package trainers_test

import (
	"testing"

	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

// An evaluation with limits plays whole loops of the batch, each of at most so many steps.
func TestLimitEvaluation(t *testing.T) {
	checkLiveTensors(t)
	env := value(classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 200}))(t)
	trainee := sequential(t, env, smallPPO(t, env.Spaces(), 1, nil), trainers.Config{Seed: 1, SaveBuffers: true}).Trainee()
	defer trainee.Close()
	figures := func(steps, loops int) map[string]float64 {
		t.Helper()
		must(t, trainee.LimitEvaluation(steps, loops))
		return value(trainee.EvaluateMetrics(t.Context(), 1, 7))(t)
	}
	if f := figures(5, 3); f["episode.length"] != 5 || f["episode.return"] != 5 { // nobody falls within 5 steps
		t.Errorf("cut after 5 steps: %v", f)
	}
	whole, cut := figures(0, 1)["episode.return"], figures(200, 1)["episode.return"]
	if more := figures(0, 5)["episode.return"]; whole != cut || whole == more {
		t.Errorf("the return is %g, with a limit beyond all episodes %g, of five loops %g", whole, cut, more)
	}
	wantError(t, "a negative limit", trainee.LimitEvaluation(-1, 0), "give 0 or more")
}

// MaxSteps cuts episodes with their return so far, in as many rounds as the episodes need.
func TestEvaluateMaxSteps(t *testing.T) {
	checkLiveTensors(t)
	env, agent := scenes[0].make(t)
	defer env.Close()
	defer agent.Close()
	e := value(trainers.Evaluate(t.Context(), env, agent, trainers.EvaluateOptions{Episodes: 7, MaxSteps: 5, Seed: 3}))(t)
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
	_, err := trainers.Evaluate(t.Context(), env, agent, trainers.EvaluateOptions{Episodes: 1, MaxSteps: -1})
	wantError(t, "negative", err, "MaxSteps")
}
