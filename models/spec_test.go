package models

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/config"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

func specOf(t testing.TB, yaml string) Spec {
	t.Helper()
	return check.Get(ParseSpec(check.Get(config.FromYAML([]byte(yaml)))(t)))(t)
}

// byName returns the tensors of parameters by their names.
func byName(params []tensor.Parameter) map[string]tensor.Tensor {
	tensors := map[string]tensor.Tensor{}
	for _, p := range params {
		tensors[p.Name] = p.Tensor
	}
	return tensors
}

func wantNear(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	check.Is(t, len(got), len(want), "number of values of %s", what)
	for i := range got {
		check.Near(t, got[i], want[i], tol*(1+math.Abs(want[i])), "%s: value %d", what, i)
	}
}

// alike compares two tensors.
func alike(t testing.TB, s *tensor.Scope, what string, got, want tensor.Tensor, tol float64) {
	t.Helper()
	wantNear(t, what, tensortest.Float64s(t, s, got), tensortest.Float64s(t, s, want), tol)
}

var boxes = spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}

func TestExpressionValues(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(3), State: spaces.NewMultiDiscrete(2, 3),
		Action: spaces.NewBox(-1, 1, 2)}
	checkExpressions(t, sp, []float32{1, 2, 4}, []float32{1, 2}, map[string][]float64{
		"1 + 2 * OBSERVATIONS":                       {3, 5, 9},
		"10 - OBSERVATIONS - 1":                      {8, 7, 5},
		"8 / OBSERVATIONS / 2":                       {4, 2, 1},
		"-(OBSERVATIONS - 1.5)":                      {0.5, -0.5, -2.5},
		"OBSERVATIONS[..., -1]":                      {4},
		"OBSERVATIONS[:, :-1]":                       {1, 2},
		"OBSERVATIONS[:, NUM_ACTIONS:]":              {4},
		"OBSERVATIONS[:, 0:99][:,1:]":                {2, 4},
		"OBSERVATIONS / OBSERVATIONS[:, 2]":          {0.25, 0.5, 1},
		"relu(OBSERVATIONS - 2)":                     {0, 0, 2},
		"concatenate([STATES, OBSERVATIONS[:,0],])":  {1, 2, 1},
		"one_hot_encoding(STATE_SPACE, STATES)":      {0, 1, 0, 0, 1},
		"softmax(OBSERVATIONS * 0)":                  {1. / 3, 1. / 3, 1. / 3},
		"1e1 * OBSERVATIONS[:, 0] / NUM_STATES * .5": {1},
	})
}

// checkExpressions compiles expressions and compares what they compute of a row.
func checkExpressions(t *testing.T, sp spaces.Set, observations, states []float32, list map[string][]float64) {
	t.Helper()
	known, s := inputNames(Spec{}, sp, 2), tensortest.NoGrad(t, tensor.CPU)
	in := Inputs{Observations: tensor.From(s, observations, 1, int64(len(observations))),
		States: tensor.From(s, states, 1, int64(len(states)))}
	for text, want := range list {
		x := check.Get(known.compile("x", text))(t)
		wantNear(t, text, tensortest.Float64s(t, s, computed(t, s, known.sp, x, in)), want, 1e-6)
	}
}

// computed is what a network whose only expression is x computes.
func computed(t *testing.T, s *tensor.Scope, sp spaces.Set, x term, in Inputs) tensor.Tensor {
	t.Helper()
	a := assembler{plan: plan{Network: description.Network{Inputs: sp.Observation.Width(), States: sp.State.Width()}}}
	if a.end(x); len(a.Steps) == 0 {
		a.Add(description.Step{Op: description.Activate})
	}
	n := tensortest.Opened[*Net](t)(a.build(1))
	return s.Contiguous(n.Forward(s, in))
}

