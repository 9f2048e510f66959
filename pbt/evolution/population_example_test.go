package evolution_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

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
	mutations.Limits = evolution.Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 64, MinLatent: 4, MaxLatent: 64}
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
	fmt.Println(len(e.Rows()), "members,", len(architectures), "networks of each,", elite.Steps() == best.Steps)
	// Output: 4 members, 2 networks of each, true
}

func ExampleTournament() {
	t := strategy.DefaultTournament()
	g := strategy.Generation{Iteration: 1}
	for id, fitness := range []float64{3, 1, 2} {
		g.Members = append(g.Members, strategy.Status{Member: id, Objective: fitness, HasObjective: true})
	}
	fmt.Println("ranks", t.Ranks(g))
	for _, d := range t.Decide(g, rand.New(rand.NewPCG(1, 0))) {
		fmt.Printf("%d: %s (%s)\n", d.Member, d.Action, d.Reason)
	}
	// Output:
	// ranks [2 0 1]
	// 0: keep (elite: fitness 3)
	// 1: replace (tournament of 1 0: 0 wins, fitness 3)
	// 2: replace (tournament of 2 0: 0 wins, fitness 3)
}

func ExampleMultiFrequency() {
	s := strategy.DefaultMultiFrequency()
	brackets, err := s.Brackets(8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", brackets)
	// Output: {Winners:1 Survivors:0 Open:1 Losers:2}
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

func ExampleDefaultMutations() {
	m := evolution.DefaultMutations()
	m.Activation = 0.1
	m.Hyperparameters = evolution.HyperparameterConfig{
		"learning_rate": {Min: 1e-5, Max: 1e-2, GrowFactor: 2, ShrinkFactor: 0.5},
	}
	fmt.Println(m.Validate())
	m.RLHP = -1
	fmt.Println(m.Validate())
	// Output:
	// <nil>
	// evolution: Mutations.RLHP is -1; give a finite weight of 0 or more
}

// A snapshot of one's own evolves, too: networks are known by the names of its arrays.
func ExampleNewEvolver() {
	shape, err := description.NewArchitecture(spaces.NewBox(-1, 1, 3), nil, 0, []int{4}, "tanh")
	if err != nil {
		log.Fatal(err)
	}
	zeros := func(shape ...int64) checkpoint.Array {
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		return checkpoint.ArrayFloat32(shape, make([]float32, n))
	}
	snap := checkpoint.NewSnapshot()
	snap.Arrays["actor/head.0.weight"], snap.Arrays["actor/head.0.bias"] = zeros(4, 3), zeros(4)
	snap.Arrays["actor/head.out.weight"], snap.Arrays["actor/head.out.bias"] = zeros(2, 4), zeros(2)
	snap.Values["architectures"] = map[string]any{"actor": shape.Values()}

	registry := evolution.Registry{Groups: []evolution.NetworkGroup{{Name: "actor", Policy: true}}}
	e, err := evolution.NewEvolver(evolution.Mutations{Architecture: 1, NewLayerProb: 1,
		Limits: evolution.Limits{MinLayers: 1, MaxLayers: 2, MinNodes: 2, MaxNodes: 8, MinLatent: 1,
			MaxLatent: 8}}, registry, snap, nil)
	if err != nil {
		log.Fatal(err)
	}
	for seed := range uint64(8) {
		out, what, err := e.Evolve(pbt.Candidate{Iteration: 1, Snapshot: snap}, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			log.Fatal(err)
		}
		if strings.Contains(what, "add_layer") {
			fmt.Println(e.Architecture(snap), "becomes", e.Architecture(out.Snapshot))
			break
		}
	}
	// Output: actor 3→[4] tanh becomes actor 3→[4 4:elu] tanh
}

func ExampleRegistryOf() {
	t, err := cartpole(nil)(pbt.Member{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	snap, err := t.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	r, err := evolution.RegistryOf(snap)
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range r.Groups {
		fmt.Println(g.Name, g.Policy)
	}
	fmt.Println(r.Optimizers)
	// Output:
	// policy true
	// value false
	// [{optimizer [policy value] learning_rate}]
}

func ExampleLoadElite() {
	dir, err := os.MkdirTemp("", "evolution")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := evolution.New(evolution.Options{
		Options:   pbt.Options{Members: 2, IntervalSteps: 256, TotalSteps: 512, New: cartpole(nil)},
		SaveElite: true, ElitePath: filepath.Join(dir, "elite"),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Train(context.Background()); err != nil {
		log.Fatal(err)
	}
	saved, err := evolution.LoadElite(filepath.Join(dir, "elite"))
	if err != nil {
		log.Fatal(err)
	}
	elite, err := evolution.Build(cartpole(nil), saved.Snapshot, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer elite.Close()
	fmt.Println(elite.Steps() == e.Elite().Steps)
	// Output: true
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
