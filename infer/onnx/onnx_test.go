package onnx

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// decoded is a message by field numbers: uint64, float32, or []byte.
type decoded map[protowire.Number][]any

func decode(t *testing.T, data []byte) decoded {
	t.Helper()
	m := decoded{}
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		size := protowire.ConsumeFieldValue(field, kind, data[max(n, 0):])
		must.Not(t, n < 0 || size < 0, "field %d of wire type %d is cut or damaged", field, kind)
		value := data[n : n+size]
		data = data[n+size:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, _ = protowire.ConsumeVarint(value)
		case protowire.Fixed32Type:
			v = math.Float32frombits(binary.LittleEndian.Uint32(value))
		case protowire.BytesType:
			v, _ = protowire.ConsumeBytes(value)
		default:
			t.Fatalf("field %d has wire type %d", field, kind)
		}
		m[field] = append(m[field], v)
	}
	return m
}

func (m decoded) text(field protowire.Number) string {
	if len(m[field]) == 0 {
		return ""
	}
	return string(m[field][0].([]byte))
}

func (m decoded) integer(field protowire.Number) uint64 { return m[field][0].(uint64) }

func (m decoded) messages(t *testing.T, field protowire.Number) []decoded {
	var list []decoded
	for _, v := range m[field] {
		list = append(list, decode(t, v.([]byte)))
	}
	return list
}

func texts(values []any) []string {
	var list []string
	for _, v := range values {
		list = append(list, string(v.([]byte)))
	}
	return list
}

