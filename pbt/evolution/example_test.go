package evolution_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
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

func ExampleFromDict() {
	s, err := evolution.FromDict(map[string]any{
		"mutation": map[string]any{"probabilities": map[string]any{"no_mut": 0.5, "arch_mut": 0.5}},
		"training": map[string]any{"pop_size": 4, "evo_steps": 2048, "max_steps": 20_480},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Options.Members, s.Options.IntervalSteps, s.Options.TotalSteps)
	// Output: 4 2048 20480
}

// A snapshot of one's own evolves, too: networks are known by the names of its arrays.
func ExampleNewEvolver() {
	shape, err := description.NewArchitecture(spaces.NewBox(-1, 1, 3), nil, 0, []int{4}, "tanh")
	if err != nil {
		log.Fatal(err)
	}
	snap := checkpoint.NewSnapshot()
	snap.Arrays["actor/head.0.weight"] = checkpoint.ArrayFloat32([]int64{4, 3}, make([]float32, 12))
	snap.Arrays["actor/head.0.bias"] = checkpoint.ArrayFloat32([]int64{4}, make([]float32, 4))
	snap.Arrays["actor/head.out.weight"] = checkpoint.ArrayFloat32([]int64{2, 4}, make([]float32, 8))
	snap.Arrays["actor/head.out.bias"] = checkpoint.ArrayFloat32([]int64{2}, make([]float32, 2))
	snap.Values["architectures"] = map[string]any{"actor": shape.Values()}

	registry := evolution.Registry{Groups: []evolution.NetworkGroup{{Name: "actor", Policy: true}}}
	e, err := evolution.NewEvolver(evolution.Mutations{
		Probabilities: evolution.Probabilities{Architecture: 1, NewLayerProb: 1},
		Limits: evolution.Limits{MinLayers: 1, MaxLayers: 2, MinNodes: 2, MaxNodes: 8, MinLatent: 1,
			MaxLatent: 8}}, registry, snap, nil)
	if err != nil {
		log.Fatal(err)
	}
	out, what, err := e.Evolve(pbt.Candidate{Iteration: 1, Snapshot: snap}, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(what, "makes of", e.Architecture(snap), e.Architecture(out.Snapshot))
	// Output: head.add_layer makes of actor 3→[4] tanh actor 3→[4 4:elu] tanh
}
