package infer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// recurrent describes a policy of one recurrent step upon rows of 3 values, and makes its arrays.
func recurrent(op string, layers, frames int, sp spaces.Set, kind string) (description.Policy, *checkpoint.Snapshot) {
	rng := rand.New(rand.NewPCG(3, 4))
	out := sp.Action.Outputs()
	s := description.Step{Op: op, Outputs: out, Frames: frames}
	snap := checkpoint.NewSnapshot()
	in := sp.Observation.Width() / max(1, frames)
	for k := range layers {
		for i, name := range []string{"weight_ih", "weight_hh", "bias_ih", "bias_hh"} {
			name = fmt.Sprintf("policy/%s.%s_l%d", op, name, k)
			shape := []int64{int64((description.Step{Op: op}).Gates() * out), int64([]int{in, out, 0, 0}[i])}[:2-i/2]
			n := shape[0]
			if i < 2 {
				n *= shape[1]
			}
			s.Weights, snap.Arrays[name] = append(s.Weights, name), checkpoint.ArrayFloat32(shape,
				randomRow(rng, int(n)))
		}
		in = out
	}
	d := description.Policy{Observation: sp.Observation, Action: sp.Action,
		Distribution: description.Distribution{Kind: kind},
		Network:      description.Network{Inputs: sp.Observation.Width(), Steps: []description.Step{s}}}
	return d, snap
}

var three = spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.Unbounded(2)}

func remembering(t testing.TB, op string, layers int) *Policy {
	t.Helper()
	return must.Get(New(recurrent(op, layers, 0, three, description.Deterministic)))(t)
}

// A GRU of one value worked out by hand, step after step; frames are the same steps in one row.
func TestRecurrentByHand(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(1), Action: spaces.Unbounded(1)}
	d, snap := recurrent(description.GRU, 1, 0, sp, description.Deterministic)
	for i, v := range [][]float32{{0.5, -1, 2}, {1, 0.25, -0.5}, {0.1, 0.2, 0.3}, {-0.1, 0.4, 0.7}} {
		name := d.Network.Steps[0].Weights[i]
		snap.Arrays[name] = checkpoint.ArrayFloat32(snap.Arrays[name].Shape, v)
	}
	p := must.Get(New(d, snap))(t)
	rows := []float32{1, -2, 0.5}
	h, action := 0.0, make([]float32, 1)
	for i, v := range rows {
		x := float64(v)
		r, z := 1/(1+math.Exp(-(0.5*x+h+0.0))), 1/(1+math.Exp(-(-x+0.25*h+0.6)))
		h = (1-z)*math.Tanh(2*x+0.3+r*(-0.5*h+0.7)) + z*h
		if err := p.Act(rows[i:i+1], action); err != nil || math.Abs(float64(action[0])-h) > 1e-6 {
			t.Errorf("step %d: %v, %v; want %g", i, action, err, h)
		}
	}
	d.Observation, d.Network.Inputs, d.Network.Steps[0].Frames = spaces.Unbounded(3), 3, 3
	p = must.Get(New(d, snap))(t)
	for range 2 { // frames keep no state
		if err := p.Act(rows, action); err != nil || math.Abs(float64(action[0])-h) > 1e-6 || p.HiddenSize() != 0 {
			t.Errorf("frames: %v, %v; want %g", action, err, h)
		}
	}
}

// States are kept for every environment, begun anew where Reset says so, and are those of ActHidden.
func TestStates(t *testing.T) {
	for op, size := range map[string]int{description.RNN: 4, description.GRU: 4, description.LSTM: 8} {
		p := remembering(t, op, 2)
		must.Is(t, p.HiddenSize(), size, "%s: a state", op)
		const n, steps = 19, 6
		rng := rand.New(rand.NewPCG(1, 1))
		one, hidden := p.Clone(), make([]float32, n*size)
		got, outside, alone := make([]float32, n*2), make([]float32, n*2), make([]float32, 2)
		var seen [][]float32
		for k := range steps {
			x := randomRow(rng, n*3)
			seen = append(seen, x)
			if err := errors.Join(p.ActBatch(x, got), one.ActHidden(x, hidden, outside)); err != nil ||
				!slices.Equal(got, outside) {
				t.Fatalf("%s: %v with states kept, %v with states given, %v", op, got, outside, err)
			}
			if k == 2 {
				must.Do(t, p.Reset(4, 17, 200))
				clear(hidden[4*size : 5*size])
				clear(hidden[17*size : 18*size])
			}
		}
		for i, first := range map[int]int{0: 0, 4: 3, 17: 3, 18: 0} { // the one environment of a policy of its own
			must.Do(t, one.Reset())
			for k := first; k < steps; k++ {
				must.Do(t, one.Act(seen[k][i*3:(i+1)*3], alone))
			}
			must.Same(t, alone, got[i*2:(i+1)*2], "%s: environment %d", op, i)
		}
		must.Do(t, errors.Join(p.Reset(), p.Clone().Reset(), p.ActBatch(seen[0], got)))
		clear(hidden)
		if err := one.ActHidden(seen[0], hidden, outside); err != nil || !slices.Equal(got, outside) {
			t.Errorf("%s: after Reset %v, from zeros %v", op, got, outside)
		}
	}
}

// Asking for the distribution does not take the state a step further, Sample does.
func TestStatesOfOtherCalls(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewDiscrete(4)}
	p := must.Get(New(recurrent(description.LSTM, 1, 0, sp, description.Categorical)))(t)
	x, rng := []float32{1, -1, 0.5}, rand.New(rand.NewPCG(1, 1))
	a, b, c, action := make([]float32, 4), make([]float32, 4), make([]float32, 4), make([]float32, 1)
	must.Do(t, errors.Join(p.Probabilities(x, a), p.Outputs(x, b), p.Probabilities(x, b)))
	must.Same(t, b, a, "probabilities asked for a second time")
	must.Do(t, errors.Join(p.Sample(x, action, rng), p.Probabilities(x, b)))
	must.Is(t, slices.Equal(a, b), false, "probabilities are the same after Sample")
	must.Do(t, errors.Join(p.Reset(0), p.Act(x, action), p.Probabilities(x, c)))
	must.Same(t, c, b, "probabilities after Act, not Sample")
}

// Wrong lengths and numbers are errors of the call, which change no state.
func TestStatesAfterErrors(t *testing.T) {
	p := remembering(t, description.GRU, 1)
	x := randomRow(rand.New(rand.NewPCG(2, 2)), 40*3)
	a, b := make([]float32, 80), make([]float32, 80)
	must.Do(t, p.ActBatch(x, a))
	before := slices.Clone(p.hidden)
	bad, hidden := slices.Clone(x), slices.Clone(before)
	bad[119] = float32(math.NaN())
	for name, err := range map[string]error{
		"not finite": p.ActBatch(bad, b), "half a row": p.ActBatch(x[:4], b), "short action": p.Act(x[:3], a[:1]),
		"few states": p.ActHidden(x, hidden[:10], a), "not finite, outside": p.ActHidden(bad, hidden, b),
	} {
		must.RefuseAs(t, name, err, "infer: ")
	}
	must.Same(t, p.hidden, before, "the states after errors")
	must.Same(t, hidden, before, "the caller's states after errors")
	hidden[3] = float32(math.Inf(1))
	if err := p.ActHidden(x, hidden, a); !errors.Is(err, ErrNotFinite) {
		t.Errorf("infinite states: %v", err)
	}
}
