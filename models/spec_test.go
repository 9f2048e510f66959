package models

import (
	"math"
	"strings"
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
	dict := check.Get(config.FromYAML([]byte(yaml)))(t)
	s := check.Get(ParseSpec(dict))(t)
	return s
}

func wantNear(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// alike compares two tensors.
func alike(t testing.TB, s *tensor.Scope, what string, got, want tensor.Tensor, tol float64) {
	t.Helper()
	wantNear(t, what, tensortest.Float64s(t, s, got), tensortest.Float64s(t, s, want), tol)
}

var boxes = spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 2)}

// A plain spec is an MLP, parameter for parameter.
func TestSpecPlainIsMLP(t *testing.T) {
	s := specOf(t, `
class: gaussianMIXIN
initial_log_std: -1
network: [{name: net, input: OBSERVATIONS, layers: [8, 4], activations: elu}]
output: tanh(ACTIONS)
`)
	p := tensortest.Opened[Policy](t)(s.BuildPolicy(boxes, 7))
	got, ok := p.(*Stochastic).Net.(*Net)
	if !ok {
		t.Fatalf("the network is a %T, want an MLP", p.(*Stochastic).Net)
	}
	want := tensortest.Opened[*Net](t)(NewMLP(MLPConfig{Inputs: 3, Outputs: 2, Hidden: []int{8, 4}, Activation: "elu",
		OutputActivation: "tanh"}, 7))
	sc := tensortest.NoGrad(t, tensor.CPU)
	in := Inputs{Observations: tensor.From(sc, []float32{1, -2, 3, 0, 5, -6}, 2, 3)}
	alike(t, sc, "outputs", got.Forward(sc, in), want.Forward(sc, in), 0)
	for i, q := range want.Parameters() {
		if g := got.Parameters()[i]; g.Name != q.Name || !tensor.RequiresGrad(g.Tensor) {
			t.Errorf("parameter %d is %q, want %q with a gradient", i, g.Name, q.Name)
		}
	}
	if len(got.LinearWeights()) != 3 {
		t.Errorf("%d linear weights, want 3", len(got.LinearWeights()))
	}
	if g := p.(*Stochastic).Dist.(*Gaussian).Config(); g.InitialLogStd != -1 || !g.ClipLogStd || g.MinLogStd != -20 {
		t.Errorf("settings %+v", g)
	}
}

// Two containers, a slice, a concatenation and a scaled output, against the same computed by hand.
func TestSpecChain(t *testing.T) {
	s := specOf(t, `
class: Deterministic
network:
  - {name: legs, input: "OBSERVATIONS[:, 1:] / 2", layers: [{linear: [4, false]}, flatten], activations: [tanh]}
  - name: net
    input: "concatenate([legs, OBSERVATIONS[:, 0], -legs])"
    layers: [{linear: {features: 2 * NUM_ACTIONS, use_bias: true, in_features: 9}}]
    activations: relu
output: "2 * softsign(ACTIONS) + net[:, -1] - 1"
`)
	n := tensortest.Opened[Network](t)(s.BuildNetwork(boxes, 1))
	var names []string
	p := map[string]tensor.Tensor{}
	for _, q := range n.Parameters() {
		names = append(names, q.Name)
		p[q.Name] = q.Tensor
	}
	if got := strings.Join(names, " "); got != "legs.0.weight net.0.weight net.0.bias net.2.weight net.2.bias" {
		t.Fatalf("parameters %s", got)
	}
	sc := tensortest.WithGrad(t, tensor.CPU)
	x := tensor.From(sc, []float32{1, -2, 3, 0.5, 5, -6}, 2, 3)
	legs := sc.Tanh(sc.Linear(sc.MulScalar(sc.Narrow(x, 1, 1, 2), 0.5), p["legs.0.weight"], tensor.Tensor{}))
	joined := sc.Cat(-1, legs, sc.Narrow(x, 1, 0, 1), sc.Neg(legs))
	net := sc.Activate(tensor.Relu, sc.Linear(joined, p["net.0.weight"], p["net.0.bias"]))
	out := sc.Activate(tensor.Softsign, sc.Linear(net, p["net.2.weight"], p["net.2.bias"]))
	want := sc.AddScalar(sc.Add(sc.MulScalar(out, 2), sc.Narrow(net, 1, 3, 1)), -1)
	got := n.Forward(sc, Inputs{Observations: x})
	alike(t, sc, "outputs", got, want, 1e-6)

	// The gradient reaches every parameter.
	grads := sc.Grad(sc.Sum(got), false, p["legs.0.weight"], p["net.0.weight"], p["net.2.bias"])
	for i, g := range grads {
		if m := tensortest.Float64s(t, sc, sc.MaxOf(sc.Abs(g))); m[0] == 0 {
			t.Errorf("gradient %d vanishes", i)
		}
	}
	if w := n.(Linears).LinearWeights(); len(w) != 3 || tensor.Size(w[2], 0) != 2 {
		t.Errorf("%d linear weights, want 3 with the output layer last", len(w))
	}
}

