package trainers_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/trainers"
)

// The mean of the environment's return over given episodes, by hand.
func TestEvaluateMeans(t *testing.T) {
	env, agent := scenes[0].made(t)
	got := value(trainers.Evaluate(context.Background(), env, agent, trainers.EvaluateOptions{Episodes: 8, Seed: 4}))(t)
	step := value(env.Reset(4))(t)
	agent.SetTraining(false)
	var want []envs.Episode
	done, sum, steps := make([]int, env.NumEnvs()), 0.0, 0.0
	for slices.Min(done) < 2 {
		actions := value(agent.Act(agents.Observation{Observations: step.Observations}))(t)
		step = value(env.Step(actions))(t)
		for _, e := range step.Episodes {
			if done[e.Env]++; done[e.Env] <= 2 {
				sum, steps, want = sum+e.Return, steps+float64(e.Length), append(want, e)
			}
		}
	}
	if got.Episodes != 8 || math.Abs(got.Return-sum/8) > 1e-9 || math.Abs(got.Length-steps/8) > 1e-9 ||
		fmt.Sprint(got.Each) != fmt.Sprint(want) {
		t.Errorf("%+v, want 8 episodes, return %g and length %g: %v", got, sum/8, steps/8, want)
	}
}

// An agent can be evaluated without a trainer.
func ExampleEvaluate() {
	env := exampleEnv()
	defer env.Close()
	agent := exampleAgent(env)
	defer agent.Close()
	result, err := trainers.Evaluate(context.Background(), env, agent, trainers.EvaluateOptions{Episodes: 8, Seed: 1})
	fmt.Println(result.Episodes, result.Return == result.Length, err)
	// Output: 8 true <nil>
}

// An evaluation with limits plays whole loops of the batch, each of at most so many steps.
func TestLimitEvaluation(t *testing.T) {
	env := value(classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 200}))(t)
	trainee := sequential(t, env, smallPPO(t, env.Spaces(), 1, nil), trainers.Config{Seed: 1,
		SaveBuffers: true}).Trainee()
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
}

// MaxSteps cuts episodes with their return so far, in as many rounds as the episodes need.
func TestEvaluateMaxSteps(t *testing.T) {
	env, agent := scenes[0].made(t)
	e := value(trainers.Evaluate(t.Context(), env, agent, trainers.EvaluateOptions{Episodes: 7, MaxSteps: 5,
		Seed: 3}))(t)
	if e.Episodes != 8 || e.Length != 5 || e.Return != 5 || len(e.Each) != 8 || len(e.Metrics) != 0 {
		t.Errorf("two rounds of four episodes, each cut after 5 steps: %+v", e)
	}
	if x := e.Each[6]; x.Env != 2 || x.Length != 5 || x.Return != 5 {
		t.Errorf("episode 6 is %+v, want that of environment 2, of 5 steps", x)
	}
	if !agent.SetTraining(true) {
		t.Error("the agent was left in evaluation")
	}
	refused(trainers.Evaluate(t.Context(), env, agent, trainers.EvaluateOptions{}))(t, "no episodes",
		"a positive number of episodes, not 0")
}
