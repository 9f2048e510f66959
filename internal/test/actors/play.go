package actors

import (
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Played is what an agent in evaluation did: Rows observations a step with their action masks, its actions, and after
// which of them an episode ended (1, not 0).
type Played struct {
	Observations, Masks, Actions []float32
	Ended                        []byte
}

// Play lets an agent act for a number of steps. It is shown what behind makes of the observations, which may change
// them; nil changes nothing. After about every tenth observation the episode ends.
func (c Case) Play(t testing.TB, agent agenttest.Agent, rng *rand.Rand, steps int,
	behind func(rows []float32) []float32) (p Played) {
	t.Helper()
	rows := make([]float32, Rows*c.Spaces.Observation.Width())
	for range steps {
		c.Observations(rng, rows)
		seen := rows
		if behind != nil {
			seen = behind(rows)
		}
		masks := agenttest.Masks(c.Spaces, seen)
		actions := must.Get(agent.Act(agents.Observation{Observations: seen, ActionMasks: masks}))(t)
		p.Observations, p.Actions = append(p.Observations, rows...), append(p.Actions, actions...)
		p.Masks = append(p.Masks, masks...)
		end := agents.Transition{Terminated: make([]bool, Rows), Truncated: make([]bool, Rows)}
		for i := range Rows {
			k := rng.IntN(20)
			end.Terminated[i], end.Truncated[i] = k == 0, k == 1
			p.Ended = append(p.Ended, map[bool]byte{true: 1}[k < 2])
		}
		must.Do(t, agent.Record(end))
	}
	return p
}

// Replay returns what a policy does on the same observations, row i of a step being environment i.
func (p Played) Replay(policy *infer.Policy) (actions []float32, err error) {
	sp := policy.Spaces()
	w, a, k := sp.Observation.Width(), sp.Action.Width(), sp.ActionMask.Width()
	actions = make([]float32, len(p.Actions))
	if err := policy.Reset(); err != nil {
		return nil, err
	}
	for at := 0; at < len(p.Ended); at += Rows {
		if err := policy.ActMasked(p.Observations[at*w:(at+Rows)*w], p.Masks[at*k:(at+Rows)*k], nil,
			actions[at*a:(at+Rows)*a]); err != nil {
			return nil, err
		}
		for i, end := range p.Ended[at : at+Rows] {
			if end == 1 {
				if err := policy.Reset(i); err != nil {
					return nil, err
				}
			}
		}
	}
	return actions, nil
}
