package evolution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

const rows = 3

// ampSpaces are those of an agent with a discriminator.
var ampSpaces = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2),
	AMPObservation: spaces.Unbounded(3)}

// ampAgent makes an agent with the networks.
func ampAgent(t testing.TB, a map[string]description.Architecture) *amp.Agent {
	t.Helper()
	x := must.Get(amp.New(amp.Options{Spaces: ampSpaces, Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Seed: 4,
		Models: amp.Evolvable(ampSpaces, a["policy"], a["value"], a["discriminator"], amp.DefaultGaussian()),
		Dict: map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2, "amp_batch_size": 20,
			"motion_dataset_size": 50, "reply_buffer_size": 60, "task_reward_scale": 0.5,
			"value_preprocessor": "RunningStandardScaler", "discriminator_optimizer": "separate"}}))(t)
	must.Do(t, x.Bind(rows))
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// ampNetworks are the networks to begin with.
func ampNetworks(t testing.TB, activation string) map[string]description.Architecture {
	t.Helper()
	return map[string]description.Architecture{
		"policy":        architecture(t, ampSpaces.Observation, []int{12}, 8, []int{16}, activation),
		"value":         architecture(t, ampSpaces.Observation, nil, 0, []int{16}, activation),
		"discriminator": architecture(t, ampSpaces.AMPObservation, nil, 8, []int{16, 16}, activation),
	}
}

// decisions are what an agent would do, without randomness.
func decisions(t testing.TB, a agents.Agent, sp spaces.Set) []float32 {
	t.Helper()
	a.SetTraining(false)
	defer a.SetTraining(true)
	var all []float32
	w := agenttest.NewWorld(sp, agenttest.Seeds(50, rows)...)
	for range 5 {
		actions := must.Get(a.Act(w.Now()))(t)
		all = append(all, actions...)
		w.Step(actions)
	}
	return all
}

var small = Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 100, MinLatent: 2, MaxLatent: 60}

// An agent that has learned goes on after every edit: the same decisions, a snapshot of the new shapes, and no
// interruption in learning.
func TestEditAgents(t *testing.T) {
	agenttest.CheckLive(t)
	first := ampNetworks(t, "tanh")
	a := ampAgent(t, first)
	for network, architecture := range a.Architectures() {
		if !architecture.Equal(first[network]) || len(a.Architectures()) != len(first) {
			t.Errorf("%s is %v, want %v", network, architecture, first[network])
		}
	}
	w := agenttest.NewWorld(ampSpaces, agenttest.Seeds(1, rows)...)
	agenttest.Learn(t, a, w, 2)
	snap := agenttest.Through(t, agenttest.Snapshot(t, a))
	read := must.Get(Architectures(snap))(t)
	same := decisions(t, a, ampSpaces)
	edits := growing(first["policy"])
	edits = append(edits, edit{Kind: removeNode, Module: "head", Nodes: 8}, edit{Kind: removeLatentNode,
		Nodes: 4},
		edit{Kind: removeLayer, Module: "head", Nodes: 4}, edit{Kind: changeActivation, Activation: "silu"})
	for _, e := range edits {
		for _, how := range []Preserve{PreserveFunction, PreserveOverlap} {
			done := must.Get(editNetworks(read, snap, e, editOptions{Limits: small, Preserve: how}))(t)
			for network := range first {
				_, has := done.Done[network]
				a := first[network]
				want := e.fits(a) && (e.Module != "encoder.observation" || len(a.Parts[0].Encoder.Hidden) > 0)
				if has != want || has == a.Equal(done.Architectures[network]) {
					t.Errorf("%v: %s became %v, done %t", e, network, done.Architectures[network], has)
				}
			}
			b := ampAgent(t, done.Architectures)
			if err := b.Restore(agenttest.Through(t, done.Snapshot)); err != nil {
				t.Fatalf("%v: %v", e, err)
			}
			if d := agenttest.Differences(done.Snapshot, agenttest.Snapshot(t, b)); len(d) > 0 {
				t.Errorf("%v: the snapshot restored differs in %q", e, d)
			}
			if how == PreserveFunction && strings.HasPrefix(string(e.Kind), "add") {
				if d := difference(same, decisions(t, b, ampSpaces)); !(d <= 1e-5) {
					t.Errorf("%v changes decisions by %g", e, d)
				}
			}
			steps := done.Snapshot.Values["optimizer_steps"].(map[string]any)
			for optimizer, n := range steps {
				if (fmt.Sprint(n) == "0") != (how == PreserveOverlap) {
					t.Errorf("%v, %s: %s has %v steps behind it", e, how, optimizer, n)
				}
			}
			agenttest.Learn(t, b, w.Clone(), 1)
			must.RefuseAs(t, e, a.Restore(done.Snapshot), fmt.Sprintf(
				"the checkpoint's policy network is %v, this agent's %v", done.Architectures["policy"],
				first["policy"]))
			_ = b.Close()
		}
	}
	// the snapshot is as it was, too
	if d := agenttest.Differences(snap, agenttest.Snapshot(t, a)); len(d) > 0 {
		t.Errorf("%q of the agent before have changed", d)
	}
}

