package wrappers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
)

// keeper is embedded in the place of inner by wrappers with state of their own: they can be saved where the environment
// inside can.
type keeper struct{ inner }

// Supports reports whether the environment inside is [envs.Stateful].
func (k keeper) Supports(iface any) bool {
	if _, ok := iface.(*envs.Stateful); ok {
		_, ok := envs.As[envs.Stateful](k.within)
		return ok
	}
	return true
}

// stateful is the part of the chain inside that can be saved.
func (k keeper) stateful() (envs.Stateful, error) {
	s, ok := envs.As[envs.Stateful](k.within)
	if !ok {
		return nil, fmt.Errorf("wrappers: the state of %T: %w", k.within, errors.ErrUnsupported)
	}
	return s, nil
}

// marshal returns what write says of the wrapper, and the state of the environment inside.
func (k keeper) marshal(header string, write func(e *statecodec.Encoder)) ([]byte, error) {
	in, err := k.stateful()
	if err != nil {
		return nil, err
	}
	b, err := in.MarshalState()
	if err != nil {
		return nil, err
	}
	e := statecodec.NewEncoder(header)
	write(e)
	e.Bytes(b)
	return e.State(), nil
}

// restore reads what marshal returned: what read takes of it, then the state of the environment inside, which it puts
// back. Until it has succeeded, read must change nothing.
func (k keeper) restore(header string, b []byte, read func(d *statecodec.Decoder)) error {
	in, err := k.stateful()
	if err != nil {
		return err
	}
	d := statecodec.NewDecoder(header, b)
	read(d)
	state := d.Bytes()
	if err := d.End(); err != nil {
		return fmt.Errorf("wrappers: %w", err)
	}
	return in.RestoreState(state)
}

// latest is embedded in the place of keeper by wrappers that observe by themselves, from the step inside that they saw
// last where nothing inside can show what is present.
type latest struct {
	keeper
	last *envs.Step // nil before the first
}

// present returns the present observations inside; who is the wrapper's name.
func (l *latest) present(who string) (*envs.Step, error) {
	if in, ok := envs.As[envs.Observer](l.within); ok {
		return in.Observe()
	}
	if l.last == nil {
		return nil, fmt.Errorf("wrappers: %s: there is no observation before the first reset", who)
	}
	return l.last, nil
}

// Supports reports whether the environment inside is [envs.Stateful]. The wrapper is an [envs.Observer] around any
// environment but one that can restore its state and not show what follows.
func (l *latest) Supports(iface any) bool {
	if _, ok := iface.(*envs.Observer); ok {
		_, shows := envs.As[envs.Observer](l.within)
		_, restores := envs.As[envs.Stateful](l.within)
		return shows || !restores
	}
	return l.keeper.Supports(iface)
}
