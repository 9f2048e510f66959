package agents_test

import (
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
	newAgent := func(seed int64, m amp.Models, more map[string]any) (onpolicy.Algorithm, error) {
		if m.Discriminator == nil {
			return ppo.New(ppo.Options{Spaces: sp, NumEnvs: rows, Seed: seed, Dict: both(more, map[string]any{
				"rollouts": 4}), Models: ppo.Models{Policy: m.Policy, Value: m.Value}})
		}
		dict := both(more, map[string]any{"rollouts": 4, "mini_batches": 2, "amp_batch_size": 8,
			"motion_dataset_size": 20, "reply_buffer_size": 20, "separate_critics": true})
		return amp.New(amp.Options{Spaces: sp, NumEnvs: rows, Seed: seed, Models: m, Dict: dict,
			Motions: &agenttest.Motion{Width: 3, Mean: 0.7, Space: sp.AMPObservation}})
	}
	policy := func(from, to *amp.Models) { to.Policy.Close(); to.Policy = from.Policy }
	for name, share := range map[string]func(from, to *amp.Models){
		"policy of PPO": policy, "policy": policy,
		"discriminator": func(from, to *amp.Models) { to.Discriminator.Close(); to.Discriminator = from.Discriminator },
		"style_value":   func(from, to *amp.Models) { to.StyleValue.Close(); to.StyleValue = from.StyleValue },
	} {
		t.Run(name, func(t *testing.T) {
			network, ofPPO := strings.CutSuffix(name, " of PPO")
			make := func(seed int64) (m amp.Models) {
				if !ofPPO {
					return check.Get(ampMLPs(sp).Make(seed))(t)
				}
				var err error
				m.Policy, m.Value, err = ppoMLPs(sp).Make(seed)
				must(t, err)
				return m
			}
			given := make(1)
			first := check.Get(newAgent(1, given, nil))(t)
			w := agenttest.NewWorld(sp, agenttest.Seeds(1, rows)...)
			agenttest.Learn(t, first, w, 1)
			before := agenttest.Snapshot(t, first)
			second := func(mistake map[string]any) error {
				own := make(2)
				share(&given, &own)
				_, err := newAgent(2, own, mistake)
				return err
			}
			check.RefuseAs(t, name, second(nil), network+" network was given to two agents", "agent with seed 1",
				"agent with seed 2", "build one network for each agent")
			// Other mistakes must not close the networks, either.
			check.RefuseAs(t, name, second(map[string]any{"no_such_key": 1}), "no_such_key")
			unchanged(t, first, before, "after the second New")
			agenttest.Learn(t, first, w, 1)
			must(t, first.Close())
			check.RefusedAs(newAgent(3, given, nil))(t, "a closed network", "an agent closes its networks")
		})
	}
}