func TestExpressionValues(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(3), State: spaces.NewMultiDiscrete(2, 3),
		Action: spaces.NewBox(-1, 1, 2)}
	checkExpressions(t, sp, []float32{1, 2, 4}, []float32{1, 2}, map[string][]float64{
		"OBSERVATIONS":                               {1, 2, 4},
		"OBSERVATIONS * 2 + 1":                       {3, 5, 9},
		"1 + 2 * OBSERVATIONS":                       {3, 5, 9},
		"10 - OBSERVATIONS - 1":                      {8, 7, 5},
		"8 / OBSERVATIONS / 2":                       {4, 2, 1},
		"-(OBSERVATIONS - 1.5)":                      {0.5, -0.5, -2.5},
		"--+OBSERVATIONS":                            {1, 2, 4},
		"OBSERVATIONS[:, 1]":                         {2},
		"OBSERVATIONS[..., -1]":                      {4},
		"OBSERVATIONS[:, :-1]":                       {1, 2},
		"OBSERVATIONS[:, NUM_ACTIONS:]":              {4},
		"OBSERVATIONS[:, 0:99][:,1:]":                {2, 4},
		"OBSERVATIONS / OBSERVATIONS[:, 2]":          {0.25, 0.5, 1},
		"OBSERVATIONS - OBSERVATIONS":                {0, 0, 0},
		"relu(OBSERVATIONS - 2)":                     {0, 0, 2},
		"abs(2 - OBSERVATIONS,)":                     {1, 0, 2},
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
		x, err := known.compile("x", text)
		if err != nil {
			t.Error(err)
			continue
		}
		if !x.rows() || x.width != int64(len(want)) {
			t.Errorf("%s: width %d, want %d", text, x.width, len(want))
			continue
		}
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

// The mode of both Gaussian classes is clipped.
func TestSpecClipsActions(t *testing.T) {
	s := tensortest.NoGrad(t, tensor.CPU)
	const plain = "\nnetwork: [{name: net, input: OBSERVATIONS}]\noutput: 100 * ACTIONS"
	for _, class := range []string{"Gaussian", "MULTIVARIATEGAUSSIANMIXIN"} {
		p := check.Get(specOf(t, "class: "+class+"\nclip_actions: true"+plain).BuildPolicy(boxes, 1))(t)
		for _, x := range tensortest.Float64s(t, s, p.Mode(s, Inputs{Observations: tensor.From(s, []float32{3, 4, 5}, 1,
			3)})) {
			if math.Abs(x) > 1 {
				t.Errorf("%s: action %g is not clipped", class, x)
			}
		}
		p.Close()
	}
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
	par := map[string]tensor.Tensor{}
	for _, q := range append(p.Parameters(), v.Parameters()...) {
		par[q.Name] = q.Tensor
	}
	if len(par) != 11 {
		t.Errorf("%d parameters: %v", len(par), par)
	}
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
	if _, _, err := BuildShared(policy, value, boxes, 1); err == nil || !strings.Contains(err.Error(),
		"value of a shared model") {
		t.Errorf("error %v", err)
	}
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"OBSERVATIONS", "2 * tanh(ACTIONS)", "concatenate([a, b[:, 0:3]])",
		"-x[..., -1:] / (3 - .5e-1)", "one_hot_encoding(A, B)", `OBSERVATIONS["a"][1][:, 0]`,
		`permute(STATES[0], (0, 3, 1, 2))[..., 1:] / 255`,
		`concatenate([STATES[0][:, 0], permute(STATES[0], [0, 2, 1, 3])])`, "((((", "[[", "x[:", "1e999", "é"} {
		f.Add(text)
	}
	sp := spaces.Set{Observation: parted, State: spaces.NewTuple(spaces.NewPicture(3, 4, 2), spaces.NewDiscrete(3)),
		Action: boxes.Action}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseExpression("x", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "models: x: ") {
				t.Fatalf("error %v", err)
			}
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
		s, err := ParseSpec(dict)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "models: ") {
				t.Fatalf("error %v", err)
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("a spec that was parsed does not validate: %v", err)
		}
	})
}
