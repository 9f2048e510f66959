package evolution

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/spaces"
)

// mixed is an environment of three kinds of agents: two with vectors and one with a picture.
func mixed() spaces.Set {
	return spaces.NewSeats(spaces.Space{},
		spaces.Seat{Name: "speaker_0", Observation: spaces.Unbounded(3), Action: spaces.NewDiscrete(3)},
		spaces.Seat{Name: "listener_0", Observation: spaces.Unbounded(5), Action: spaces.NewBox(-1, 1, 2)},
		spaces.Seat{Name: "listener_1", Observation: spaces.Unbounded(5), Action: spaces.NewBox(-1, 1, 2)},
		spaces.Seat{Name: "watcher_0", Observation: camera, Action: spaces.NewDiscrete(2)})
}

func team(t *testing.T, networks map[string]description.Architecture) *ippo.Agent {
	t.Helper()
	return must.Open(ippo.New(ippo.Options{Spaces: mixed(), NumEnvs: 2, Seed: 3,
		Models: ippo.Evolvable(networks, models.DefaultGaussianConfig()),
		Dict:   map[string]any{"parameter_sharing": "prefix"}}))(t)
}

// teamSnapshot is of an agent that has learned: its optimizers have moments, and have done seven steps.
func teamSnapshot(t *testing.T) (*checkpoint.Snapshot, map[string]float64) {
	t.Helper()
	networks := map[string]description.Architecture{}
	for _, role := range []string{"policy", "value"} {
		networks["speaker."+role] = architecture(t, spaces.Unbounded(3), []int{12}, 8, []int{16}, "tanh")
		networks["listener."+role] = architecture(t, spaces.Unbounded(5), []int{12}, 8, []int{16, 16}, "tanh")
		networks["watcher."+role] = seeing(t, description.RecurrentLayer{}, "tanh")
	}
	a := team(t, networks)
	must.Equal(t, "the architectures", networks, a.Architectures())
	snap := agenttest.Snapshot(t, a)
	rng := random(1)
	for _, name := range slices.Sorted(maps.Keys(snap.Arrays)) {
		if _, _, _, moment := layout.CutMoment(name); moment {
			data := floats(t, snap.Arrays[name])
			for i := range data {
				data[i] = rng.Float32()
			}
			snap.Arrays[name] = checkpoint.ArrayFloat32(snap.Arrays[name].Shape, data)
		}
	}
	for _, agent := range layout.Agents(snap.Values) {
		layout.Map(agent.Values, layout.OptimizerSteps)["optimizer"] = int64(7)
	}
	return agenttest.Through(t, snap), a.Hyperparameters()
}

