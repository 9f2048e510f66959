package golden

import (
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/tensor"
)

// Agent is an agent that says its learning rate.
type Agent interface {
	agents.Agent
	agents.Tracker
	agents.Tunable
	agents.Snapshotter
	LearningRate() float64
}

// Subject is an agent made of a case's [Policy] and a value [Network].
type Subject struct {
	Case    *Case
	Agent   Agent
	Policy  *Policy
	Value   *Network
	Rollout *memory.Rollout
	Flat    *tensor.Flat
}

// Start puts the agent into the case's first state, by way of a snapshot.
func (x *Subject) Start(t *testing.T) {
	t.Helper()
	snap := x.snapshot(t)
	for name, want := range x.Case.Init {
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
	for _, e := range x.Flat.Entries() {
		if _, ok := x.Case.Init[e.Name]; !ok {
			t.Fatalf("the case has no initial %s", e.Name)
		}
	}
	must(t, x.Agent.Restore(snap))
}

func fit[T any](t *testing.T, name string, values []T, n int64) []T {
	t.Helper()
	if int64(len(values)) != n {
		t.Fatalf("%s has %d values in the case, %d in the agent", name, len(values), n)
	}
	return values
}

func (x *Subject) snapshot(t *testing.T) *checkpoint.Snapshot {
	t.Helper()
	snap, err := x.Agent.Snapshot(agents.SnapshotOptions{})
	must(t, err)
	return snap
}

// Collect replays a rollout and compares what acting and recording computed.
func (x *Subject) Collect(t *testing.T, c *Comparison, u *Update) {
	t.Helper()
	row := func(name string, i int) []float32 { return u.Rollout[name].Row(i).Float32s() }
	for i := range x.Case.Steps {
		x.Policy.next = row("actions", i)
		if _, err := x.Agent.Act(agents.Observation{Observations: row("observations", i)}); err != nil {
			t.Fatal(err)
		}
		step := agents.Transition{
			Rewards: row("rewards_env", i), Terminated: u.Rollout["terminated"].Row(i).Bools(), Truncated: u.Rollout["truncated"].Row(i).Bools(),
			NextObservations: row("next_observations", i),
		}
		if _, ok := u.Rollout["amp_observations"]; ok {
			step.AMPObservations = row("amp_observations", i)
		}
		must(t, x.Agent.Record(step))
	}
	if !x.Agent.Ready() {
		t.Fatal("after a whole rollout the agent is not ready to update")
	}
	x.field(t, c, "log_prob", u.Rollout["log_prob"])
	x.field(t, c, "values", u.Rollout["values"])
	for _, name := range sortedKeys(u.Memory) {
		x.field(t, c, name, u.Memory[name])
	}
}

// field compares a column of the rollout.
func (x *Subject) field(t *testing.T, c *Comparison, name string, want Tensor) {
	t.Helper()
	got, err := tensor.Float32s(x.Rollout.Tensor(name))
	must(t, err)
	Compare(c, "rollout "+name, got, want)
}
