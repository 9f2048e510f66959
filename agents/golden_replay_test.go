package agents_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// replay is an agent made of a case's networks, with its inside.
type replay struct {
	c      *goldenCase
	agent  onpolicy.Algorithm
	core   onpolicy.Parts
	policy *told
}

// run makes every rollout and update of the case, and compares what they compute. The functions are called before and
// after update i.
func (x *replay) run(t *testing.T, before func(i int), after func(compare *golden.Comparison, i int)) {
	t.Helper()
	x.start(t)
	compare := golden.NewComparison(t)
	for i := range x.c.Updates {
		u := &x.c.Updates[i]
		x.collect(t, compare, u)
		x.shuffle(u)
		x.compareLastValues(t, compare, u)
		before(i)
		must(t, x.agent.Update(context.Background()))
		x.updated(t, compare, u, x.agent.Tracked)
		after(compare, i)
	}
}

// shuffle has the update go through the rows in the case's order.
func (x *replay) shuffle(u *goldenUpdate) {
	batches, at := u.numbered("minibatch_rows"), 0
	if len(batches) == 0 {
		return
	}
	x.core.Shuffle = func(s *tensor.Scope, n int64) tensor.Tensor {
		var order []int64
		for ; int64(len(order)) < n; at++ {
			for _, row := range batches[at].Data {
				order = append(order, int64(row))
			}
		}
		return tensor.From(s, order)
	}
}

// remembering lists the networks of a case that have memory.
func (x *replay) remembering() []string {
	if x.c.Recurrent == (models.RecurrentLayer{}) {
		return nil
	}
	return []string{layout.Policy, layout.Value}
}

// start puts the agent into the case's first state, by way of a snapshot.
func (x *replay) start(t *testing.T) {
	t.Helper()
	snap := agenttest.Snapshot(t, x.agent)
	for name, want := range x.c.Init.under("init/") {
		if strings.HasPrefix(name, "rnn_") {
			continue
		}
		a, ok := snap.Arrays[name]
		if !ok || a.Len() != int64(len(want.Data)) {
			t.Fatalf("%s has %d values in the case, %d in the agent", name, len(want.Data), a.Len())
		}
		if a.DType == checkpoint.F32 {
			snap.Arrays[name] = checkpoint.ArrayFloat32(a.Shape, want.Float32s())
		} else {
			snap.Arrays[name] = checkpoint.ArrayFloat64(a.Shape, want.Data)
		}
	}
	for _, network := range x.remembering() {
		rows := x.c.states(x.c.Init, "init/rnn_"+network, 0)
		snap.Arrays[layout.Hidden(network)] = checkpoint.ArrayFloat32([]int64{int64(x.c.envs),
			int64(len(rows) / x.c.envs)}, rows)
	}
	snap.Values[layout.Timestep] = int64(x.c.WarmSteps)
	must(t, x.agent.Restore(snap))
}

// collect replays a rollout and compares what acting and recording computed.
func (x *replay) collect(t *testing.T, c *golden.Comparison, u *goldenUpdate) {
	t.Helper()
	row := func(name string, i int) golden.Tensor { return u.arrays["rollout/"+name].Row(i) }
	for i := range x.c.steps {
		for _, network := range x.remembering() {
			got := check.Get(agenttest.Snapshot(t, x.agent).Arrays[layout.Hidden(network)].Float32s())(t)
			x.compareStates(c, fmt.Sprintf("state of %s before step %d", network, i), got, u,
				"rollout/rnn_"+network+"_before", i)
		}
		x.policy.next = row("actions", i).Float32s()
		check.Get(x.agent.Act(agents.Observation{Observations: row("observations", i).Float32s()}))(t)
		step := agents.Transition{Rewards: row("rewards_env", i).Float32s(), Terminated: row("terminated", i).Bools(),
			Truncated: row("truncated", i).Bools(), NextObservations: row("next_observations", i).Float32s()}
		if x.c.Algorithm == "amp" {
			step.AMPObservations = row("amp_observations", i).Float32s()
		}
		must(t, x.agent.Record(step))
	}
	x.compareRollout(t, c, u)
}

