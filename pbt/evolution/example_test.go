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
	"github.com/gorl-dev/gorl/spaces"
)

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
