package mujoco

import (
	"math"
	"math/rand/v2"
	"slices"
)

// signals delays actions and observations, adds errors to observations, and counts the steps between pushes.
type signals struct {
	// period is the number of control steps between pushes.
	period int
	// observation and actions are the widths of an observation and of an action.
	observation, actions int
	// spans are the parts of an observation that are delayed or disturbed.
	spans []span
	// sent (N, slots, actions) and seen (N, slots, observation) are rings of the actions and observations of the last
	// control steps. Step k of an episode is in slot k modulo the number of slots. They are nil without delays.
	sent, seen           []float32
	sentSlots, seenSlots int
}

// span is a part of an observation.
type span struct {
	at, width int
	// noise is the largest error.
	noise float64
	// joints is true if the joints' offsets are added, and delayed if the observation delay applies. sent is true for
	// the part that holds the last actions: those that the policy sent, whether or not they have arrived.
	joints, delayed, sent bool
}

// newSignals allocates the rings of n environments.
func newSignals(cfg *RandomizeConfig, n int, parts []part, actions int, dt float64) signals {
	s := signals{actions: actions, period: max(1, int(math.Round(cfg.Push.Seconds/dt)))}
	noise := cfg.ObservationNoise.parts()
	for _, p := range parts {
		part := span{at: s.observation, width: p.width, noise: noise[p.name],
			joints: p.name == "joint_pos" && cfg.JointOffset > 0, sent: p.name == "actions" && cfg.ActionDelay[1] > 0,
			delayed: cfg.ObservationDelay[1] > 0 && !slices.Contains(undelayed, p.name)}
		if part.noise > 0 || part.joints || part.delayed || part.sent {
			s.spans = append(s.spans, part)
		}
		s.observation += p.width
	}
	ring := func(delay, width int) (slots int, ring []float32) {
		if delay == 0 {
			return 0, nil
		}
		return delay + 1, make([]float32, n*(delay+1)*width)
	}
	s.sentSlots, s.sent = ring(cfg.ActionDelay[1], actions)
	s.seenSlots, s.seen = ring(cfg.ObservationDelay[1], s.observation)
	return s
}

// begin clears the actions of the last episode of environment i.
func (s *signals) begin(i int) { clear(row(s.sent, i, s.sentSlots*s.actions)) }

// act stores the action of a step, and returns the action that arrives in this step.
func (r *randomizer) act(s *State, action []float32) []float32 {
	if r == nil || r.signals.sent == nil {
		return action
	}
	g := &r.signals
	ring := row(g.sent, s.Env, g.sentSlots*g.actions)
	copy(row(ring, s.Steps%g.sentSlots, g.actions), action)
	lag := int(r.memoryOf(s.Env)[r.lags])
	return row(ring, (s.Steps-lag+g.sentSlots)%g.sentSlots, g.actions)
}

// disturb moves the targets of the joints by the errors of their encoders, and changes the velocity of the root if a
// push is due. It reports whether the velocity changed.
func (r *randomizer) disturb(s *State, rng *rand.Rand) bool {
	mem := r.memoryOf(s.Env)
	for k, v := range mem[r.offsets:] { // none without JointOffset
		s.Ctrl[k] -= v
	}
	if r.cfg.Push.Seconds == 0 {
		return false
	}
	left := &mem[r.push]
	if *left--; *left > 0 {
		return false
	}
	*left = float64(r.signals.period)
	size := r.strength() * r.cfg.Push.Velocity
	for k := range 2 {
		s.QVel[k] += size * (2*rng.Float64() - 1)
	}
	return size > 0
}

// observe turns the true observation of a step into what the policy sees.
func (r *randomizer) observe(s *State, o []float32, rng *rand.Rand) {
	if r == nil {
		return
	}
	g, mem := &r.signals, r.memoryOf(s.Env)
	strength := r.strength()
	for k := range g.spans {
		p := &g.spans[k]
		values := o[p.at : p.at+p.width]
		if p.joints {
			for j, v := range mem[r.offsets:] {
				values[j] += float32(v)
			}
		}
		if p.sent {
			ring := row(g.sent, s.Env, g.sentSlots*g.actions)
			for j, a := range row(ring, (s.Steps+g.sentSlots-1)%g.sentSlots, g.actions) {
				values[j] = max(-maxAction, min(maxAction, a))
			}
		}
		if size := strength * p.noise; size > 0 {
			for j := range values {
				values[j] += float32(size * (2*rng.Float64() - 1))
			}
		}
	}
	if g.seen == nil {
		return
	}
	ring := row(g.seen, s.Env, g.seenSlots*g.observation)
	if s.Steps == 0 {
		for k := range g.seenSlots {
			copy(row(ring, k, g.observation), o)
		}
		return
	}
	copy(row(ring, s.Steps%g.seenSlots, g.observation), o)
	lag := int(mem[r.lags+1])
	old := row(ring, (s.Steps-lag+g.seenSlots)%g.seenSlots, g.observation)
	for k := range g.spans {
		if p := &g.spans[k]; p.delayed {
			copy(o[p.at:p.at+p.width], old[p.at:p.at+p.width])
		}
	}
}
