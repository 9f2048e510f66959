package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
)

// lender makes agents with networks that were made before. Two agents share one of them.
type lender struct {
	network string // that they share
	new     func(seed int64, m amp.Models, settings map[string]any) (onpolicy.Algorithm, error)
	make    func(seed int64) (amp.Models, error)
	share   func(from, to *amp.Models)
}

func lenders() (all []lender) {
	three := spaces.Unbounded(3)
	sp := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewDiscrete(3), AMPObservation: three}
	small := map[string]any{"rollouts": 4, "mini_batches": 2}
	newPPO := func(seed int64, m amp.Models, settings map[string]any) (onpolicy.Algorithm, error) {
		return ppo.New(ppo.Options{Spaces: sp, NumEnvs: rows, Seed: seed, Dict: both(settings, small),
			Models: ppo.Models{Policy: m.Policy, Value: m.Value}})
	}
	type maker func(seed int64, m amp.Models, settings map[string]any) (onpolicy.Algorithm, error)
	newAMP := func(more map[string]any) maker {
		memories := map[string]any{"amp_batch_size": 8, "motion_dataset_size": 20, "reply_buffer_size": 20}
		small := both(more, both(small, memories))
		return func(seed int64, m amp.Models, settings map[string]any) (onpolicy.Algorithm, error) {
			return amp.New(amp.Options{Spaces: sp, NumEnvs: rows, Seed: seed, Models: m, Dict: both(settings, small),
				Motions: &agenttest.Motion{Width: 3, Mean: 0.7, Space: sp.AMPObservation}})
		}
	}
	skills := newAMP(map[string]any{"latent_size": 2, "diversity_loss_scale": 0})
	critics := newAMP(map[string]any{"separate_critics": true})
	perceptrons := func(seed int64) (m amp.Models, err error) {
		m.Policy, m.Value, err = ppoMLPs(sp).Make(seed)
		return m, err
	}
	trunk := func(seed int64) (m amp.Models, err error) {
		m.Policy, m.Value, err = ppoSharedLSTM(sp).Make(seed)
		return m, err
	}
	policy := func(from, to *amp.Models) { to.Policy.Close(); to.Policy = from.Policy }
	value := func(from, to *amp.Models) { to.Value.Close(); to.Value = from.Value }
	return []lender{
		{"policy", newPPO, perceptrons, policy},
		{"policy", newPPO, trunk, func(from, to *amp.Models) { policy(from, to); value(from, to) }},
		{"discriminator", skills, ampSkills(sp).Make,
			func(from, to *amp.Models) { to.Discriminator.Close(); to.Discriminator = from.Discriminator }},
		{"style_value", critics, ampMLPs(sp).Make,
			func(from, to *amp.Models) { to.StyleValue.Close(); to.StyleValue = from.StyleValue }},
	}
}

// A network belongs to one agent: the second New is an error that names both agents, and the first agent learns on.
func TestNetworkBelongsToOneAgent(t *testing.T) {
	for i, l := range lenders() {
		t.Run(fmt.Sprint(i, l.network), func(t *testing.T) {
			agenttest.CheckLive(t)
			given, err := l.make(1)
			must(t, err)
			first, err := l.new(1, given, nil)
			must(t, err)
			w := agenttest.NewWorld(first.Spaces(), agenttest.Seeds(1, rows)...)
			agenttest.Learn(t, first, w, 1)
			before := agenttest.Snapshot(t, first)
			// Other mistakes must not close the networks, either.
			for _, settings := range []map[string]any{nil, {"no_such_key": 1}} {
				own, err := l.make(2)
				must(t, err)
				l.share(&given, &own)
				_, err = l.new(2, own, settings)
				if err == nil {
					t.Fatalf("a second agent was made of the %s network", l.network)
				}
				if settings == nil {
					for _, part := range []string{l.network + " network was given to two agents", "agent with seed 1",
						"agent with seed 2", "build one network for each agent"} {
						if !strings.Contains(err.Error(), part) {
							t.Errorf("%v\n does not say %q", err, part)
						}
					}
				}
			}
			unchanged(t, first, before, "after the second New")
			agenttest.Learn(t, first, w, 1)
			if len(agenttest.Differences(before, agenttest.Snapshot(t, first))) == 0 {
				t.Error("the first agent learns nothing")
			}
			must(t, first.Close())
			if _, err := l.new(3, given, nil); err == nil || !strings.Contains(err.Error(),
				"an agent closes its networks") {
				t.Errorf("a closed network: %v", err)
			}
		})
	}
}