// listing writes a model down, one line a thing, and checks that it is well made.
func listing(t *testing.T, data []byte) string {
	t.Helper()
	var b strings.Builder
	m := decode(t, data)
	fmt.Fprintf(&b, "ir %d, opset %d, by %s\n", m.integer(modelIRVersion), m.messages(t,
		modelOpset)[0].integer(opsetVersion), m.text(modelProducer))
	for _, e := range m.messages(t, modelMetadata) {
		fmt.Fprintf(&b, "%s = %s\n", e.text(entryKey), e.text(entryValue))
	}
	g := m.messages(t, modelGraph)[0]
	known := map[string]bool{}
	values := func(field protowire.Number) (lines []string) {
		for _, v := range g.messages(t, field) {
			kind := v.messages(t, valueType)[0].messages(t, typeTensor)[0]
			dims := kind.messages(t, typeTensorShape)[0].messages(t, shapeDim)
			lines = append(lines, fmt.Sprintf("%s: type %d, %s × %d", v.text(valueName),
				kind.integer(typeTensorElement), dims[0].text(dimParam), dims[1].integer(dimValue)))
		}
		return lines
	}
	for _, line := range values(graphInput) {
		fmt.Fprintln(&b, "input", line)
		known[strings.Split(line, ":")[0]] = true
	}
	for _, c := range g.messages(t, graphInitializer) {
		n, raw := uint64(1), len(c[tensorRaw][0].([]byte))
		for _, d := range c[tensorDims] {
			n *= d.(uint64)
		}
		size := map[uint64]uint64{elementFloat: 4, elementInt64: 8}[c.integer(tensorType)]
		must.Is(t, uint64(raw), n*size, "%s has %d bytes for shape %v", c.text(tensorName), raw, c[tensorDims])
		if known[c.text(tensorName)] {
			t.Errorf("%s is there twice", c.text(tensorName))
		}
		known[c.text(tensorName)] = true
		fmt.Fprintf(&b, "constant %s: type %d, shape %v\n", c.text(tensorName), c.integer(tensorType), c[tensorDims])
	}
	for _, n := range g.messages(t, graphNode) {
		for _, in := range texts(n[nodeInput]) {
			if in != "" && !known[in] {
				t.Errorf("%s reads %s, which is not there yet", n.text(nodeName), in)
			}
		}
		for _, out := range texts(n[nodeOutput]) {
			if known[out] {
				t.Errorf("%s is computed twice", out)
			}
			known[out] = true
		}
		var attributes []string
		for _, a := range n.messages(t, nodeAttribute) {
			v := map[uint64][]any{attributeIsFloat: a[attributeFloat], attributeIsInt: a[attributeInt],
				attributeIsInts: a[attributeInts]}[a.integer(attributeType)]
			text := strings.Trim(fmt.Sprint(v), "[]")
			attributes = append(attributes, a.text(attributeName)+"="+text)
		}
		fmt.Fprintf(&b, "%s = %s(%s) %s\n", strings.Join(texts(n[nodeOutput]), ", "), n.text(nodeOp),
			strings.Join(texts(n[nodeInput]), ", "), strings.Join(attributes, " "))
	}
	for _, line := range values(graphOutput) {
		fmt.Fprintln(&b, "output", line)
		if !known[strings.Split(line, ":")[0]] {
			t.Errorf("nothing computes %s", line)
		}
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// policy makes one of a description whose arrays are 1, 2, 3, ...
func policy(t testing.TB, d description.Policy) *infer.Policy {
	t.Helper()
	snap := checkpoint.NewSnapshot()
	count := func(name string, shape ...int64) {
		n := int64(1)
		for _, s := range shape {
			n *= s
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i + 1)
		}
		snap.Arrays[name] = checkpoint.ArrayFloat32(shape, v)
	}
	widths := must.Get(d.Network.Widths())(t)
	for i, s := range d.Network.Steps {
		in, out := int64(widths[i]), int64(s.Outputs) // each reads the step before
		switch {
		case s.Op == description.Linear:
			count(s.Weight, out, in)
			count(s.Bias, out)
		case s.Op == description.Conv2d:
			k := s.KernelShape()
			count(s.Weight, int64(k[0]), int64(k[1]), int64(k[2]), int64(k[3]))
		case s.Recurrent():
			rows := out * int64(len(cells[s.Op].gates))
			count(s.Weights[0], rows, in)
			count(s.Weights[1], rows, out)
			count(s.Weights[2], rows)
			count(s.Weights[3], rows)
		}
	}
	count("policy/log_std_parameter", int64(d.Action.Width()))
	if d.Normalizer != nil {
		snap.Arrays[d.Normalizer.Mean] = checkpoint.ArrayFloat64([]int64{2}, []float64{1, 2})
		snap.Arrays[d.Normalizer.Variance] = checkpoint.ArrayFloat64([]int64{2}, []float64{4, 9})
	}
	return must.Get(infer.New(d, snap))(t)
}

var cases = map[string]description.Policy{
	"gaussian": {
		Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 3), Network: description.MLP("policy/", 2,
			[]int{4, 4}, 3, "elu"),
		Normalizer: &description.Normalizer{Mean: "m", Variance: "v", Epsilon: 1, Clip: 5},
		Distribution: description.Distribution{Kind: description.Gaussian, LogStd: "policy/log_std_parameter",
			ClipMean: true, ClipLogStd: true, MinLogStd: -20, MaxLogStd: 2},
	},
	"multi_categorical": {
		Observation: spaces.NewMultiDiscrete(3, 2), Action: spaces.NewMultiDiscrete(2, 3),
		Network: description.Network{Inputs: 2, Steps: []description.Step{
			{Op: description.OneHot, Choices: []int{3, 2}},
			{Op: description.Linear, Weight: "policy/w", Bias: "policy/b", Outputs: 5, Activation: "silu"},
			{Op: description.Number, Number: 2},
			{Op: description.Mul, Inputs: []int{2, 3}},
		}},
		Distribution: description.Distribution{Kind: description.Categorical},
	},
	"number": { // numbers that are not combined with rows become rows
		Observation: spaces.Unbounded(2), Action: spaces.Unbounded(3),
		Network: description.Network{Inputs: 2, Steps: []description.Step{
			{Op: description.Number, Number: 2}, {Op: description.Neg}, {Op: description.Concatenate,
				Inputs: []int{0, 2}},
		}},
		Distribution: description.Distribution{Kind: description.Deterministic},
	},
	"conv": {
		Observation: spaces.NewPicture(3, 4, 2), Action: spaces.Unbounded(2),
		Network: description.Network{Inputs: 24, Steps: []description.Step{
			{Op: description.Permute, Shape: []int{3, 4, 2}, Dims: []int{2, 0, 1}},
			{Op: description.Conv2d, Weight: "kernel", Outputs: 2, Shape: []int{2, 3, 4}, Kernel: []int{2, 2},
				Stride: []int{2, 1}, Padding: []int{0, 1, 1, 0}, Dilation: []int{2, 3}, Groups: 2, Activation: "relu"},
			{Op: description.Columns, From: 0, To: 2},
		}},
		Distribution: description.Distribution{Kind: description.Deterministic},
	},
	"memory": { // the rows of an LSTM's input are of gates i, f, g, o
		Observation: spaces.Unbounded(2), Action: spaces.Unbounded(2),
		Network: description.Network{Inputs: 2, Steps: []description.Step{
			{Op: description.GRU, Outputs: 1, Weights: []string{"g.weight_ih_l0", "g.weight_hh_l0", "g.bias_ih_l0",
				"g.bias_hh_l0"}},
			{Op: description.LSTM, Outputs: 2, Weights: []string{"l.weight_ih_l0", "l.weight_hh_l0", "l.bias_ih_l0",
				"l.bias_hh_l0"}},
		}},
		Distribution: description.Distribution{Kind: description.Deterministic},
	},
}

