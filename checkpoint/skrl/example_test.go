package skrl_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/spaces"
)

// An agent continues from a checkpoint of skrl, and writes one for skrl.
func ExampleRead() {
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}
	agent, err := ppo.New(ppo.Options{Spaces: sp, Models: ppo.MLPs(sp, []int{5, 4}, "elu"), Dict: map[string]any{
		"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
		"learning_rate_scheduler": "KLAdaptiveLR"}})
	if err != nil {
		panic(err)
	}
	defer agent.Close()

	c, err := skrl.Read("testdata/ppo/first.pt")
	if err != nil {
		panic(err)
	}
	like, err := agent.Snapshot(agents.SnapshotOptions{})
	if err != nil {
		panic(err)
	}
	snap, err := c.Snapshot(like)
	if err != nil {
		panic(err)
	}
	if err := agent.Restore(snap); err != nil {
		panic(err)
	}
	steps, err := snap.Int("optimizer_steps", "optimizer")
	fmt.Println(steps, err)

	if c, err = skrl.New(snap, skrl.Options{}); err != nil { // c.WriteFile writes a file for skrl's agent.load
		panic(err)
	}
	for _, m := range c.Modules {
		fmt.Println(m.Name, m.State.Len())
	}
	// Output:
	// 4 <nil>
	// policy 7
	// value 6
	// optimizer 2
	// observation_preprocessor 3
	// value_preprocessor 3
}
