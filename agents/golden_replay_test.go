package agents_test

import (
	"context"
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

// run makes every rollout and update of the case, and compares what they compute. The functions, if not nil, are called
// before and after update i.
func (x *replay) run(t *testing.T, before func(i int), after func(compare *golden.Comparison, i int)) {
	t.Helper()
	x.start(t)
	compare := golden.NewComparison(t)
	for i := range x.c.Updates {
		u := &x.c.Updates[i]
		x.collect(t, compare, u)
		x.shuffle(u)
		if before != nil {
			before(i)
		}
		must(t, x.agent.Update(context.Background()))
		x.updated(t, compare, u, x.agent.Tracked)
		if after != nil {
			after(compare, i)
		}
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
}

// field compares a column of the rollout.
func (x *replay) field(t *testing.T, c *golden.Comparison, name string, want golden.Tensor) {
	t.Helper()
	got := check.Get(tensor.Float32s(x.core.Rollout.Tensor(name)))(t)
	golden.Compare(c, "rollout "+name, got, want)
}
