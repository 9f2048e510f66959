package wrappers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/spaces"
)

// keeper is embedded instead of inner by wrappers with a state of their own. Such a wrapper can be saved if the
// environment inside can.
type keeper struct{ inner }

// Supports reports whether the environment inside is [envs.Stateful].
func (k keeper) Supports(iface any) bool {
	_, saving := iface.(*envs.Stateful)
	_, saves := envs.As[envs.Stateful](k.within)
	return saves || !saving
}

// stateful returns the outermost environment inside that can be saved.
func (k keeper) stateful() envs.Stateful {
	if s, ok := envs.As[envs.Stateful](k.within); ok {
		return s
	}
	return unsaved{k.within}
}

// unsaved stands for an environment (an Env or Single) in which nothing can be saved.
type unsaved struct{ inside any }

func (u unsaved) MarshalState() ([]byte, error) { return nil, u.RestoreState(nil) }

func (u unsaved) RestoreState([]byte) error {
	return fmt.Errorf("wrappers: the state of %T: %w", u.inside, errors.ErrUnsupported)
}

// marshal returns a state: the header, what write adds for the wrapper, and the state of the environment inside.
func marshal(inside envs.Stateful, header string, write func(e *statecodec.Encoder)) ([]byte, error) {
	b, err := inside.MarshalState()
	if err != nil {
		return nil, err
	}
	e := statecodec.NewEncoder(header)
	write(e)
	e.Bytes(b)
	return e.State(), nil
}

// restore reads a state that marshal returned, and restores the environment inside. read takes the wrapper's part
// into variables of its own; the wrapper takes them over only after restore has succeeded.
func restore(inside envs.Stateful, header string, b []byte, read func(d *statecodec.Decoder)) error {
	d := statecodec.NewDecoder(header, b)
	read(d)
	state := d.Bytes()
	if err := d.End(); err != nil {
		return fmt.Errorf("wrappers: %w", err)
	}
	return inside.RestoreState(state)
}

// latest is embedded instead of keeper by wrappers that change observations. It gives them what the environment
// inside shows at present, even if nothing inside is an [envs.Observer]: the last step is kept for that.
type latest struct {
	keeper
	// last is the last step of the environment inside, nil before the first. It is valid until the next step.
	last *envs.Step
	// set are the spaces of the wrapper.
	set spaces.Set
	// step is what the wrapper returns. observed and finals (N, O) are its observations and final observations.
	step             envs.Step
	observed, finals []float32
}

// newLatest returns a latest for a wrapper with the spaces set.
func newLatest(env envs.Env, set spaces.Set) latest {
	n := env.NumEnvs() * set.Observation.Width()
	return latest{keeper: keeper{inner{env}}, set: set, observed: make([]float32, n), finals: make([]float32, n)}
}

// Spaces are those of the environment inside with the observations, and states, that the wrapper returns.
func (l *latest) Spaces() spaces.Set { return l.set }

// show returns the step s of the environment inside with the observations that change writes into out, and the final
// observations that the wrapper has written into finals.
func (l *latest) show(s *envs.Step, change func(out, rows []float32)) *envs.Step {
	l.last, l.step = s, *s
	change(l.observed, s.Observations)
	l.step.Observations = l.observed
	if s.FinalObservations != nil {
		l.step.FinalObservations = l.finals
	}
	return &l.step
}

// present returns what the environment inside shows to act on next, and nothing of how it came about. who is the
// wrapper's name, for errors.
func (l *latest) present(who string) (*envs.Step, error) {
	if in, ok := envs.As[envs.Observer](l.within); ok {
		return in.Observe()
	}
	s := l.last
	if s == nil {
		return nil, fmt.Errorf("wrappers: %s: there is no observation before the first reset", who)
	}
	return &envs.Step{Observations: s.Observations, States: s.States, ActionMasks: s.ActionMasks,
		Seats: spaces.SeatStep{Active: s.Seats.Active}}, nil
}

// Supports reports whether the environment inside is [envs.Stateful]. The wrapper is an [envs.Observer], with one
// exception: an environment that can restore its state but cannot show its observations. After a restore the last
// step would be that of before.
func (l *latest) Supports(iface any) bool {
	if _, ok := iface.(*envs.Observer); ok {
		_, shows := envs.As[envs.Observer](l.within)
		_, restores := envs.As[envs.Stateful](l.within)
		return shows || !restores
	}
	return l.keeper.Supports(iface)
}
