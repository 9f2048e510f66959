package trainers_test

import (
	"errors"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// terminating is a scene whose agent ends episodes for their style.
var terminating = scene{"walker that ends", func(t testing.TB) (envs.Env, agenttest.Agent) {
	return endingWalker(t, map[string]any{"termination_style_reward": 0.72, "termination_steps": 3})
}}

func endingWalker(t testing.TB, settings map[string]any) (envs.Env, agenttest.Agent) {
	t.Helper()
	env := value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, EpisodeLength: 20, Workers: 1}))(t)
	return env, smallAMP(t, env.Spaces(), env, 5, settings)
}

// In training every episode whose style is poor from its beginning ends with the step behind the given number, through
// wrappers; for a group so are those of the agent that ends them. Evaluations play their episodes to the end.
func TestTerminate(t *testing.T) {
	const hopeless = 100 // no style reward of bce is so large
	for _, grouped := range []bool{false, true} {
		env, agent := endingWalker(t, map[string]any{"termination_steps": 4, "rollouts": 16,
			"discriminator_masked_features": "0", "termination_style_reward": hopeless})
		var trained agents.Agent = agent
		if grouped {
			second := smallAMP(t, env.Spaces(), env.(amp.MotionSource), 6, nil) // which ends no episodes
			trained = group(t, []agents.Agent{agent, second}, []int{1, 2})
		}
		tr := sequential(t, value(wrappers.NewRewardScale(env, 2))(t), trained, trainers.Config{Timesteps: 40, Seed: 3})
		longest := [3]int{}
		for range 40 {
			s := value(tr.Step(t.Context()))(t)
			for _, e := range s.Episodes {
				longest[e.Env] = max(longest[e.Env], e.Length)
				if e.Length == 5 && (!s.Terminated[e.Env] || s.Truncated[e.Env] || s.FinalObservations == nil) {
					t.Errorf("environment %d: %+v", e.Env, s)
				}
			}
		}
		for i, n := range longest {
			if ends := !grouped || i == 0; ends != (n <= 5) {
				t.Errorf("grouped %v: the longest episode of environment %d has %d steps", grouped, i, n)
			}
		}
		if e, err := tr.EvaluateMetrics(t.Context(), 6, 2); err != nil || e["episode.length"] <= 5 {
			t.Errorf("evaluation: %v, %v", e, err)
		}
		must(t, errors.Join(trained.Close(), env.Close()))
	}
}

// An environment that cannot end episodes is refused, and the error names some that can.
func TestTerminateRefused(t *testing.T) {
	env, agent := endingWalker(t, map[string]any{"termination_style_reward": 0.1})
	defer env.Close()
	defer agent.Close()
	refused(trainers.New(opaque{env}, agent, trainers.Config{Timesteps: 10}))(t, "an opaque environment",
		"termination_style_reward", "walker")
}
