package agents_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/golden"
	"github.com/gorl-dev/gorl/tensor"
)

// remembering lists the networks of a case that have memory.
func (c *goldenCase) remembering() []string {
	if len(c.Hidden) == 0 {
		return nil
	}
	return []string{layout.Policy, layout.Value}
}

// parts is the number of states of a layer: h, and for an LSTM c.
func (c *goldenCase) parts() int {
	if c.Recurrent.Kind == "lstm" {
		return 2
	}
	return 1
}

// hiddenSize is the width of a row of states.
func (c *goldenCase) hiddenSize() int64 {
	return int64(c.parts() * c.Recurrent.Layers * c.Recurrent.HiddenSize)
}

// states brings the states of a network into rows, (N, hiddenSize): those given once, (layers, N, H), or with four
// dimensions (T, N, layers, H) those of step t.
func (c *goldenCase) states(from map[string]golden.Tensor, network string, t int) []float32 {
	n, k, h := c.Envs, c.Recurrent.Layers, c.Recurrent.HiddenSize
	rows := make([]float32, 0, n*int(c.hiddenSize()))
	for env := range n {
		for part := range c.parts() {
			x := from[fmt.Sprintf("%s_%d", network, part)]
			for layer := range k {
				at := (layer*n + env) * h
				if len(x.Shape) == 4 {
					at = ((t*n+env)*k + layer) * h
				}
				for _, v := range x.Data[at : at+h] {
					rows = append(rows, float32(v))
				}
			}
		}
	}
	return rows
}

// compareStates compares the states before step t of the rollout, and behind its end with those stored for the update.
func (x *replay) compareStates(t *testing.T, compare *golden.Comparison, step int, u *goldenUpdate) {
	t.Helper()
	want := func(from map[string]golden.Tensor, network string, steps ...int) golden.Tensor {
		var all golden.Tensor
		for _, i := range steps {
			for _, v := range x.c.states(from, network, i) {
				all.Data = append(all.Data, float64(v))
			}
		}
		return all
	}
	for _, network := range x.c.remembering() {
		snap := agenttest.Snapshot(t, x.agent)
		got, err := snap.Arrays[layout.Hidden(network)].Float32s()
		must(t, err)
		if step < x.c.Steps {
			golden.Compare(compare, fmt.Sprintf("state of %s before step %d", network, step), got, want(u.Before,
				network, step))
			continue
		}
		golden.Compare(compare, "state of "+network+" after the rollout", got, want(u.After, network, 0))
		var starts []int
		for i := 0; i < x.c.Steps; i += x.c.Config["sequence_length"].(int) {
			starts = append(starts, i)
		}
		stored, err := snap.Arrays[layout.Sequences(network)].Float32s()
		must(t, err)
		golden.Compare(compare, "stored states of "+network, stored, want(u.Stored, network, starts...))
	}
}

// compareMinibatches compares the rows of the minibatches, which are time-major here and sequence by sequence in the
// case, by their log-probabilities.
func (x *replay) compareMinibatches(t *testing.T, u *goldenUpdate) {
	t.Helper()
	if u.MinibatchRows == nil || x.c.Algorithm != "ppo_rnn" { // others are shuffled, see shuffle
		return
	}
	s := tensor.NoGrad().On(x.core.Device)
	defer s.Close()
	l, m := x.c.Config["sequence_length"].(int), 0
	recorded, err := tensor.Float32s(x.core.Rollout.Tensor("log_prob"))
	must(t, err)
	for b := range x.core.Epoch(s, 1) { // not the first epoch, in which scalers learn
		got, err := tensor.Float32s(b.LogProb)
		must(t, err)
		rows := u.MinibatchRows[m].Data
		var want []float32
		for step := range l {
			for i := step; i < len(rows); i += l {
				want = append(want, recorded[int(rows[i])])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("minibatch %d has the rows with log-probabilities %v, want %v", m, got, want)
		}
		m++
	}
	if m != len(u.MinibatchRows) {
		t.Errorf("%d minibatches, want %d", m, len(u.MinibatchRows))
	}
}
