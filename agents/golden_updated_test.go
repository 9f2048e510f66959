package agents_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/golden"
	"github.com/gorl-dev/gorl/tensor"
)

// updated compares the state after an update: targets, parameters, moments, scalers, learning rate, what was tracked
// and what single steps computed.
func (x *replay) updated(t *testing.T, c *golden.Comparison, u *goldenUpdate) {
	t.Helper()
	snap := x.snapshot(t)
	x.targets(t, c, u)
	for _, name := range sortedKeys(u.State) {
		got, err := values(snap, name)
		if err != nil {
			t.Error(err)
			continue
		}
		golden.Compare(c, name, got, u.State[name])
	}
	for _, e := range x.core.Flat.Entries() {
		if _, ok := u.State[e.Name]; !ok {
			t.Errorf("the case does not say what %s should be", e.Name)
		}
	}
	x.moments(t, c, u, snap)
	c.Scalar("learning rate", x.agent.LearningRate(), u.LearningRate)
	tracked := map[string]float64{}
	x.agent.Tracked(func(tag string, v float64) { tracked[tag] = v })
	for _, tag := range sortedKeys(u.Tracked) {
		got, ok := tracked[tag]
		if !ok {
			t.Errorf("%q is not tracked", tag)
			continue
		}
		if tag == "Loss / Policy loss" { // the mean of advantages times ratios; the advantages' own mean is 0
			c.Mean(tag, got, u.Tracked[tag], meanAbs(u.Targets["advantages"]))
			continue
		}
		c.Scalar(tag, got, u.Tracked[tag])
	}
	x.trace(t, c, u, tracked)
}

func meanAbs(x golden.Tensor) float64 {
	sum := 0.0
	for _, v := range x.Data {
		sum += math.Abs(v)
	}
	return sum / float64(max(len(x.Data), 1))
}

func values(snap *checkpoint.Snapshot, name string) ([]float64, error) {
	a, ok := snap.Arrays[name]
	if !ok {
		return nil, fmt.Errorf("the agent has no %s", name)
	}
	if a.DType == checkpoint.F64 {
		return a.Float64s()
	}
	narrow, err := a.Float32s()
	wide := make([]float64, len(narrow))
	for i, v := range narrow {
		wide[i] = float64(v)
	}
	return wide, err
}

// targets compares what the value and policy losses were computed from. Where there is a value scaler, the rollout
// holds standardised returns: the case's are standardised with its own statistics.
func (x *replay) targets(t *testing.T, c *golden.Comparison, u *goldenUpdate) {
	t.Helper()
	for _, name := range sortedKeys(u.Targets) {
		want := u.Targets[name]
		switch name {
		case "advantages":
			x.field(t, c, "advantages", want)
		case "scaled_returns":
			x.field(t, c, "returns", want)
		case "scaled_values":
			x.field(t, c, "values", want)
		case "returns":
			x.field(t, c, "returns", standardised(u.State, want))
		case "combined_rewards":
			x.field(t, c, "rewards", want)
		case "gae_next_values", "last_values": // compared where they are computed
		default:
			t.Errorf("the case expects %q, which nothing is compared with", name)
		}
	}
}

// standardised applies the value scaler of the state after the update, if there is one, in float32.
func standardised(state map[string]golden.Tensor, x golden.Tensor) golden.Tensor {
	mean, ok := state["value_preprocessor/running_mean"]
	if !ok {
		return x
	}
	s := tensor.NoGrad()
	defer s.Close()
	variance := tensor.From(s, state["value_preprocessor/running_variance"].Data)
	scale := s.As(s.Sqrt(s.As(variance, tensor.Float32)), tensor.Float32)
	shifted := s.Sub(tensor.From(s, x.Float32s()), tensor.From(s, mean.Float32s()))
	values, err := tensor.Float64s(s.Clamp(s.Div(shifted, s.AddScalar(scale, 1e-8)), -5, 5))
	if err != nil {
		panic(err)
	}
	return golden.Tensor{Shape: x.Shape, Data: values}
}

// moments compares the optimizer's. A parameter that skrl's optimizer never stepped has none, and must have none here.
func (x *replay) moments(t *testing.T, c *golden.Comparison, u *goldenUpdate, snap *checkpoint.Snapshot) {
	t.Helper()
	if u.Moments == nil {
		return
	}
	entries := x.core.Flat.Entries()
	if len(u.Moments) > len(entries) {
		t.Errorf("the case has moments of %d parameters, the agent %d", len(u.Moments), len(entries))
		return
	}
	for i, e := range entries {
		for _, moment := range []string{"exp_avg", "exp_avg_sq"} {
			name := "optimizer/" + moment + "/" + e.Name
			got, err := values(snap, name)
			if err != nil {
				t.Error(err)
				continue
			}
			want := golden.Tensor{Data: make([]float64, e.Size)}
			if i < len(u.Moments) && u.Moments[i][moment].Data != nil {
				want = u.Moments[i][moment]
			}
			golden.Compare(c, name, got, want)
		}
	}
}

// trace compares single steps: the value loss from the value network's predictions, and in the mean the total loss and
// the gradient's norm.
func (x *replay) trace(t *testing.T, c *golden.Comparison, u *goldenUpdate, tracked map[string]float64) {
	t.Helper()
	if len(u.Trace) == 0 {
		return
	}
	if got, want := len(x.value.Outputs), len(u.Trace); got != want {
		t.Errorf("the update made %d steps, want %d", got, want)
		return
	}
	loss, norm, norms := 0.0, 0.0, 0
	for i, step := range u.Trace {
		c.Scalar(fmt.Sprintf("value MSE of step %d", i), x.valueMSE(t, i), step.ValueMSE)
		loss += step.TotalLoss / float64(len(u.Trace))
		if step.GradNorm != nil {
			norm += *step.GradNorm / float64(len(u.Trace))
			norms++
		}
	}
	sum := 0.0
	for _, part := range []string{"Policy", "Value", "Entropy", "Discriminator"} {
		sum += tracked["Loss / "+part+" loss"]
	}
	c.Scalar("mean total loss", sum, loss)
	if norms == len(u.Trace) {
		c.Scalar("mean gradient norm", tracked["Gradient / Norm"], norm)
	}
	x.value.Outputs = nil
}

// valueMSE is the mean squared error of the predictions of optimizer step i.
func (x *replay) valueMSE(t *testing.T, i int) float64 {
	t.Helper()
	column := func(name string) []float32 {
		v, err := tensor.Float32s(x.core.Rollout.Tensor(name))
		must(t, err)
		return v
	}
	returns, old := column("returns"), column("values")
	predicted := x.value.Outputs[i]
	batches := len(returns) / len(predicted)
	at := i % batches * len(predicted)
	clip := x.agent.Hyperparameters()["value_clip"]
	sum := 0.0
	for j, p := range predicted {
		v := float64(p)
		if o := float64(old[at+j]); clip > 0 {
			v = o + min(max(v-o, -clip), clip)
		}
		d := float64(returns[at+j]) - v
		sum += d * d
	}
	return sum / float64(len(predicted))
}
