package ippo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// Three agents share one policy; their value network reads the shared state (MAPPO).
func ExampleNew() {
	env, err := classic.NewSpread(classic.Config{NumEnvs: 8})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	agent, err := ippo.New(ippo.Options{Spaces: env.Spaces(), Centralised: true, Seed: 1,
		Models: ippo.MLPs([]int{64, 64}, "tanh"),
		Dict:   map[string]any{"parameter_sharing": "prefix", "rollouts": 25, "learning_rate": 7e-4}})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	trainer, err := trainers.New(env, agent, trainers.Config{Timesteps: 50})
	if err != nil {
		log.Fatal(err)
	}
	err = trainer.Train(context.Background())
	group := agent.Groups()[0]
	fmt.Println(agent.Name(), group.Name, group.Seats, agent.Hyperparameters()["agent.learning_rate"], err)
	// Output: MAPPO agent [agent_0 agent_1 agent_2] 0.0007 <nil>
}

// A setting is a value for all agents, or has a value for each of them.
func ExampleGroups() {
	body := spaces.Seat{Observation: spaces.Unbounded(3), Action: spaces.NewDiscrete(2)}
	fox, hen := body, body
	fox.Name, hen.Name = "fox", "hen"
	set := spaces.NewSeats(spaces.Space{}, fox, hen)
	groups, err := ippo.Groups(map[string]any{"learning_rate": map[string]any{"fox": 1e-3, "hen": 3e-4}, "rollouts": 8},
		set, false)
	for _, g := range groups {
		fmt.Println(g.Name, g.Dict)
	}
	fmt.Println(err)
	_, err = ippo.Groups(map[string]any{"learning_rate": map[string]any{"fox": 1e-3}}, set, false)
	fmt.Println(err)
	// Output:
	// fox map[learning_rate:0.001 rollouts:8]
	// hen map[learning_rate:0.0003 rollouts:8]
	// <nil>
	// ippo: "learning_rate" has values of some agents only; hen missing
}
