package wrappers

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/internal/statecodec"
	"github.com/gorl-dev/gorl/spaces"
)

// TimeLimit truncates the episodes of an [envs.Single] after a number of steps. An episode that terminates in the
// step that reaches the limit is terminated, not truncated, so agents do not bootstrap from its end (Gymnasium
// reports both). All seats whose own episodes go on are truncated with it. TimeLimit is [envs.Stateful] if the
// environment inside is.
type TimeLimit struct {
	// single is the environment inside.
	single envs.Single
	// steps counts the steps of the running episode; it is truncated when they reach limit.
	limit, steps int
	// out is true for seats whose own episodes have ended; nil without seats.
	out []bool
}

// NewTimeLimit returns single with its episodes truncated after limit steps.
func NewTimeLimit(single envs.Single, limit int) (*TimeLimit, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("wrappers: time limit is %d steps; it must be positive", limit)
	}
	return &TimeLimit{single: single, limit: limit, out: make([]bool, len(single.Spaces().Seats))}, nil
}

// Spaces are those of the environment inside.
func (t *TimeLimit) Spaces() spaces.Set { return t.single.Spaces() }

// Unwrap returns the environment inside, see [envs.SingleAs].
func (t *TimeLimit) Unwrap() envs.Single { return t.single }

// Reset starts a new episode of limit steps.
func (t *TimeLimit) Reset(rng *rand.Rand, out envs.Row) error {
	t.steps = 0
	clear(t.out)
	return t.single.Reset(rng, out)
}

// Step steps the environment inside.
func (t *TimeLimit) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	reward, terminated, truncated, err = t.single.Step(action, out)
	if err != nil {
		return 0, false, false, err
	}
	t.steps++
	for i := range t.out {
		t.out[i] = t.out[i] || out.Seats.Terminated[i] || out.Seats.Truncated[i]
	}
	if t.steps >= t.limit && !terminated {
		for i, gone := range t.out {
			out.Seats.Truncated[i] = out.Seats.Truncated[i] || !gone
		}
		truncated = true
	}
	return reward, terminated, truncated, nil
}

// Close closes the environment inside.
func (t *TimeLimit) Close() error { return t.single.Close() }

// Supports reports whether the environment inside is [envs.Stateful].
func (t *TimeLimit) Supports(iface any) bool {
	_, saving := iface.(*envs.Stateful)
	_, saves := envs.SingleAs[envs.Stateful](t.single)
	return saves || !saving
}

// stateful returns the outermost environment inside that can be saved.
func (t *TimeLimit) stateful() envs.Stateful {
	if s, ok := envs.SingleAs[envs.Stateful](t.single); ok {
		return s
	}
	return unsaved{t.single}
}

// header begins a saved state. Its number changes with the format. States of environments with seats have a format of
// their own.
func (t *TimeLimit) header() string {
	if len(t.out) > 0 {
		return "gorl time limit 2"
	}
	return "gorl time limit 1"
}

// MarshalState returns the steps taken and the state of the environment inside.
func (t *TimeLimit) MarshalState() ([]byte, error) {
	return marshal(t.stateful(), t.header(), func(e *statecodec.Encoder) {
		e.Int(t.steps)
		if len(t.out) > 0 {
			e.Bools(t.out)
		}
	})
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (t *TimeLimit) RestoreState(b []byte) error {
	steps, gone := 0, t.out
	err := restore(t.stateful(), t.header(), b, func(d *statecodec.Decoder) {
		// A running episode has at least one step left.
		if steps = d.Int(); steps < 0 || steps >= t.limit {
			d.Fail("%d steps were taken of an episode of at most %d", steps, t.limit)
		}
		if len(t.out) > 0 {
			gone = d.Bools(len(t.out))
		}
	})
	if err == nil { // steps changes only after the environment inside has accepted its state
		t.steps, t.out = steps, gone
	}
	return err
}
