package agents_test

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/tensor"
)

// leaks: the number of tensors is the same after every update, and after Close that of before.
func (x suite) leaks(t *testing.T) {
	before := tensor.Live()
	a := x.unbound(t, 1, nil)
	must(t, a.Bind(rows))
	w := x.world(1)
	live := func() int64 { // with the temporaries of an evaluation's step, which are always as many
		a.SetTraining(false)
		defer a.SetTraining(true)
		if _, err := a.Act(w.Now()); err != nil {
			t.Fatal(err)
		}
		return tensor.Live()
	}
	agenttest.Learn(t, a, w, 2)
	first := live()
	for range 5 {
		agenttest.Learn(t, a, w, 1)
		if n := live(); n != first {
			t.Fatalf("%d tensors are alive after an update, %d were after an earlier one", n, first)
		}
	}
	agenttest.Snapshot(t, a)
	if n := tensor.Live(); n != first {
		t.Errorf("%d tensors are alive after a snapshot, %d were before", n, first)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := tensor.Live(); n != before {
		t.Errorf("%d tensors are alive after Close, %d were before New", n, before)
	}
}
