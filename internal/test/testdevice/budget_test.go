package testdevice_test

import (
	"context"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
)

// traffic is what a budget limits.
type traffic struct{ reads, writes int64 }

// A rollout step is one copy to the device and one back, whatever ends in it, and an update reads its figures at its end and
// nothing before.
func TestBudgets(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			a := v.make(t, v, testdevice.Name(0))
			w := agenttest.NewWorld(v.spaces, agenttest.Seeds(1, envs)...)
			agenttest.Learn(t, a, w, 1)
			for !a.Ready() {
				c := testdevice.During(0, func() {
					if err := agenttest.Step(a, w); err != nil {
						t.Fatal(err)
					}
				})
				if got := (traffic{c.Reads, c.Writes}); got != (traffic{1, 1}) || c.Blocking != 0 {
					t.Errorf("a rollout step has %+v, of which %d writes wait", got, c.Blocking)
				}
			}
			var err error
			c := testdevice.During(0, func() { err = a.Update(context.Background()) })
			t.Logf("%+v", c)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
