package ppo_test

import (
	"context"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/spaces"
)

// pointSpaces are those of a point on a line that is pushed to the left or to the right.
var pointSpaces = spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 1)}

// An agent acts, records what came of it, and learns when its rollout is complete. A trainer does all that.
func ExampleNew() {
	agent, err := ppo.New(ppo.Options{
		Spaces:  pointSpaces,
		NumEnvs: 2,
		Models:  ppo.MLPs(pointSpaces, []int{32, 32}, "elu"),
		Dict:    map[string]any{"rollouts": 4, "learning_rate": 3e-4, "learning_rate_scheduler": "KLAdaptiveLR"},
		Seed:    1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()

	observations := []float32{0, 1, 0, -1} // two environments of two values
	for !agent.Ready() {
		actions, err := agent.Act(agents.Observation{Observations: observations})
		if err != nil {
			fmt.Println(err)
			return
		}
		err = agent.Record(agents.Transition{
			Rewards:          []float32{actions[0], -actions[1]},
			Terminated:       []bool{false, false},
			Truncated:        []bool{false, false},
			NextObservations: observations,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	err = agent.Update(context.Background())
	fmt.Println(agent.Name(), agent.NumEnvs(), agent.Ready(), err)
	// Output: PPO 2 false <nil>
}

// Settings are read from a dictionary under the names of skrl 1.4 or 2.0.
func ExampleFromDict() {
	cfg, err := ppo.FromDict(map[string]any{"lambda": 0.9, "learning_rate": 1e-4,
		"state_preprocessor": "RunningStandardScaler"}, pointSpaces)
	fmt.Println(cfg.GAELambda, cfg.LearningRate, cfg.ObservationPreprocessor, cfg.Rollouts, err)
	// Output: 0.9 [0.0001] RunningStandardScaler 16 <nil>
}
