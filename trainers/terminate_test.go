package trainers_test

import (
	"maps"
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
// wrappers and for a group as well; evaluations play their episodes to the end, as those of an agent that ends none.
func TestTerminate(t *testing.T) {
	const hopeless = 100 // no style reward of bce is so large
	for _, grouped := range []bool{false, true} {
		evaluated := map[bool]map[string]float64{}
		for _, on := range []bool{false, true} {
			settings := map[string]any{"termination_steps": 4, "rollouts": 16, "discriminator_masked_features": "0"}
			if on {
				settings["termination_style_reward"] = hopeless
			}
			env, agent := endingWalker(t, settings)
			var trained agents.Agent = agent
			if grouped {
				second := smallAMP(t, env.Spaces(), env.(amp.MotionSource), 6, nil) // which ends no episodes
				trained = group(t, []agents.Agent{agent, second}, []int{1, 2})
			}
			scaled := value(wrappers.NewRewardScale(env, 2))(t)
			tr := sequential(t, scaled, trained, trainers.Config{Timesteps: 40, Seed: 3})
			evaluated[on] = value(tr.EvaluateMetrics(t.Context(), 6, 2))(t)
			longest := [3]int{}
			for range 40 {
				s := value(tr.Step(t.Context()))(t)
				for _, e := range s.Episodes {
					longest[e.Env] = max(longest[e.Env], e.Length)
					if e.Length == 5 && (!s.Terminated[e.Env] || s.Truncated[e.Env] || s.FinalObservations == nil) {
						t.Errorf("environment %d: terminated %v, truncated %v", e.Env, s.Terminated[e.Env],
							s.Truncated[e.Env])
					}
				}
			}
			for i, n := range longest {
				if ends := on && (!grouped || i == 0); ends != (n <= 5) {
					t.Errorf("ending %v, grouped %v: the longest episode of environment %d has %d steps", on, grouped,
						i, n)
				}
			}
			if again, err := tr.EvaluateMetrics(t.Context(), 6, 2); err != nil || again["episode.length"] <= 5 {
				t.Errorf("evaluation: %v, %v", again, err)
			}
			must(t, trained.Close())
			env.Close()
		}
		if !maps.Equal(evaluated[false], evaluated[true]) {
			t.Errorf("an agent that ends episodes evaluates to %v, one that does not to %v", evaluated[true],
				evaluated[false])
		}
	}
}

// An environment that cannot end episodes is refused, and the error names some that can.
func TestTerminateRefused(t *testing.T) {
	room := agenttest.NewRoom(boxed, 2)
	agent := smallAMP(t, boxed, room, 1, map[string]any{"termination_style_reward": 0.1})
	defer agent.Close()
	refused(trainers.New(room, agent, trainers.Config{Timesteps: 10}))(t, "a room",
		"termination_style_reward", "walker")
}
