package evolution_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/spaces"
)

var sp = spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 1)}

func agent(policy, value description.Architecture) *ppo.Agent {
	a, err := ppo.New(ppo.Options{Spaces: sp, NumEnvs: 1, Models: ppo.Evolvable(sp, policy, value,
		models.DefaultGaussianConfig()), Seed: 1})
	if err != nil {
		panic(err)
	}
	return a
}

// An agent's networks grow, and it goes on as it was.
func ExampleEditNetworks() {
	small, err := description.NewArchitecture(sp.Observation, nil, 0, []int{64}, "tanh")
	if err != nil {
		panic(err)
	}
	before := agent(small, small)
	defer before.Close()
	snapshot, err := before.Snapshot(agents.SnapshotOptions{})
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	grown, err := evolution.EditNetworks(before.Architectures(), snapshot, evolution.Edit{Kind: evolution.AddLayer,
		Module: "head"}, evolution.EditOptions{}, rng)
	if err != nil {
		panic(err)
	}
	after := agent(grown.Architectures["policy"], grown.Architectures["value"])
	defer after.Close()
	if err := after.Restore(grown.Snapshot); err != nil {
		panic(err)
	}
	fmt.Println(grown, "makes", grown.Architectures["policy"])
	before.SetTraining(false)
	after.SetTraining(false)
	for _, a := range []*ppo.Agent{before, after} {
		actions, err := a.Act(agents.Observation{Observations: []float32{0.1, -0.2, 0.3}})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%.5f\n", actions)
	}
	// Output:
	// head.add_layer makes 3→[64 64:elu] tanh
	// [-0.02242]
	// [-0.02242]
}
