package ppo

import (
	"context"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/golden"
	"github.com/gorl-dev/gorl/tensor"
)

// TestGolden replays rollouts that skrl 2.0.0 collected and compares everything that it computed.
func TestGolden(t *testing.T) {
	golden.Each(t, "ppo", func(t *testing.T, c *golden.Case) {
		policy, value := c.Policy(t), c.Network(t, "value")
		a, err := New(Options{Spaces: c.Spaces(), NumEnvs: c.Envs, Models: Models{Policy: policy, Value: value}, Dict: c.Config})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		x := &golden.Subject{Case: c, Agent: a, Policy: policy, Value: value, Rollout: a.learner.Rollout, Flat: a.learner.Flat}
		x.Start(t)
		value.Watch(t)
		compare := golden.NewComparison(t)
		for i := range c.Updates {
			u := &c.Updates[i]
			x.Collect(t, compare, u)
			compareLastValues(t, compare, a, u)
			if err := a.Update(context.Background()); err != nil {
				t.Fatal(err)
			}
			x.Updated(t, compare, u)
		}
	})
}

// compareLastValues compares the values of what followed the rollout, from which the advantages start.
func compareLastValues(t *testing.T, compare *golden.Comparison, a *Agent, u *golden.Update) {
	t.Helper()
	want, ok := u.Targets["gae_next_values"]
	if !ok {
		return
	}
	s := tensor.NoGrad()
	defer s.Close()
	next := u.Rollout["next_observations"]
	last := next.Row(next.Shape[0] - 1)
	got, err := tensor.Float32s(a.learner.ValueOf(s, tensor.From(s, last.Float32s(), int64(last.Shape[0]), int64(last.Shape[1])), tensor.Tensor{}))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(compare, "last values", got, want)
}
