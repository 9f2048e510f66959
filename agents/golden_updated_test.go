package agents_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// updated compares the state after an update: targets, parameters, moments, scalers, learning rate, tracked values and
// the gradient's norm. figures calls a function with each tracked value.
func (x *replay) updated(t *testing.T, c *golden.Comparison, u *goldenUpdate,
	figures func(f func(tag string, value float64))) {
	t.Helper()
	snap := agenttest.Snapshot(t, x.agent)
	for name, want := range u.under("expect/") {
		switch {
		case strings.HasPrefix(name, "optimizer/") || strings.HasPrefix(name, "rnn_"): // see moments and below
		case !strings.Contains(name, "/"):
			x.target(t, c, u, name, want)
		default:
			golden.Compare(c, name, values(t, snap, name), want)
		}
	}
	for _, e := range x.core.Flat.Entries() {
		_, ok := u.arrays["expect/"+e.Name]
		check.Not(t, !ok, "the case does not say what %s should be", e.Name)
	}
	x.moments(t, c, u, snap)
	for _, network := range x.remembering() {
		var want golden.Tensor
		for _, v := range x.c.states(u.arrays, "expect/rnn_"+network, 0) {
			want.Data = append(want.Data, float64(v))
		}
		golden.Compare(c, "states of "+network, values(t, snap, layout.Hidden(network)), want)
	}
	c.Scalar("learning rate", x.agent.LearningRate(), u.LearningRate)
	tracked := map[string]float64{}
	figures(func(tag string, v float64) { tracked[tag] = v })
	for tag, want := range u.Tracked {
		got, ok := tracked[tag]
		check.Not(t, !ok, "%q is not tracked", tag)
		if tag == "Loss / Policy loss" { // the mean of advantages times ratios; the advantages' own mean is 0
			c.Mean(tag, got, want, meanAbs(u.arrays["expect/advantages"]))
			continue
		}
		c.Scalar(tag, got, want)
	}
	if u.GradNorm > 0 {
		c.Scalar("mean gradient norm", tracked["Gradient / Norm"], u.GradNorm)
	}
	if u.Loss != 0 {
		c.Scalar("mean total loss", tracked["Loss / Policy loss"]+tracked["Loss / Value loss"]+
			tracked["Loss / Entropy loss"]+tracked["Loss / Discriminator loss"], u.Loss)
	}
}

func meanAbs(x golden.Tensor) float64 {
	sum := 0.0
	for _, v := range x.Data {
		sum += math.Abs(v)
	}
	return sum / float64(max(len(x.Data), 1))
}

func values(t *testing.T, snap *checkpoint.Snapshot, name string) (out []float64) {
	t.Helper()
	a := snap.Arrays[name]
	if a.DType == checkpoint.F64 {
		return check.Get(a.Float64s())(t)
	}
	for _, v := range check.Get(a.Float32s())(t) {
		out = append(out, float64(v))
	}
	return out
}

// target compares what the value and policy losses were computed from. Where there is a value scaler, the rollout holds
// standardised returns: the case's are standardised with its own statistics.
func (x *replay) target(t *testing.T, c *golden.Comparison, u *goldenUpdate, name string, want golden.Tensor) {
	t.Helper()
	field, ok := map[string]string{"advantages": "advantages", "scaled_returns": "returns", "scaled_values": "values",
		"returns": "returns", "combined_rewards": "rewards"}[name]
	switch {
	case name == "gae_next_values" || name == "last_values": // the advantages show them
	case !ok:
		t.Errorf("the case expects %q, which nothing is compared with", name)
	case name == "returns":
		x.field(t, c, field, standardised(u.arrays, want))
	default:
		x.field(t, c, field, want)
	}
}

// standardised applies the value scaler of the state after the update, if there is one, in float32.
func standardised(state arrays, x golden.Tensor) golden.Tensor {
	mean, ok := state["expect/value_preprocessor/running_mean"]
	if !ok {
		return x
	}
	s := tensor.NoGrad()
	defer s.Close()
	variance := tensor.From(s, state["expect/value_preprocessor/running_variance"].Data)
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
	entries := x.core.Flat.Entries()
	moment := func(i int, name string) (golden.Tensor, bool) {
		x, ok := u.arrays[fmt.Sprintf("expect/optimizer/%d/%s", i, name)]
		return x, ok
	}
	for i, e := range entries {
		for _, name := range []string{"exp_avg", "exp_avg_sq"} {
			want, ok := moment(i, name)
			if _, any := moment(0, name); !any {
				continue // the case has none
			} else if !ok {
				want.Data = make([]float64, e.Size)
			}
			golden.Compare(c, name+" of "+e.Name, values(t, snap, "optimizer/"+name+"/"+e.Name), want)
		}
	}
}
