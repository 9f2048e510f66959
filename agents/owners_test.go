package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// A network belongs to one agent: the second New is an error that names both agents and closes nothing of the first,
// which learns on. A closed network is an error, too.
func TestNetworkBelongsToOneAgent(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewDiscrete(3),
		AMPObservation: spaces.Unbounded(3)}
	policy := func(from, to *amp.Models) { to.Policy.Close(); to.Policy = from.Policy }
	ofPPO := func(make func(spaces.Set) ppo.Models) func(seed int64) (amp.Models, error) {
		return func(seed int64) (m amp.Models, err error) {
			m.Policy, m.Value, err = make(sp).Make(seed)
			return m, err
		}
	}
	for i, x := range []struct {
		network  string // that two agents share
		settings map[string]any
		make     func(seed int64) (amp.Models, error)
		share    func(from, to *amp.Models)
	}{
		{"policy", nil, ofPPO(ppoMLPs), policy},
		{"policy", nil, ofPPO(ppoSharedLSTM), func(from, to *amp.Models) {
			policy(from, to)
			to.Value.Close()
			to.Value = from.Value
		}},
		{"discriminator", map[string]any{"latent_size": 2, "diversity_loss_scale": 0}, ampSkills(sp).Make,
			func(from, to *amp.Models) { to.Discriminator.Close(); to.Discriminator = from.Discriminator }},
		{"style_value", map[string]any{"separate_critics": true}, ampMLPs(sp).Make,
			func(from, to *amp.Models) { to.StyleValue.Close(); to.StyleValue = from.StyleValue }},
	} {
		newAgent := func(seed int64, m amp.Models, more map[string]any) (onpolicy.Algorithm, error) {
			dict := both(more, both(x.settings, map[string]any{"rollouts": 4, "mini_batches": 2}))
			if x.settings == nil {
				return ppo.New(ppo.Options{Spaces: sp, NumEnvs: rows, Seed: seed, Dict: dict,
					Models: ppo.Models{Policy: m.Policy, Value: m.Value}})
			}
			return amp.New(amp.Options{Spaces: sp, NumEnvs: rows, Seed: seed, Models: m,
				Dict: both(dict, map[string]any{"amp_batch_size": 8, "motion_dataset_size": 20,
					"reply_buffer_size": 20}),
				Motions: &agenttest.Motion{Width: 3, Mean: 0.7, Space: sp.AMPObservation}})
		}
		t.Run(fmt.Sprint(i, x.network), func(t *testing.T) {
			given := check.Get(x.make(1))(t)
			first := check.Get(newAgent(1, given, nil))(t)
			w := agenttest.NewWorld(sp, agenttest.Seeds(1, rows)...)
			agenttest.Learn(t, first, w, 1)
			before := agenttest.Snapshot(t, first)
			for _, want := range []string{x.network + " network was given to two agents|agent with seed 1|agent with " +
				"seed 2|build one network for each agent", "no_such_key"} {
				own, err := x.make(2)
				must(t, err)
				x.share(&given, &own)
				var mistake map[string]any
				if want == "no_such_key" { // other mistakes must not close the networks, either
					mistake = map[string]any{want: 1}
				}
				check.RefusedAs(newAgent(2, own, mistake))(t, want, strings.Split(want, "|")...)
			}
			unchanged(t, first, before, "after the second New")
			agenttest.Learn(t, first, w, 1)
			if len(agenttest.Differences(before, agenttest.Snapshot(t, first))) == 0 {
				t.Error("the first agent learns nothing")
			}
			must(t, first.Close())
			check.RefusedAs(newAgent(3, given, nil))(t, "a closed network", "an agent closes its networks")
		})
	}
}
