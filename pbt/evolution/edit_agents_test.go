package evolution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
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
func decisions(t testing.TB, a agents.Agent) []float32 {
	t.Helper()
	a.SetTraining(false)
	defer a.SetTraining(true)
	var all []float32
	w := agenttest.NewWorld(ampSpaces, agenttest.Seeds(50, rows)...)
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
	must.Equal(t, "the architectures", first, a.Architectures())
	w := agenttest.NewWorld(ampSpaces, agenttest.Seeds(1, rows)...)
	agenttest.Learn(t, a, w, 2)
	snap := agenttest.Through(t, agenttest.Snapshot(t, a))
	read := must.Get(Architectures(snap))(t)
	same := decisions(t, a)
	edits := append(growing(first["policy"]), edit{Kind: removeNode, Module: "head", Nodes: 8},
		edit{Kind: removeLatentNode, Nodes: 4}, edit{Kind: removeLayer, Module: "head", Nodes: 4},
		edit{Kind: changeActivation, Activation: "silu"})
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
			must.Do(t, b.Restore(agenttest.Through(t, done.Snapshot)))
			must.Same(t, agenttest.Differences(done.Snapshot, agenttest.Snapshot(t, b)), nil, "%v: differences", e)
			if how == PreserveFunction && strings.HasPrefix(string(e.Kind), "add") {
				must.Near(t, difference(same, decisions(t, b)), 0, 1e-5, "change of decisions by %v", e)
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
	must.Same(t, agenttest.Differences(snap, agenttest.Snapshot(t, a)), nil, "changes of the agent before")
}

// editNetworks changes the policy by the edit, and the other networks by what limits made of it.
func editNetworks(all map[string]description.Architecture, snap *checkpoint.Snapshot, e edit,
	o editOptions) (edited, error) {
	o.Policy = layout.Policy
	a := editable{part{"", snap}, o, all}
	return a.apply(a.all(a.lead(e)), random(3))
}