// TestEditPPO: agents whose value network sees privileged states, and agents with several observations and choices,
// decide after every edit that adds something as before, and learn on.
func TestEditPPO(t *testing.T) {
	for name, sp := range map[string]spaces.Set{
		"states": {Observation: spaces.Unbounded(4), State: spaces.Unbounded(6), Action: spaces.NewBox(-2, 2, 2)},
		"dict": {Observation: spaces.NewDict(map[string]spaces.Space{"goal": spaces.Unbounded(2),
			"gripper": spaces.NewDiscrete(3)}), Action: spaces.NewMultiDiscrete(3, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			agent := func(a map[string]description.Architecture) *ppo.Agent {
				x := must.Get(ppo.New(ppo.Options{Spaces: sp, Seed: 4, Dict: map[string]any{"rollouts": 8},
					Models: ppo.Evolvable(sp, a["policy"], a["value"], models.DefaultGaussianConfig())}))(t)
				must.Do(t, x.Bind(rows))
				t.Cleanup(func() { _ = x.Close() })
				return x
			}
			seen := sp.Observation
			if sp.State.Width() > 0 {
				seen = sp.State
			}
			first := map[string]description.Architecture{
				"policy": architecture(t, sp.Observation, []int{12}, 8, []int{16}, "tanh"),
				"value":  architecture(t, seen, []int{12}, 8, []int{16}, "tanh"),
			}
			a, w := agent(first), agenttest.NewWorld(sp, agenttest.Seeds(1, rows)...)
			agenttest.Learn(t, a, w, 1)
			snap, same := agenttest.Snapshot(t, a), decisions(t, a, sp)
			for _, e := range growing(first["policy"]) {
				o := editOptions{Limits: small, Preserve: PreserveFunction}
				done := must.Get(editNetworks(first, snap, e, o))(t)
				if _, has := done.Done["value"]; has != e.fits(first["value"]) {
					t.Errorf("%v: the value network's edit is %v", e, done.Done["value"])
				}
				b := agent(done.Architectures)
				must.Do(t, b.Restore(agenttest.Through(t, done.Snapshot)))
				if d := difference(same, decisions(t, b, sp)); !(d <= 1e-5) {
					t.Errorf("%v changes decisions by %g", e, d)
				}
				agenttest.Learn(t, b, w.Clone(), 1)
			}
		})
	}
}

// editNetworks changes the policy by the edit, and the other networks by what limits made of it.
func editNetworks(all map[string]description.Architecture, snap *checkpoint.Snapshot, e edit,
	o editOptions) (edited, error) {
	o.Policy = layout.Policy
	return editAll(all, snap, e.lead(all, o), o, random(3))
}

func TestEditRefuses(t *testing.T) {
	all := ampNetworks(t, "tanh")
	node := edit{Kind: addNode, Module: "head", Nodes: 16}
	must.Refused(editNetworks(all, checkpoint.NewSnapshot(), node, editOptions{}))(t,
		"the snapshot has no discriminator/")
	for want, values := range map[string]map[string]any{
		"names no architectures": {},
		"are a int":              {"architectures": 3},
		"policy: description":    {"architectures": map[string]any{"policy": 3}},
	} {
		must.Refused(Architectures(&checkpoint.Snapshot{Values: values}))(t, want)
	}
}

// TestDrawActivations: every network is given one of the other activations, and no weight changes.
func TestDrawActivations(t *testing.T) {
	all := ampNetworks(t, "relu")
	elu := all["value"]
	elu.Activation = "ELU"
	all["value"] = elu
	snap := agenttest.Snapshot(t, ampAgent(t, all))
	rng, count := random(2), map[string]int{}
	for range 600 {
		done := must.Get(drawActivations(all, snap, []string{"ReLU", "elu", "gelu"}, editOptions{}, rng))(t)
		unchanged(t, snap.Arrays, done.Snapshot.Arrays)
		for name, x := range done.Architectures {
			count[name+" "+x.Activation]++
		}
	}
	for drawn, n := range count {
		if own := strings.HasSuffix(drawn, " ReLU") && !strings.HasPrefix(drawn, "value") ||
			drawn == "value elu"; own ||
			n < 240 || n > 360 || len(count) != 6 {
			t.Errorf("%v", count)
		}
	}
	done, err := drawActivations(all, snap, []string{"relu"}, editOptions{Preserve: PreserveOverlap}, rng)
	if err != nil || len(done.Done) != 1 || done.Done["value"].Activation != "relu" {
		t.Fatalf("%v, %v", done, err)
	}
	must.Do(t, ampAgent(t, done.Architectures).Restore(done.Snapshot))
}
