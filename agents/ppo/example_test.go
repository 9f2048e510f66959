package ppo_test

import (
	"context"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
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

// A mistake is an error that says what was meant.
func ExampleNew_mistake() {
	_, err := ppo.New(ppo.Options{
		Spaces: pointSpaces,
		Models: ppo.MLPs(pointSpaces, []int{32}, "elu"),
		Dict:   map[string]any{"learning_epoch": 4},
	})
	fmt.Println(err)
	// Output: ppo: unknown key "learning_epoch" (given 4): did you mean "learning_epochs"?
}

// MLPs fits the policy to the action space.
func ExampleMLPs() {
	choices := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewDiscrete(2)}
	for _, sp := range []spaces.Set{pointSpaces, choices} {
		policy, value, err := ppo.MLPs(sp, []int{8}, "tanh").Make(1)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%T, %d parameters\n", policy.(*models.Stochastic).Dist, len(policy.Parameters()))
		policy.Close()
		value.Close()
	}
	// Output:
	// *models.Gaussian, 5 parameters
	// *models.Categorical, 4 parameters
}

// Settings are read from a dictionary under the names of skrl 1.4 or 2.0.
func ExampleFromDict() {
	cfg, err := ppo.FromDict(map[string]any{"lambda": 0.9, "learning_rate": 1e-4,
		"state_preprocessor": "RunningStandardScaler"}, pointSpaces)
	fmt.Println(cfg.GAELambda, cfg.LearningRate, cfg.ObservationPreprocessor, cfg.Rollouts, err)
	// Output: 0.9 [0.0001] RunningStandardScaler 16 <nil>
}

// DefaultConfig is what a dictionary is merged over.
func ExampleDefaultConfig() {
	cfg := ppo.DefaultConfig()
	cfg.LearningEpochs = 4
	fmt.Println(cfg.Rollouts, cfg.LearningEpochs, cfg.MiniBatches, cfg.TimeLimitBootstrap, cfg.Validate())
	// Output: 16 4 2 true <nil>
}

// The networks of an agent made from architectures can be evolved; see package pbt/evolution.
func ExampleEvolvable() {
	policy, err := description.NewArchitecture(pointSpaces.Observation, nil, 0, []int{32}, "elu")
	if err != nil {
		fmt.Println(err)
		return
	}
	value := policy.Clone()
	value.Head.Hidden = []int{64, 64}
	agent, err := ppo.New(ppo.Options{Spaces: pointSpaces, Models: ppo.Evolvable(pointSpaces, policy, value,
		models.DefaultGaussianConfig()), Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	all := agent.Architectures()
	fmt.Println(all["policy"], "and", all["value"])
	// Output: 2→[32] elu and 2→[64 64] elu
}

// An agent that acts on pictures. They are kept as bytes, a quarter of the memory of numbers.
func ExampleCNNs() {
	sp := spaces.Set{Observation: spaces.NewPicture(48, 64, 3), Action: spaces.NewDiscrete(2)}
	cfg := models.DefaultCNN()
	cfg.Features = 64
	agent, err := ppo.New(ppo.Options{Spaces: sp, NumEnvs: 2, Models: ppo.CNNs(sp, cfg),
		Dict: map[string]any{"rollouts": 4}, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	actions, err := agent.Act(agents.Observation{Observations: make([]float32, 2*sp.Observation.Width())})
	fmt.Println(len(actions), err)

	// A value that is no byte is the environment's mistake.
	bad := make([]float32, 2*sp.Observation.Width())
	bad[sp.Observation.Width()+5] = 0.5
	_, err = agent.Act(agents.Observation{Observations: bad})
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// ppo: observations: Box(48, 64, 3, uint8): environment 1, dimension 5 is 0.5; uint8 is a whole number from 0 to 255
}

// Recurrent gives policy and value network a GRU each; the agent learns through sequences of 16 steps.
func ExampleRecurrent() {
	agent, err := ppo.New(ppo.Options{
		Spaces: pointSpaces, NumEnvs: 4, Models: ppo.Recurrent(pointSpaces, models.GRU(16), []int{32}, "elu"),
		Dict: map[string]any{"rollouts": 32, "sequence_length": 16}, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	fmt.Println(agent.HiddenSizes())
	// Output: map[policy:16 value:16]
}
