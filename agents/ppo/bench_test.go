package ppo

import (
	"context"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
)

// BenchmarkMasks measures a step of 256 environments with 7 choices, and an update every 16 steps, without action masks
// and with them.
func BenchmarkMasks(b *testing.B) {
	for _, masked := range []bool{false, true} {
		sp := spaces.Set{Observation: spaces.Unbounded(84), Action: spaces.NewDiscrete(7)}
		name := "without"
		if masked {
			sp.ActionMask, name = spaces.NewActionMask(sp.Action), "with"
		}
		b.Run(name, func(b *testing.B) {
			const n = 256
			a, err := New(Options{Spaces: sp, NumEnvs: n, Models: MLPs(sp, []int{64, 64}, "tanh"),
				Dict: map[string]any{"rollouts": 16, "mini_batches": 4, "learning_epochs": 4}})
			if err != nil {
				b.Fatal(err)
			}
			agenttest.Close(b, a)
			w := agenttest.NewWorld(sp, agenttest.Seeds(1, n)...)
			in := w.Now()
			actions, err := a.Act(in)
			if err != nil {
				b.Fatal(err)
			}
			t := w.Clone().Step(actions)
			if err := a.Record(t); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if a.Ready() {
					if err := a.Update(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := a.Act(in); err != nil {
					b.Fatal(err)
				}
				if err := a.Record(t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
