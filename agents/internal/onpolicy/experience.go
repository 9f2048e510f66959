package onpolicy

import (
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/tensor"
)

// Experience is what a Collector records and a Learner learns from.
//
// Some rows of a rollout show no transition (agents.Transition.Invalid), such as those in which a simulator with
// next-step autoreset resets. They stay in the rollout, because steps are stored for all environments at once.
// Nothing learns from them: neither losses, nor scalers, nor the statistics of advantages, nor AMP's memories. skrl's
// modes learn from them, as skrl does. Idle rows are not learned from either, see turns.go.
type Experience struct {
	// Rollout holds T timesteps; it is nil before Bind.
	Rollout *memory.Rollout

	invalid   []bool        // (T·N), the rows that are not learned from
	idle      []bool        // ((T+1)·N), the rows without a turn, and after them those that follow the last step
	nextObs   tensor.Tensor // (N, O), what follows the last step
	nextState tensor.Tensor // (N, S)
	computed  []string      // the fields that an update computes
}

// lastStep reports whether the step being recorded completes the rollout.
func (x *Experience) lastStep() bool { return x.Rollout.Len()+1 == x.Rollout.Steps() }

// noteMarks stores which rows of the present step are not learned from, and which rows have no turn.
func (x *Experience) noteMarks(t agents.Transition, skrl bool) {
	step, n := x.Rollout.Len(), x.Rollout.Envs()
	row, idle, next := x.invalid[step*n:][:n], x.idle[step*n:][:n], x.idle[(step+1)*n:][:n]
	for _, marks := range [][]bool{row, idle, next} {
		clear(marks)
	}
	if skrl {
		return
	}
	copy(row, t.Invalid)
	copy(idle, t.Idle)
	copy(next, t.NextIdle)
	for i, on := range idle {
		row[i] = row[i] || on
	}
}

// recordedInvalid returns which rows of the steps recorded so far show no transition.
func (x *Experience) recordedInvalid() []bool { return x.invalid[:x.Rollout.Len()*x.Rollout.Envs()] }

// recorded lists the fields of the rollout that snapshots hold.
func (x *Experience) recorded() []string {
	var names []string
	for _, f := range x.Rollout.Fields() {
		if !slices.Contains(x.computed, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// ifAny returns what get returns for a field of the rollout, or a zero Tensor if the rollout has no such field.
func (x *Experience) ifAny(field string, get func(field string) tensor.Tensor) tensor.Tensor {
	if !slices.ContainsFunc(x.Rollout.Fields(), func(f memory.Field) bool { return f.Name == field }) {
		return tensor.Tensor{}
	}
	return get(field)
}

// rows returns the number of rows of the rollout, T·N.
func (x *Experience) rows() int64 { return int64(x.Rollout.Steps() * x.Rollout.Envs()) }

// Valid returns the indices (n) of the rollout's rows that show a transition, or a zero Tensor if all do.
func (x *Experience) Valid(s *tensor.Scope) tensor.Tensor {
	recorded := x.recordedInvalid()
	if !slices.Contains(recorded, true) {
		return tensor.Tensor{}
	}
	return tensor.From(s, unset(len(recorded), func(i int) bool { return recorded[i] }))
}

// unset returns the numbers below n that skip is false for.
func unset(n int, skip func(i int) bool) []int64 {
	list := make([]int64, 0, n)
	for i := range n {
		if !skip(i) {
			list = append(list, int64(i))
		}
	}
	return list
}

// ValidRows returns the rows (n, W) of a field of the rollout that show a transition.
func (x *Experience) ValidRows(s *tensor.Scope, field string) tensor.Tensor {
	return pickRows(s, x.Rollout.Rows(field), x.Valid(s))
}

// ValidOf returns the rows (n, 1) of values (T, N, 1) that show a transition.
func (x *Experience) ValidOf(s *tensor.Scope, values tensor.Tensor) tensor.Tensor {
	return pickRows(s, s.Reshape(values, x.rows(), 1), x.Valid(s))
}

// learnable returns which of the given rows of the rollout show a transition, as positions within rows. It is a zero
// Tensor if all do.
func (x *Experience) learnable(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	if s.Err() != nil || !slices.Contains(x.recordedInvalid(), true) {
		return tensor.Tensor{}
	}
	index := make([]int64, tensor.Size(rows, 0))
	if err := tensor.Read(rows, index); err != nil {
		s.Fail(err)
		return tensor.Tensor{}
	}
	keep := unset(len(index), func(i int) bool { return x.invalid[index[i]] })
	if len(keep) == len(index) {
		return tensor.Tensor{}
	}
	return tensor.From(s, keep)
}

// NextRows returns the observations (T·N, O) and states (T·N, S; a zero Tensor for none) that followed each step of the
// rollout. After the end of an episode they belong to the next episode.
func (x *Experience) NextRows(s *tensor.Scope) (obs, state tensor.Tensor) {
	n := int64(x.Rollout.Envs())
	follow := func(field string, last tensor.Tensor) tensor.Tensor {
		return s.Cat(0, s.Narrow(x.Rollout.Rows(field), 0, n, x.rows()-n), last)
	}
	if x.nextState.T != nil {
		state = follow("states", x.nextState)
	}
	return follow("observations", x.nextObs), state
}

// pickRows returns the rows of x with the given indices, or x itself if the indices are a zero Tensor.
func pickRows(s *tensor.Scope, x, rows tensor.Tensor) tensor.Tensor {
	if rows.T == nil || x.T == nil {
		return x
	}
	return s.IndexSelect(x, 0, rows)
}
