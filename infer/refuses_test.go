package infer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// What a file says that cannot be is an error before memory is asked for.
func TestRefusals(t *testing.T) {
	type spoil = func(d *description.Policy, s *checkpoint.Snapshot)
	floats := func(name string, shape int64, x ...float32) spoil {
		return func(_ *description.Policy, s *checkpoint.Snapshot) {
			s.Arrays[name] = checkpoint.ArrayFloat32([]int64{shape}, x)
		}
	}
	many := func(d *description.Policy, _ *checkpoint.Snapshot) {
		s := d.Network.Steps[0]
		for len(s.Weights) < 4000 { // 1000 layers of the same arrays
			s.Weights = append(s.Weights, s.Weights[:4]...)
		}
		d.Network.Steps = slices.Repeat([]description.Step{s}, 20000)
	}
	for want, spoil := range map[string]spoil{
		`no array "policy/net.0.weight"`: func(_ *description.Policy, s *checkpoint.Snapshot) {
			delete(s.Arrays, "policy/net.0.weight")
		},
		"shape": floats("policy/net.0.bias", 3, 1, 2, 3),
		`array "policy/net.0.bias" is not finite`: floats("policy/net.0.bias", 4, 1, 2, float32(math.Inf(1)), 4),
		"variance 1 is -1": func(_ *description.Policy, s *checkpoint.Snapshot) {
			s.Arrays["scaler/variance"] = checkpoint.ArrayFloat64([]int64{5}, []float64{1, -1, 1, 1, 1})
		},
		"needs 6": func(d *description.Policy, _ *checkpoint.Snapshot) {
			d.Distribution.LogStd, d.Distribution.StateDependentLogStd = "", true
		},
		"the action space": func(d *description.Policy, _ *checkpoint.Snapshot) {
			d.Action = spaces.Unbounded(4)
		},
		"memory: results and states have more than": many,
		"memory: 2 frames": func(d *description.Policy, _ *checkpoint.Snapshot) {
			d.Network.Steps[0].Frames = 2
		},
	} {
		d, snap := perceptron(vector, []int{4}, "elu", description.Gaussian)
		want, remembers := strings.CutPrefix(want, "memory: ")
		if remembers {
			d, snap = recurrent(description.GRU, 1, 0, three, description.Deterministic)
		}
		spoil(&d, snap)
		must.Refused(New(d, snap))(t, want)
	}
}

// What is not finite is refused even where the network would not show it, as the agent refuses it.
func TestNotFiniteObservations(t *testing.T) {
	first := description.Step{Op: description.Columns, From: 0, To: 1}
	for name, steps := range map[string][]description.Step{
		"saturated": {first, {Op: description.Activate, Activation: "tanh"}},
		"not read":  {first, {Op: description.Mul, Inputs: []int{1, 1}}, {Op: description.Number}},
	} {
		p := computing(t, 2, 1, steps...)
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			if err := p.Act([]float32{float32(x), 0}, make([]float32, 1)); !errors.Is(err, ErrNotFinite) {
				t.Errorf("%s: Act of %g: %v", name, x, err)
			}
			err := p.ActBatch([]float32{0, 0, 0, float32(x)}, make([]float32, 2))
			if !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), "dimension 1 of observation 1") {
				t.Errorf("%s: ActBatch with %g: %v", name, x, err)
			}
		}
	}
}

// FuzzDecode gives policies damaged descriptions. What is accepted must act.
func FuzzDecode(f *testing.F) {
	add := func(d description.Policy, _ *checkpoint.Snapshot) {
		text := must.Get(json.Marshal(d.Values()))(f)
		f.Add(string(text))
	}
	add(perceptron(vector, []int{4}, "elu", description.Gaussian))
	add(perceptron(choices, []int{4}, "elu", description.Categorical))
	f.Add(`{"format":1,"undescribed":"so"}`)
	f.Add(`{"format":2}`)
	_, snap := perceptron(vector, []int{4}, "elu", description.Gaussian)
	add(description.Policy{Observation: spaces.NewPicture(2, 2, 1), Action: spaces.Unbounded(2),
		Distribution: description.Distribution{Kind: description.Deterministic},
		Network: description.Network{Inputs: 4, Steps: []description.Step{
			{Op: description.Permute, Shape: []int{2, 2, 1}, Dims: []int{2, 0, 1}},
			{Op: description.Conv2d, Weight: "kernel", Outputs: 2, Shape: []int{1, 2, 2}, Kernel: []int{2, 2},
				Stride: []int{1, 1}, Padding: make([]int, 4), Dilation: []int{1, 1}, Groups: 1}}}}, nil)
	snap.Arrays["kernel"] = checkpoint.ArrayFloat32([]int64{2, 1, 2, 2}, make([]float32, 8))
	for _, op := range []string{description.RNN, description.GRU, description.LSTM} {
		d, arrays := recurrent(op, 2, 0, three, description.Deterministic)
		maps.Copy(snap.Arrays, arrays.Arrays)
		add(d, nil)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		snap.Values["policy"] = v
		p, err := FromSnapshot(snap)
		if err != nil {
			return
		}
		again := must.Get(description.Of(p.Describe().Values()))(t)
		if fmt.Sprint(again) != fmt.Sprint(p.Describe()) && again.Normalizer == nil {
			t.Fatalf("%+v was read again as %+v", p.Describe(), again)
		}
		x, a := make([]float32, p.Spaces().Observation.Width()), make([]float32, p.Spaces().Action.Width())
		if err := p.Act(x, a); err == nil {
			must.Do(t, p.Spaces().Action.Check(a, 1))
		}
	})
}