// compareRollout compares what acting and recording have computed.
func (x *replay) compareRollout(t *testing.T, c *golden.Comparison, u *goldenUpdate) {
	t.Helper()
	x.field(t, c, "log_prob", u.arrays["rollout/log_prob"])
	x.field(t, c, "values", u.arrays["rollout/values"])
	for name, want := range u.under("memory/") {
		if !strings.HasPrefix(name, "rnn_") {
			x.field(t, c, name, want)
		}
	}
	for _, network := range x.remembering() {
		snap := agenttest.Snapshot(t, x.agent)
		got := check.Get(snap.Arrays[layout.Hidden(network)].Float32s())(t)
		x.compareStates(c, "state of "+network+" after the rollout", got, u, "expect/rnn_"+network, 0)
		stored := check.Get(snap.Arrays[layout.Sequences(network)].Float32s())(t)
		var starts []int
		for i := 0; i < x.c.steps; i += x.c.Config["sequence_length"].(int) {
			starts = append(starts, i)
		}
		x.compareStates(c, "stored states of "+network, stored, u, "memory/rnn_"+network, starts...)
	}
}

// compareStates compares states with those of an update's arrays at some steps.
func (x *replay) compareStates(c *golden.Comparison, what string, got []float32, u *goldenUpdate, kind string,
	steps ...int) {
	var want golden.Tensor
	for _, i := range steps {
		for _, v := range x.c.states(u.arrays, kind, i) {
			want.Data = append(want.Data, float64(v))
		}
	}
	golden.Compare(c, what, got, want)
}

// compareMinibatches compares the rows of the minibatches, which are time-major here and sequence by sequence in the
// case, by their log-probabilities.
func (x *replay) compareMinibatches(t *testing.T, u *goldenUpdate) {
	t.Helper()
	batches := u.numbered("minibatch_rows")
	if batches == nil || x.c.Algorithm != "ppo_rnn" { // others are shuffled, see shuffle
		return
	}
	s := tensor.NoGrad().On(x.core.Device)
	defer s.Close()
	l, m := x.c.Config["sequence_length"].(int), 0
	recorded := check.Get(tensor.Float32s(x.core.Rollout.Tensor("log_prob")))(t)
	for b := range x.core.Epoch(s, 1) { // not the first epoch, in which scalers learn
		got := check.Get(tensor.Float32s(b.LogProb))(t)
		rows := batches[m].Data
		var want []float32
		for step := range l {
			for i := step; i < len(rows); i += l {
				want = append(want, recorded[int(rows[i])])
			}
		}
		check.Same(t, got, want, "log-probabilities of minibatch %d", m)
		m++
	}
	check.Is(t, m, len(batches), "number of minibatches")
}

// compareLastValues compares the values of what followed the rollout, from which the advantages start.
func (x *replay) compareLastValues(t *testing.T, compare *golden.Comparison, u *goldenUpdate) {
	t.Helper()
	want, ok := u.arrays["expect/last_values"]
	if !ok {
		want, ok = u.arrays["expect/gae_next_values"]
	}
	next := u.arrays["rollout/next_observations"]
	if !ok || want.Shape[0] != next.Shape[1] { // skrl 2.0's AMP: the values of all steps, compared in the rollout
		return
	}
	s := tensor.NoGrad().On(x.core.Device)
	defer s.Close()
	last := next.Row(next.Shape[0] - 1)
	observations := tensor.From(s, last.Float32s(), int64(last.Shape[0]), int64(last.Shape[1]))
	var states tensor.Tensor
	if all, ok := u.arrays["rollout/next_states"]; ok {
		last := all.Row(all.Shape[0] - 1)
		states = tensor.From(s, last.Float32s(), int64(last.Shape[0]), int64(last.Shape[1]))
	}
	got := check.Get(tensor.Float32s(x.core.ValuesOf(s, x.core.Estimator, observations, states)))(t)
	golden.Compare(compare, "last values", got, want)
}

// field compares a column of the rollout.
func (x *replay) field(t *testing.T, c *golden.Comparison, name string, want golden.Tensor) {
	t.Helper()
	got := check.Get(tensor.Float32s(x.core.Rollout.Tensor(name)))(t)
	golden.Compare(c, "rollout "+name, got, want)
}
