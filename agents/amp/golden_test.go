package amp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/golden"
	"github.com/gorl-dev/gorl/tensor"
)

// TestGolden replays rollouts that skrl 2.0.0 collected, with the minibatches of motion that it drew, and compares
// everything that it computed.
func TestGolden(t *testing.T) {
	golden.Each(t, "amp", func(t *testing.T, c *golden.Case) {
		policy, value, discriminator := c.Policy(t), c.Network(t, "value"), c.Network(t, "discriminator")
		a, err := New(Options{
			Spaces: c.Spaces(), NumEnvs: c.Envs, Dict: c.Config, Motions: stillness(c.AMPObservationSize),
			Models: Models{Policy: policy, Value: value, Discriminator: discriminator},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		rows := &recorded{t: t}
		a.learner.draw = rows
		x := &golden.Subject{Case: c, Agent: a, Policy: policy, Value: value, Rollout: a.learner.Rollout, Flat: a.learner.Flat}
		x.Start(t)
		value.Watch(t)
		discriminator.Watch(t)
		compare := golden.NewComparison(t)
		for i := range c.Updates {
			u := &c.Updates[i]
			x.Collect(t, compare, u)
			rows.update = u
			discriminator.Outputs = nil
			if err := a.Update(context.Background()); err != nil {
				t.Fatal(err)
			}
			x.Updated(t, compare, u)
			compareEntropies(compare, discriminator, u)
			compareReplay(t, compare, a, c.Updates[:i+1])
		}
	})
}

// recorded hands out the rows that skrl drew.
type recorded struct {
	t      *testing.T
	update *golden.Update
}

func (r *recorded) begin(*tensor.Scope) {}

func (r *recorded) motionRows(s *tensor.Scope, index int, _ int64) tensor.Tensor {
	return r.rows(s, r.update.MotionBatches, index)
}

func (r *recorded) replayRows(s *tensor.Scope, index int, _ int64) tensor.Tensor {
	if r.update.ReplayBatches == nil {
		return tensor.Tensor{}
	}
	return r.rows(s, r.update.ReplayBatches, index)
}

func (r *recorded) rows(s *tensor.Scope, batches []golden.Tensor, index int) tensor.Tensor {
	if index >= len(batches) {
		r.t.Errorf("minibatch %d is asked for, the case has %d", index, len(batches))
		return tensor.Tensor{}
	}
	x := batches[index]
	return tensor.From(s, x.Float32s(), int64(x.Shape[0]), int64(x.Shape[1]))
}

// stillness is a source of reference motion that the recorded minibatches make unimportant.
type stillness int

func (w stillness) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) {
	return make([]float32, n*int(w)), nil
}

// compareEntropies compares, step by step, the binary cross-entropy of the discriminator's two passes: policy and
// replay, and motion.
func compareEntropies(compare *golden.Comparison, discriminator *golden.Network, u *golden.Update) {
	for i, step := range u.Trace {
		for pass, want := range step.BCE {
			sum, logits := 0.0, discriminator.Outputs[2*i+pass]
			for _, l := range logits {
				if pass == 1 {
					l = -l
				}
				sum += math.Log1p(math.Exp(float64(l)))
			}
			compare.Scalar(fmt.Sprintf("cross-entropy %d of step %d", pass, i), sum/float64(len(logits)), want)
		}
	}
}

// compareReplay compares the replay buffer with the AMP observations of all rollouts so far.
func compareReplay(t *testing.T, compare *golden.Comparison, a *Agent, updates []golden.Update) {
	t.Helper()
	var want golden.Tensor
	for _, u := range updates {
		want.Data = append(want.Data, u.Rollout["amp_observations"].Data...)
	}
	if got := a.learner.replay.Len() * int64(a.Spaces().AMPObservation.Width()); got != int64(len(want.Data)) {
		t.Errorf("the replay buffer holds %d values, want %d", got, len(want.Data))
		return
	}
	s := tensor.NoGrad()
	defer s.Close()
	got, err := tensor.Float32s(s.Contiguous(s.Narrow(a.learner.replay.Data(), 0, 0, a.learner.replay.Len())))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(compare, "replay buffer", got, want)
}
