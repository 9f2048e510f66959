package ippo_test

import (
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Two agents of different kinds get networks by group and network. Package evolution changes these.
func ExampleEvolvable() {
	set := spaces.NewSeats(spaces.Space{},
		spaces.Seat{Name: "speaker_0", Observation: spaces.Unbounded(3), Action: spaces.NewDiscrete(3)},
		spaces.Seat{Name: "listener_0", Observation: spaces.Unbounded(11), Action: spaces.NewDiscrete(5)})
	groups, err := ippo.Groups(nil, set, false)
	if err != nil {
		log.Fatal(err)
	}
	networks := map[string]description.Architecture{}
	for _, g := range groups {
		for _, network := range []string{".policy", ".value"} {
			a, err := description.NewArchitecture(g.Spaces.Observation, nil, 0, []int{32}, "tanh")
			if err != nil {
				log.Fatal(err)
			}
			networks[g.Name+network] = a
		}
	}
	agent, err := ippo.New(ippo.Options{Spaces: set, Models: ippo.Evolvable(networks, models.DefaultGaussianConfig())})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	all := agent.Architectures()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Println(name, all[name])
	}
	// Output:
	// listener_0.policy 11→[32] tanh
	// listener_0.value 11→[32] tanh
	// speaker_0.policy 3→[32] tanh
	// speaker_0.value 3→[32] tanh
}