func TestGolden(t *testing.T) {
	for name, d := range cases {
		t.Run(name, func(t *testing.T) {
			options := Options{Metadata: map[string]string{"robot": "lever", "date": "none"}}
			model := must.Get(Encode(policy(t, d), options))(t)
			again := must.Get(Encode(policy(t, d), options))(t)
			must.Equal(t, "the model of the same policy", model, again)
			got, path := listing(t, model), filepath.Join("testdata", name+".txt")
			if *rewrite {
				must.Do(t, os.WriteFile(path, []byte(got), 0o644))
			}
			must.Is(t, got, string(must.Read(t, path)), "the model is\n")
		})
	}
}

// Every activation has a form.
func TestActivations(t *testing.T) {
	for _, f := range description.Activations() {
		d := cases["gaussian"]
		d.Network = description.MLP("policy/", 2, []int{4}, 3, f)
		listing(t, must.Get(Encode(policy(t, d), Options{}))(t))
	}
}

// What a user adds may neither replace gorl's own metadata nor be other than UTF-8.
func TestRefuses(t *testing.T) {
	p := policy(t, cases["gaussian"])
	for want, o := range map[string]Options{"gorl.action_space": {Metadata: map[string]string{
		"gorl.action_space": "mine"}}, "UTF-8": {Doc: "\xff"}} {
		must.Refused(Encode(p, o))(t, "onnx: ", want)
	}
}

// The constants are the policy's numbers. ONNX's gates of a GRU are update, reset, new, those of an LSTM input, output,
// forget, cell; the biases of input and state stand in one tensor.
func TestConstants(t *testing.T) {
	for of, all := range map[string]map[string][]float32{
		"gaussian": {
			"normalizer.mean": {1, 2}, "normalizer.deviation": {3, 4}, "policy/net.0.weight": {1, 2, 3, 4, 5, 6, 7, 8},
			"policy/net.2.bias": {1, 2, 3, 4}, "log_std_parameter": {1, 2, 2}, "action_space.low": {-1, -1, -1},
		},
		"memory": {
			"policy/g.weight_ih_l0/GRU": {3, 4, 1, 2, 5, 6}, "policy/g.bias_ih_l0+g.bias_hh_l0/GRU": {2, 1, 3, 2, 1, 3},
			"policy/l.weight_ih_l0/LSTM":            {1, 2, 7, 8, 3, 4, 5, 6},
			"policy/l.bias_ih_l0+l.bias_hh_l0/LSTM": {1, 2, 7, 8, 3, 4, 5, 6, 1, 2, 7, 8, 3, 4, 5, 6},
		},
	} {
		model := must.Get(Encode(policy(t, cases[of]), Options{}))(t)
		for _, c := range decode(t, model).messages(t, modelGraph)[0].messages(t, graphInitializer) {
			got := make([]float32, len(c[tensorRaw][0].([]byte))/4)
			must.Get(binary.Decode(c[tensorRaw][0].([]byte), binary.LittleEndian, got))(t)
			if want, ok := all[c.text(tensorName)]; ok {
				must.Same(t, got, want, "%s", c.text(tensorName))
				delete(all, c.text(tensorName))
			}
		}
		must.Is(t, len(all), 0, "constants of %s that the model lacks", of)
	}
}
