package testdevice_test

import (
	"context"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/internal/devicename"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
)

// traffic is what passes between the host and a device.
type traffic struct{ reads, writes, blocking int64 }

// between returns the traffic while f runs.
func between(t *testing.T, f func() error) traffic {
	t.Helper()
	var err error
	c := testdevice.During(0, func() { err = f() })
	must.Do(t, err)
	return traffic{c.Reads, c.Writes, c.Blocking}
}

// withGraphs are the variants with cuda_graphs whose minibatches can be recorded.
func withGraphs() (list []variant) {
	for _, v := range variants {
		if recorded(v) {
			v.name += ", with graphs"
			list = append(list, v.with(map[string]any{"cuda_graphs": true}))
		}
	}
	return list
}

// A rollout step is one copy to the device and one back, whatever ends in it, and so is a step of evaluation. An update
// reads its figures at its end and nothing before, but what a schedule asks for; AMP's writes new reference motion, and
// with graphs each optimizer step what it depends on. No write waits.
func TestBudgets(t *testing.T) {
	stopped := variant{name: "ppo, stopped by the divergence", spaces: rows, ppo: ppoMLPs,
		settings: map[string]any{"kl_threshold": 1e3}}
	for _, v := range slices.Concat([]variant{stopped}, variants, withGraphs()) {
		t.Run(v.name, func(t *testing.T) {
			a := v.make(t, testdevice.Name(0))
			w := v.world()
			agenttest.Learn(t, a, w, 1)
			wait := a.(agents.Overlapping).Wait
			must.Do(t, wait(context.Background()))
			ended := w.Ended
			for !a.Ready() {
				if got := between(t, func() error { return agenttest.Step(a, w) }); got != (traffic{1, 1, 0}) {
					t.Errorf("a rollout step has %+v", got)
				}
			}
			if w.Ended == ended {
				t.Error("no episode ended")
			}
			want := traffic{reads: 1}
			switch {
			case v.settings["learning_rate_scheduler"] != nil:
				want.reads += 2 // one an epoch
			case v.settings["kl_threshold"] != nil:
				want.reads += 4 // one a minibatch
			}
			if v.amp != nil {
				want.writes = 1
			}
			if v.settings["cuda_graphs"] == true || devicename.Graphs && recorded(v) {
				want.writes += 4 // one a minibatch
				if v.settings["discriminator_optimizer"] == "separate" {
					want.writes += 4
				}
			}
			update := func() error {
				if err := a.Update(context.Background()); err != nil {
					return err
				}
				return wait(context.Background())
			}
			if got := between(t, update); got != want {
				t.Errorf("an update has %+v, want %+v", got, want)
			}
			a.SetTraining(false)
			for range 2 {
				got := between(t, func() error { _, err := a.Act(w.Now()); return err })
				if got.reads != 1 || got.writes > 1 || got.blocking != 0 { // Record may have sent the observations
					t.Errorf("a step of evaluation has %+v", got)
				}
			}
		})
	}
}

// The launches of a minibatch. docs/performance.md has them; what makes them more has a reason. With graphs they are a
// copy of the row numbers and a replay, of so many launches.
func TestLaunches(t *testing.T) {
	testdevice.SkipWithGraphs(t, "it compares agents without")
	limits := map[string][2]int64{"ppo": {124, 0}, "amp": {288, 0}, "ppo, with graphs": {2, 139},
		"amp, with graphs": {2, 305}}
	for _, v := range append(withGraphs(), variants...) {
		limit, ok := limits[v.name]
		if !ok {
			continue
		}
		launches := func(miniBatches int) int64 {
			settings := map[string]any{"mini_batches": miniBatches, "learning_epochs": 1}
			a, w := v.with(settings).make(t, testdevice.Name(0)), v.world()
			agenttest.Learn(t, a, w, 1)
			agenttest.Fill(t, a, w)
			done := testdevice.During(0, func() { must.Do(t, a.Update(t.Context())) })
			if done.Captured > limit[1] {
				t.Errorf("%s: a replay has %d launches, more than %d", v.name, done.Captured, limit[1])
			}
			return done.Launches
		}
		two, four := launches(2), launches(4)
		if each := (four - two) / 2; each > limit[0] {
			t.Errorf("%s: %d launches for each minibatch, want at most %d", v.name, each, limit[0])
		} else {
			t.Logf("%s: %d launches for each minibatch, %d for the rest of the update", v.name, each, two-2*each)
		}
	}
}
