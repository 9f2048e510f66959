package wrappers

import (
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/panics"
)

// singles are the environments of a batch. Their methods call user code, and return an error with the index and type
// of the environment if it fails or panics.
type singles []envs.Single

// as returns environment i as a T, looking through its wrappers. If it is no T, the error wraps errors.ErrUnsupported
// and says what T was needed for.
func as[T any](all singles, i int, what string) (T, error) {
	t, ok := envs.SingleAs[T](all[i])
	if !ok {
		return t, fmt.Errorf("wrappers: %s of environment %d (%T): %w", what, i, all[i], errors.ErrUnsupported)
	}
	return t, nil
}

// every reports whether all environments implement T.
func every[T any](all singles) bool {
	for _, s := range all {
		if _, ok := envs.SingleAs[T](s); !ok {
			return false
		}
	}
	return true
}

// call calls f, a function of environment i. A panic becomes an error that names the environment.
func (all singles) call(i int, f func() error) error {
	var err error
	if v := panics.Catch(func() { err = f() }); v != nil {
		return all.panicked(i, v)
	}
	return all.of(i, err)
}

// of returns an error that names environment i, or nil for nil.
func (all singles) of(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("wrappers: environment %d (%T): %w", i, all[i], err)
}

// panicked returns the error for a panic v of environment i, and fills in v's Env and What.
func (all singles) panicked(i int, v *envs.PanicError) error {
	v.Env, v.What = i, fmt.Sprintf("environment %d (%T)", i, all[i])
	return fmt.Errorf("wrappers: %w", v)
}

// close closes all environments, even if some fail, and returns all errors.
func (all singles) close() error {
	var errs []error
	for i, s := range all {
		errs = append(errs, all.call(i, s.Close))
	}
	return errors.Join(errs...)
}

// callAs calls f with environment i as a T. It returns the error of as or of call.
func callAs[T any](all singles, i int, what string, f func(T) error) error {
	t, err := as[T](all, i, what)
	if err != nil {
		return err
	}
	return all.call(i, func() error { return f(t) })
}

// collect returns what get returns of every environment, which must be a T.
func collect[T any](all singles, what string, get func(T) ([]byte, error)) ([][]byte, error) {
	states := make([][]byte, len(all))
	for i := range all {
		if err := callAs(all, i, what, func(t T) (err error) { states[i], err = get(t); return err }); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// restore puts a state of environment i back.
func (all singles) restore(i int, b []byte) error {
	return callAs(all, i, "the state", func(s envs.Stateful) error { return s.RestoreState(b) })
}

// setCurriculum puts the curriculum of environment i back.
func (all singles) setCurriculum(i int, state []byte) error {
	return callAs(all, i, "the curriculum", func(c envs.Curriculum) error { return c.SetCurriculumState(state) })
}