// The decision table of an edit, after AgileRL (specification of its multi-agent mutations): which agents and which
// networks get what was drawn for one agent.
func TestGroupEdits(t *testing.T) {
	snap, values := teamSnapshot(t)
	least := Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 100, MinLatent: 2, MaxLatent: 60, MinChannels: 2,
		MaxChannels: 64}
	oneLayer, full := least, least
	oneLayer.MaxLayers, full.MaxNodes = 1, 16
	head := func(kind editKind, nodes int) edit { return edit{Kind: kind, Module: "head", Nodes: nodes} }
	all := []string{"speaker.policy", "speaker.value", "listener.policy", "listener.value", "watcher.policy",
		"watcher.value"}
	for _, c := range []struct {
		name   string
		agent  int
		edit   edit
		limits map[string]Limits
		// own and strict are the networks that change, without and with Strict, each by one edit.
		own, strict []string
		text        string // of the journal without Strict
	}{
		{"nodes: one agent, or all", 0, head(addNode, 16), nil, all[:2], all, "speaker: head.add_node(layer 0, 16)"},
		{"nodes of another agent", 1, head(addNode, 32), nil, all[2:4], all, "listener: head.add_node(layer 0, 32)"},
		{"layer", 1, head(addLayer, 16), nil, all[2:4], all, "listener: head.add_layer"},
		{"a layer less, for some of them", 1, head(removeLayer, 16), nil, all[2:4], all, "listener: head.remove_layer"},
		{"latent", 1, edit{Kind: addLatentNode, Nodes: 16}, nil, all[2:4], all, "listener: add_latent_node(16)"},
		{"an encoder of two kinds", 0, edit{Kind: addNode, Module: "encoder.observation", Nodes: 16}, nil, all[:2],
			all[:4], "speaker: encoder.observation.add_node(layer 0, 16)"},
		// AgileRL looks for it in the others' value networks, finds none, and the run ends (defect 6).
		{"an encoder of one kind", 2, edit{Kind: addChannel, Module: "encoder.camera", Nodes: 8}, nil, all[4:],
			all[4:], "watcher: encoder.camera.add_channel(layer 0, 8)"},
		{"a limit makes it another edit, for all", 0, head(addLayer, 16), map[string]Limits{"speaker.policy": oneLayer},
			all[:2], all, "speaker: head.add_node(layer 0, 16)"},
		// AgileRL then applies it to these once for every agent (defect 5).
		{"a limit of the value networks", 0, head(addLayer, 16), map[string]Limits{"value": oneLayer}, all[:2], all,
			"speaker: head.add_layer, value: head.add_node(layer 0, 16)"},
		{"a limit of the policy alone", 0, head(addNode, 16), map[string]Limits{"speaker.policy": full}, all[1:2],
			all[1:], "speaker: None, value: head.add_node(layer 0, 16)"},
		{"limits of all", 0, head(removeNode, 32), nil, nil, nil,
			"none (speaker: head.remove_node(layer 0, 32) would go beyond the limits)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				want := c.own
				if strict {
					want = c.strict
				}
				m := only(func(m *Mutations) {
					m.Architecture, m.Limits, m.NetworkLimits, m.Strict = 1, least, c.limits, strict
				})
				e := must.Get(NewEvolver(m, must.Get(RegistryOf(snap))(t), snap, values))(t)
				before := must.Get(Architectures(snap))(t)
				next, text, err := e.edit(snap, kindArchitecture, drawing(t, snap, c.agent, c.edit))
				must.Do(t, err)
				if text != c.text && !strict {
					t.Errorf("%q, want %q", text, c.text)
				}
				after := must.Get(Architectures(next))(t)
				for network, was := range before {
					is := after[network]
					limits := editable{editOptions: e.edits}.limits(network)
					if own, ok := c.limits[strings.Split(network, ".")[1]]; ok {
						limits = own
					}
					// Each network gets what became of the edit, once.
					edit := c.edit
					if c.limits["speaker.policy"].MaxLayers == 1 {
						edit.Kind = addNode
					}
					once := was
					if slices.Contains(want, network) {
						once, _, _ = edit.apply(was, limits)
					}
					if !is.Equal(once) || slices.Contains(want, network) == was.Equal(is) {
						t.Errorf("strict %t: %s: %v became %v, want %v", strict, network, was, is, once)
					}
				}
				for i, agent := range layout.Agents(next.Values) {
					steps := int64(7)
					if strict {
						steps = 0
					}
					got := layout.Map(agent.Values, layout.OptimizerSteps)["optimizer"]
					must.Is(t, got, any(steps), "strict %t: steps behind the optimizer of %d", strict, i)
					if i == c.agent || strict {
						continue
					}
					was, _ := layout.MemberOf(snap, i)
					is, _ := layout.MemberOf(next, i)
					must.Same(t, agenttest.Differences(was, is), nil, "changes of agent %d, which was not drawn", i)
				}
				rebuilt := team(t, after)
				must.Do(t, rebuilt.Restore(agenttest.Through(t, next)))
				differences := agenttest.Differences(next, agenttest.Snapshot(t, rebuilt), "policy")
				must.Same(t, differences, nil, "strict %t: differences of the agent built from the snapshot", strict)
			}
		})
	}
}

// policiesOf are the policies of mixed in order.
func policiesOf(t *testing.T, snap *checkpoint.Snapshot) []description.Architecture {
	t.Helper()
	all := must.Get(Architectures(snap))(t)
	return []description.Architecture{all["speaker.policy"], all["listener.policy"], all["watcher.policy"]}
}

