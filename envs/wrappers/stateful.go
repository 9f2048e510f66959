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
	return !saving || k.stateful().found() == nil
}

// stateful returns the environment inside as what can be saved.
func (k keeper) stateful() stateful {
	s, _ := envs.As[envs.Stateful](k.within)
	return stateful{s, k.within}
}

// stateful is the outermost environment inside a wrapper that can be saved. Stateful is nil if there is none.
type stateful struct {
	envs.Stateful
	// inside is the environment inside the wrapper, an Env or Single.
	inside any
}

// found returns an error if nothing inside can be saved.
func (s stateful) found() error {
	if s.Stateful == nil {
		return fmt.Errorf("wrappers: the state of %T: %w", s.inside, errors.ErrUnsupported)
	}
	return nil
}

// marshal returns a state: the header, what write adds for the wrapper, and the state of the environment inside.
func (s stateful) marshal(header string, write func(e *statecodec.Encoder)) ([]byte, error) {
	if err := s.found(); err != nil {
		return nil, err
	}
	b, err := s.MarshalState()
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
func (s stateful) restore(header string, b []byte, read func(d *statecodec.Decoder)) error {
	if err := s.found(); err != nil {
		return err
	}
	d := statecodec.NewDecoder(header, b)
	read(d)
	state := d.Bytes()
	if err := d.End(); err != nil {
		return fmt.Errorf("wrappers: %w", err)
	}
	return s.RestoreState(state)
}

// latest is embedded instead of keeper by wrappers that change observations. It gives them what the environment
// inside shows at present, even if nothing inside is an [envs.Observer]: the last step is kept for that.
type latest struct {
	keeper
	// last is the last step of the environment inside, nil before the first. It is valid until the next step.
	last *envs.Step
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
