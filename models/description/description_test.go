package description

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

var inf = float32(math.Inf(1))

func valid() Policy {
	return Policy{
		Observation: spaces.Space{Kind: spaces.Box, Shape: []int{2}, Low: []float32{-inf, 0.1},
			High: []float32{inf, 0.3}},
		Action: spaces.NewBox(-1, 1, 1), Network: MLP("policy/", 2, []int{4}, 1, "elu"),
		Normalizer: &Normalizer{Mean: "m", Variance: "v", Epsilon: 1e-8, Clip: 5},
		Distribution: Distribution{Kind: Gaussian, LogStd: "policy/log_std", ClipActions: true, ClipLogStd: true,
			MinLogStd: -20, MaxLogStd: 2},
	}
}

// What is written is read again, also through JSON.
func TestRoundTrip(t *testing.T) {
	discrete := valid()
	discrete.Observation, discrete.Action, discrete.Distribution, discrete.Normalizer = spaces.NewDiscrete(3),
		spaces.NewMultiDiscrete(2, 3), Distribution{Kind: Categorical}, nil
	discrete.Network = Network{Inputs: 1, Steps: []Step{
		{Op: OneHot, Choices: []int{3}}, {Op: Linear, Weight: "w", Outputs: 5}, {Op: Number, Number: 0.5}, {Op: Mul,
			Inputs: []int{2, 3}},
	}}
	dict := valid()
	arm := spaces.NewDict(map[string]spaces.Space{"joint": spaces.NewBox(-1, 1, 1)})
	dict.Observation = spaces.NewDict(map[string]spaces.Space{"arm": arm, "gripper": spaces.NewDiscrete(2)})
	tuple := valid()
	tuple.Observation = spaces.NewTuple(spaces.Space{Kind: spaces.Box, Shape: []int{1, 1, 1}, DType: spaces.Uint8},
		spaces.NewDiscrete(2))
	for _, p := range []Policy{valid(), discrete, dict, tuple} {
		values := p.Values()
		for range 2 {
			got := must.Get(Of(values))(t)
			must.Equal(t, "what is read again", p, got)
			text := must.Get(json.Marshal(values))(t)
			values = nil
			must.Do(t, json.Unmarshal(text, &values))
		}
	}
}

func TestUndescribed(t *testing.T) {
	_, err := Of(Undescribed(errors.New("it is a secret")))
	must.Not(t, !errors.Is(err, ErrUndescribed), "%v", err)
	for text, want := range map[string]string{
		`{"format":2}`: "its format is 2", `[]`: "description: ", `{"format":1}`: "a space is missing",
		`{"format":1,"observation_space":{"kind":"Box","shape":[4000000,4000000]}}`: "product is at most",
	} {
		var v any
		must.Do(t, json.Unmarshal([]byte(text), &v))
		must.RefusedAs(Of(v))(t, text, want)
	}
}

func TestValidate(t *testing.T) {
	for want, spoil := range map[string]func(p *Policy){
		"reads rows of 2 values": func(p *Policy) { p.Observation = spaces.Unbounded(3) },
		"computes 1 values":      func(p *Policy) { p.Action = spaces.NewBox(-1, 1, 2) },
		"want gaussian":          func(p *Policy) { p.Distribution.Kind = "beta" },
		"a positive clip":        func(p *Policy) { p.Normalizer.Clip = math.Inf(1) },
		"has no steps":           func(p *Policy) { p.Network.Steps = nil },
		"reads the result":       func(p *Policy) { p.Network.Add(Step{Op: Neg, Inputs: []int{7}}) },
		"columns 0 up to 2 of 1": func(p *Policy) { p.Network.Add(Step{Op: Columns, To: 2}) },
		"4 and 2 do not combine": func(p *Policy) { p.Network.Add(Step{Op: Add, Inputs: []int{1, 0}}) },
		"name of a weight":       func(p *Policy) { p.Network.Add(Step{Op: Linear, Outputs: 3}) },
	} {
		p := valid()
		spoil(&p)
		must.RefuseAs(t, want, p.Validate(), want, "description: ")
	}
	must.Do(t, valid().Validate())
}

// The widths of rows side by side are added up without running over, on machines of 32 bits too.
func TestConcatenateIsBounded(t *testing.T) {
	n := Network{Inputs: 1 << 24, Steps: []Step{{Op: Concatenate, Inputs: make([]int, 256)}}} // 2³² values
	must.RefusedAs(n.Widths())(t, "2³² values", "side by side")
}
