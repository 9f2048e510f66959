package agents_test

import (
	"context"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/golden"
	"github.com/gorl-dev/gorl/tensor"
)

// replay is an agent made of a case's networks, with its inside.
type replay struct {
	c      *goldenCase
	agent  onpolicy.Algorithm
	core   onpolicy.Parts
	policy *told
	value  *watched
}

// run makes every rollout and update of the case, and compares what they compute. The functions are called before and
// after update i.
func (x *replay) run(t *testing.T, before, after func(compare *golden.Comparison, i int)) {
	t.Helper()
	x.start(t)
	x.value.watch(t)
	compare := golden.NewComparison(t)
	for i := range x.c.Updates {
		u := &x.c.Updates[i]
		x.collect(t, compare, u)
		x.shuffle(u)
		before(compare, i)
		must(t, x.agent.Update(context.Background()))
		x.updated(t, compare, u)
		after(compare, i)
	}
}

// shuffle has the update go through the rows in the case's order.
func (x *replay) shuffle(u *goldenUpdate) {
	if len(u.MinibatchRows) == 0 {
		return
	}
	at := 0
	x.core.Shuffle = func(s *tensor.Scope, n int64) tensor.Tensor {
		var order []int64
		for ; int64(len(order)) < n; at++ {
			for _, row := range u.MinibatchRows[at].Data {
				order = append(order, int64(row))
			}
		}
		return tensor.From(s, order)
	}
}

// start puts the agent into the case's first state, by way of a snapshot.
func (x *replay) start(t *testing.T) {
	t.Helper()
	snap := x.snapshot(t)
	for name, want := range x.c.Init {
		a, ok := snap.Arrays[name]
		if !ok {
			t.Fatalf("the agent has no %s", name)
		}
		switch a.DType {
		case checkpoint.F32:
			snap.Arrays[name] = checkpoint.ArrayFloat32(a.Shape, fit(t, name, want.Float32s(), a.Len()))
		case checkpoint.F64:
			snap.Arrays[name] = checkpoint.ArrayFloat64(a.Shape, fit(t, name, want.Data, a.Len()))
		default:
			t.Fatalf("%s is of type %s", name, a.DType)
		}
	}
	for _, e := range x.core.Flat.Entries() {
		if _, ok := x.c.Init[e.Name]; !ok {
			t.Fatalf("the case has no initial %s", e.Name)
		}
	}
	for _, network := range x.c.remembering() {
		snap.Arrays[layout.Hidden(network)] = checkpoint.ArrayFloat32([]int64{int64(x.c.Envs), x.c.hiddenSize()},
			x.c.states(x.c.Hidden, network, 0))
	}
	snap.Values[layout.Timestep] = int64(x.c.WarmSteps)
	must(t, x.agent.Restore(snap))
}

func fit[T any](t *testing.T, name string, values []T, n int64) []T {
	t.Helper()
	if int64(len(values)) != n {
		t.Fatalf("%s has %d values in the case, %d in the agent", name, len(values), n)
	}
	return values
}

func (x *replay) snapshot(t *testing.T) *checkpoint.Snapshot {
	t.Helper()
	snap, err := x.agent.Snapshot(agents.SnapshotOptions{})
	must(t, err)
	return snap
}

// collect replays a rollout and compares what acting and recording computed.
func (x *replay) collect(t *testing.T, c *golden.Comparison, u *goldenUpdate) {
	t.Helper()
	row := func(name string, i int) []float32 { return u.Rollout[name].Row(i).Float32s() }
	for i := range x.c.Steps {
		x.compareStates(t, c, i, u)
		x.policy.next = row("actions", i)
		if _, err := x.agent.Act(agents.Observation{Observations: row("observations", i)}); err != nil {
			t.Fatal(err)
		}
		step := agents.Transition{
			Rewards: row("rewards_env", i), Terminated: u.Rollout["terminated"].Row(i).Bools(),
			Truncated:        u.Rollout["truncated"].Row(i).Bools(),
			NextObservations: row("next_observations", i),
		}
		if _, ok := u.Rollout["amp_observations"]; ok {
			step.AMPObservations = row("amp_observations", i)
		}
		must(t, x.agent.Record(step))
	}
	x.compareStates(t, c, x.c.Steps, u)
	if !x.agent.Ready() {
		t.Fatal("after a whole rollout the agent is not ready to update")
	}
	x.field(t, c, "log_prob", u.Rollout["log_prob"])
	x.field(t, c, "values", u.Rollout["values"])
	for _, name := range sortedKeys(u.Memory) {
		x.field(t, c, name, u.Memory[name])
	}
}

// field compares a column of the rollout.
func (x *replay) field(t *testing.T, c *golden.Comparison, name string, want golden.Tensor) {
	t.Helper()
	got, err := tensor.Float32s(x.core.Rollout.Tensor(name))
	must(t, err)
	golden.Compare(c, "rollout "+name, got, want)
}