// The two halves of a shared spec stand on the policy's network, each with a layer of its own. The network is the
// product of two containers, as in Isaac Lab's cartpole with a Tuple of observations, and has no layers of its own.
func TestBuildShared(t *testing.T) {
	policy := specOf(t, "class: Gaussian\nnetwork: [{name: a, input: OBSERVATIONS, layers: [8, 4], activations: "+
		"tanh}, {name: b, input: OBSERVATIONS, layers: [4]}, {name: net, input: a * b, layers: [], activations: []}]"+
		"\noutput: tanh(ACTIONS)")
	value := specOf(t, "class: Deterministic\nnetwork: [{name: other, input: OBSERVATIONS, layers: [99]}]\noutput: "+
		"ONE + net[:, 0]")
	p, v, err := BuildShared(policy, value, boxes, 1)
	must(t, err)
	defer v.Close()
	defer p.Close()
	par := byName(append(p.Parameters(), v.Parameters()...))
	s := tensortest.NoGrad(t, tensor.CPU)
	x := tensor.From(s, []float32{1, -2, 3}, 1, 3)
	net := s.Tanh(s.Linear(s.Tanh(s.Linear(x, par["trunk.a.0.weight"], par["trunk.a.0.bias"])),
		par["trunk.a.2.weight"], par["trunk.a.2.bias"]))
	net = s.Mul(net, s.Linear(x, par["trunk.b.0.weight"], par["trunk.b.0.bias"]))
	in := Inputs{Observations: x}
	mean := s.Tanh(s.Linear(net, par["head.policy_layer.weight"], par["head.policy_layer.bias"]))
	alike(t, s, "mean", p.Mode(s, in), mean, 1e-6)
	want := s.Add(s.Linear(net, par["head.value_layer.weight"], par["head.value_layer.bias"]), s.Narrow(net, 1, 0, 1))
	alike(t, s, "value", v.Forward(s, in), want, 1e-6)

	value.Output = "OBSERVATIONS"
	_, _, err = BuildShared(policy, value, boxes, 1)
	check.RefuseAs(t, "a value without ONE", err, "value of a shared model")
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"OBSERVATIONS", "2 * tanh(ACTIONS)", "concatenate([a, b[:, 0:3]])",
		"-x[..., -1:] / (3 - .5e-1)", `OBSERVATIONS["a"][1][:, 0]`,
		`concatenate([STATES[0][:, 0], permute(STATES[0], [0, 2, 1, 3])])`, "((((", "x[:", "1e999", "é"} {
		f.Add(text)
	}
	sp := spaces.Set{Observation: parted, State: spaces.NewTuple(spaces.NewPicture(3, 4, 2), spaces.NewDiscrete(3)),
		Action: boxes.Action}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseExpression("x", text)
		if err != nil {
			check.RefuseAs(t, text, err, "models: x: ")
			return
		}
		for _, known := range []*names{inputNames(Spec{}, boxes, 2), inputNames(Spec{}, sp, 2)} {
			x, err := known.resolve("x", text, n)
			if err != nil || !x.rows() {
				continue
			}
			width := 1
			for _, d := range x.dims() {
				width *= d
			}
			if x.width <= 0 || int64(width) != x.width {
				t.Fatalf("%q has width %d and elements of shape %v", text, x.width, x.dims())
			}
			a := assembler{plan: plan{Network: description.Network{Inputs: known.sp.Observation.Width(),
				States: known.sp.State.Width()}}}
			if at := a.place(x); at == len(a.Steps) && at > 0 {
				if widths, err := a.Widths(); err == nil && widths[at] != width {
					t.Fatalf("%q has width %d, and is described with %v", text, width, widths)
				}
			}
		}
	})
}

func FuzzSpec(f *testing.F) {
	f.Add("class: Gaussian\nnetwork: [{name: net, input: OBSERVATIONS, layers: [4, {linear: [2, false]}, flatten], " +
		"activations: relu}]\noutput: ACTIONS")
	f.Add("class: Deterministic\nnetwork: [{name: n, input: 'permute(OBSERVATIONS, (0, 3, 1, 2))', layers: [{conv2d: " +
		"{features: 4, kernel_size: [2, 3], padding: same}}, {conv2d: [3, 2, 1, 0, false]}, {flatten: [1, " +
		"-1]}]}]\noutput: ONE")
	f.Add("class: Deterministic\nclip_actions: false\nnetwork: [{name: n, input: 'STATES[:, 1]', layers: [{linear: " +
		"{features: ONE}}]}]\noutput: ONE")
	f.Fuzz(func(t *testing.T, text string) {
		dict, err := config.FromYAML([]byte(text))
		if err != nil {
			return
		}
		if s, err := ParseSpec(dict); err != nil {
			check.RefuseAs(t, text, err, "models: ")
		} else {
			must(t, s.Validate())
		}
	})
}