// drawing is a generator that draws the edit for the agent.
func drawing(t *testing.T, snap *checkpoint.Snapshot, agent int, edit edit) *rand.Rand {
	t.Helper()
	policies := policiesOf(t, snap)
	for seed := range uint64(100_000) {
		if which, e := randomEdit(policies, random(seed), 0.2); which == agent && e == edit {
			return random(seed)
		}
	}
	t.Fatalf("%v is never drawn", edit)
	return nil
}

// Hyperparameters mutate by agent, under Strict together; noise is put on every agent's policy, another activation is
// given to one agent.
func TestGroupMutations(t *testing.T) {
	snap, values := teamSnapshot(t)
	names := []string{"speaker", "listener", "watcher"}
	for i, name := range names {
		values[name+".learning_rate"] = math.Pow(10, -3-float64(i))
	}
	evolver := func(set func(m *Mutations)) *Evolver {
		return must.Get(NewEvolver(only(set), must.Get(RegistryOf(snap))(t), snap, values))(t)
	}
	// changed returns the hyperparameters and the agents that a mutation changes.
	changed := func(e *Evolver, seed uint64) (keys []string, agents []int, what string) {
		in := pbt.Candidate{Iteration: 1, Snapshot: snap, Hyperparameters: values}
		out, what, err := e.Evolve(in, random(seed))
		must.Do(t, err)
		if strings.Contains(what, ": activation(") {
			unchanged(t, snap.Arrays, out.Snapshot.Arrays)
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if out.Hyperparameters[key] != values[key] {
				keys = append(keys, key)
			}
		}
		for i := range names {
			was, _ := layout.MemberOf(snap, i)
			if is, _ := layout.MemberOf(out.Snapshot, i); len(agenttest.Differences(was, is)) > 0 {
				agents = append(agents, i)
			}
		}
		return keys, agents, what
	}
	one := evolver(func(m *Mutations) { m.RLHP = 1 })
	strict := evolver(func(m *Mutations) {
		m.RLHP, m.Strict = 1, true
		m.Hyperparameters = HyperparameterConfig{"learning_rate": {Min: 1e-6, Max: 1},
			"listener.learning_rate": {Min: 1e-5, Max: 1}, "speaker.entropy_loss_scale": {Min: 0, Max: 1}}
	})
	if p := strict.mutations.Hyperparameters; p["listener.learning_rate"].Min != 1e-5 ||
		p["watcher.learning_rate"].Min != 1e-6 {
		t.Errorf("bounds for all agents became %v", p)
	}
	seen := map[string]bool{}
	for seed := range uint64(30) {
		keys, agents, what := changed(one, seed)
		if len(keys) != 1 || what != keys[0] || agents != nil {
			t.Fatalf("%s: %v of the agents %v", what, keys, agents)
		}
		seen[what] = true
		if keys, agents, what = changed(strict, seed); strings.Contains(what, "learning_rate") &&
			(len(keys) != 3 || len(agents) != 3 || what != strings.Join(keys, ", ")) {
			t.Fatalf("strict: %s: %v of the agents %v", what, keys, agents)
		}
	}
	must.Equal(t, "mutated by default", map[string]bool{"speaker.learning_rate": true, "listener.learning_rate": true,
		"watcher.learning_rate": true}, seen)
	_, agents, what := changed(evolver(func(m *Mutations) { m.Parameters = 1 }), 1)
	if len(agents) != 3 || !strings.HasPrefix(what, "param(speaker: ") || !strings.Contains(what, "watcher: ") {
		t.Errorf("%s: the agents %v", what, agents)
	}
	for seed := range uint64(10) { // always another activation
		_, agents, what = changed(evolver(func(m *Mutations) { m.Activation = 1 }), seed)
		if len(agents) != 1 || !strings.HasPrefix(what, names[agents[0]]+": activation(") {
			t.Errorf("%s: the agents %v", what, agents)
		}
	}
	// AgileRL changes no activation of IPPO's.
	keys, agents, what := changed(evolver(func(m *Mutations) { m.Activation, m.Strict = 1, true }), 2)
	if keys != nil || agents != nil || !strings.HasPrefix(what, "none (AgileRL") {
		t.Errorf("strict: %s: %v, the agents %v", what, keys, agents)
	}
}
