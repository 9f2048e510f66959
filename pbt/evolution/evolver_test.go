package evolution

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/spaces"
)

// handmade is a snapshot of a custom agent: an actor and a critic with architectures, two optimizers and a rollout in
// progress.
func handmade(t *testing.T) (*checkpoint.Snapshot, Registry) {
	t.Helper()
	a := must.Get(description.NewArchitecture(spaces.NewBox(-1, 1, 3), nil, 0, []int{8, 8}, "tanh"))(t)
	snap, tree := checkpoint.NewSnapshot(), map[string]any{}
	for _, own := range []string{"actor", "critic"} {
		tree[own] = a.Values()
		rename := strings.NewReplacer("policy/", own+"/", "optimizer/", own+"_adam/")
		for name, array := range arraysOf(t, network(t, a, 1, nil)) {
			snap.Arrays[rename.Replace(name)] = array
		}
	}
	snap.Arrays["rollout/rewards"] = checkpoint.ArrayFloat32([]int64{5, 2}, make([]float32, 10))
	snap.Values = map[string]any{"architectures": tree, "rollout_steps": int64(5),
		"optimizer_steps": map[string]any{"actor_adam": int64(7), "critic_adam": int64(7)}}
	return snap, Registry{
		Groups:          []NetworkGroup{{Name: "actor", Policy: true}, {Name: "critic"}},
		Optimizers:      []OptimizerConfig{{"actor_adam", "lr_actor"}, {"critic_adam", "lr_critic"}},
		Hyperparameters: []string{"lr_actor", "lr_critic", "batch_size"},
	}
}

var handmadeValues = map[string]float64{"lr_actor": 1e-3, "lr_critic": 1e-2, "batch_size": 64, "tau": 0.005}

func only(set func(m *Mutations)) Mutations {
	m := Mutations{Probabilities: Probabilities{NewLayerProb: 0.2}}
	set(&m)
	return m
}

func evolver(t *testing.T, m Mutations) (*Evolver, pbt.Candidate) {
	t.Helper()
	snap, r := handmade(t)
	e := must.Get(NewEvolver(m, r, snap, handmadeValues))(t)
	return e, pbt.Candidate{Member: 1, Iteration: 3, Snapshot: snap, Hyperparameters: handmadeValues}
}

// evolve checks what holds for every mutation: the candidate given is not changed, the same numbers give the same
// result, and everything fits together.
func evolve(t *testing.T, e *Evolver, in pbt.Candidate, seed uint64) (pbt.Candidate, string) {
	t.Helper()
	before := agenttest.Through(t, in.Snapshot)
	out, what, err := e.Evolve(in, random(seed))
	must.Do(t, err)
	if !reflect.DeepEqual(before, in.Snapshot) {
		t.Fatal("the snapshot given was changed")
	}
	again, same, err := e.Evolve(in, random(seed))
	if err != nil || what != same || !reflect.DeepEqual(out, again) {
		t.Fatalf("%q is not reproducible (%q, %v)", what, same, err)
	}
	if err := e.registry.Check(out.Snapshot, out.Hyperparameters); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if out.Snapshot == in.Snapshot {
		return out, what
	}
	for name, a := range out.Snapshot.Arrays {
		_, _, parameter, moment := layout.CutMoment(name)
		if moment && !slices.Equal(a.Shape, out.Snapshot.Arrays[parameter].Shape) {
			t.Fatalf("%s: %s is %v", what, name, a.Shape)
		}
	}
	return out, what
}

func checkRollout(t *testing.T, s *checkpoint.Snapshot, what string) {
	t.Helper()
	if s.Values["rollout_steps"] != int64(0) || len(layout.Below(s, "rollout")) > 0 {
		t.Errorf("%s: a rollout of other weights goes on", what)
	}
}

func TestArchitectureOfCustomAgent(t *testing.T) {
	e, in := evolver(t, only(func(m *Mutations) { m.Architecture, m.Limits = 1, small }))
	seen := map[string]bool{}
	for seed := range uint64(60) {
		out, what := evolve(t, e, in, seed)
		kind, _, _ := strings.Cut(what, "(")
		seen[strings.TrimSpace(kind)] = true
		if kind == "none " {
			must.Is(t, out.Snapshot, in.Snapshot, "the snapshot after %s", what)
			continue
		}
		checkRollout(t, out.Snapshot, what)
		all, _ := Architectures(out.Snapshot)
		if !all["actor"].Equal(all["critic"]) {
			t.Errorf("%s leads to %v and %v", what, all["actor"], all["critic"])
		}
		steps := out.Snapshot.Values["optimizer_steps"].(map[string]any)
		must.Is(t, steps["actor_adam"], any(int64(7)), "steps of an optimizer after %s", what)
	}
	must.Equal(t, "the edits", map[string]bool{"head.add_layer": true, "head.remove_layer": true, "head.add_node": true,
		"none": true}, seen)
}

// Under Strict noise resets all optimizers, and another learning rate resets those that have it. Another seed of
// mutations draws others.
func TestOptimizersOfCustomAgent(t *testing.T) {
	for _, strict := range []bool{false, true} {
		e, in := evolver(t, only(func(m *Mutations) { m.RLHP, m.Parameters, m.Strict = 2, 1, strict }))
		must.Equal(t, "by default", []string{"batch_size", "lr_actor", "lr_critic"}, e.Keys())
		seen, other, differ := map[string]bool{}, *e, 0
		other.mutations.Seed = 1
		for seed := range uint64(40) {
			out, what := evolve(t, e, in, seed)
			kind, _, noise := strings.Cut(what, "(")
			seen[kind] = true
			if noise {
				checkRollout(t, out.Snapshot, what)
			}
			if _, drawn := evolve(t, &other, in, seed); drawn != what {
				differ++
			}
			steps := out.Snapshot.Values["optimizer_steps"].(map[string]any)
			for optimizer, rate := range map[string]string{"actor_adam": "lr_actor", "critic_adam": "lr_critic"} {
				if reset := steps[optimizer] == int64(0); reset != (strict && (noise || what == rate)) {
					t.Errorf("strict %t, %s: steps of %s are %v", strict, what, optimizer, steps[optimizer])
				}
			}
		}
		if len(seen) != 4 || differ < 10 {
			t.Errorf("only %v; another seed of mutations draws %d others", seen, differ)
		}
	}
}

// Weights are relative, and before training something happens.
func TestDraw(t *testing.T) {
	m := Mutations{Probabilities: Probabilities{NoMutation: 2, Architecture: 1, Parameters: 1}}
	counts := map[string]int{}
	rng := random(3)
	for range 4000 {
		counts[m.draw(rng, false)]++
	}
	// The standard deviations are 32 and 27.
	for kind, want := range map[string]float64{"none": 2000, "architecture": 1000, "param": 1000} {
		must.Near(t, float64(counts[kind]), want, 160, "times that %s was drawn", kind)
	}
	for range 100 {
		if m.draw(rng, true) == "none" {
			t.Fatal("nothing happens before training")
		}
	}
}
