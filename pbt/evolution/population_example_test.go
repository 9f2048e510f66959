package evolution_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Four agents with small networks evolve on CartPole; the elite is built again from its snapshot.
func Example() {
	mutations := evolution.DefaultMutations()
	mutations.Limits = evolution.Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 64, MinLatent: 4,
		MaxLatent: 64}
	e, err := evolution.New(evolution.Options{
		Options: pbt.Options{Members: 4, IntervalSteps: 256, TotalSteps: 1024, Seed: 1,
			Sample: map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-2, Log: true}}, New: cartpole(nil)},
		Mutations: &mutations,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	best, err := e.Train(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	elite, err := evolution.Build(cartpole(nil), best.Snapshot, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer elite.Close()
	architectures, err := evolution.Architectures(best.Snapshot)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(e.Table().Rows), "members,", len(architectures), "networks of each,", elite.Steps() == best.Steps)
	// Output: 4 members, 2 networks of each, true
}

func ExampleFromYAML() {
	s, err := evolution.FromYAML([]byte(`
mutation:
  probabilities: {no_mut: 0.4, arch_mut: 0.2, params_mut: 0.2, rl_hp_mut: 0.2}
  rl_hp_selection:
    lr: {min: 0.0001, max: 0.01}
selection_strategy: {tournament_size: 2, elitism: true}
training: {pop_size: 6, evo_steps: 4096, max_steps: 100_000}
`))
	if err != nil {
		log.Fatal(err)
	}
	o := s.Options // complete but for New
	fmt.Println(o.Members, o.IntervalSteps, o.Strategy.(strategy.Tournament).TournamentSize,
		o.Mutations.Hyperparameters["learning_rate"].Max)
	_, err = evolution.FromYAML([]byte("training: {popsize: 6}"))
	fmt.Println(err)
	// Output:
	// 6 4096 2 0.01
	// evolution: unknown key "training.popsize" (given 6): did you mean "training.pop_size"?
}
