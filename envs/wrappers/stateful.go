package wrappers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

// stateful is the part of env's chain that can be saved.
func stateful(env envs.Env) (envs.Stateful, error) {
	s, ok := envs.As[envs.Stateful](env)
	if !ok {
		return nil, fmt.Errorf("wrappers: the state of %T: %w", env, errors.ErrUnsupported)
	}
	return s, nil
}

// supportsInside answers Supports for a wrapper with state of its own.
func supportsInside(env envs.Env, iface any) bool {
	if _, ok := iface.(*envs.Stateful); ok {
		_, ok := envs.As[envs.Stateful](env)
		return ok
	}
	return true
}
