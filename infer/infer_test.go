package infer

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

var (
	vector  = spaces.Set{Observation: spaces.Unbounded(5), Action: spaces.NewBox(-1, 1, 3)}
	choices = spaces.Set{Observation: spaces.Unbounded(5), Action: spaces.NewMultiDiscrete(3, 2)}
)

func made(t testing.TB, sp spaces.Set, hidden []int, kind string) *Policy {
	t.Helper()
	return must.Get(New(perceptron(sp, hidden, "elu", kind)))(t)
}

func randomRow(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// One hidden unit, worked out by hand: (3−1)/(√4+0) = 1, elu(−2·1+0.5) = e^−1.5 − 1, and 4·that + 1.
func TestByHand(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(1), Action: spaces.Unbounded(1)}
	d, snap := perceptron(sp, []int{1}, "elu", description.Deterministic)
	d.Normalizer.Epsilon = 0
	for name, x := range map[string]float32{"policy/net.0.weight": -2, "policy/net.0.bias": 0.5,
		"policy/net.2.weight": 4, "policy/net.2.bias": 1} {
		snap.Arrays[name] = checkpoint.ArrayFloat32(snap.Arrays[name].Shape, []float32{x})
	}
	snap.Arrays["scaler/mean"] = checkpoint.ArrayFloat64([]int64{1}, []float64{1})
	snap.Arrays["scaler/variance"] = checkpoint.ArrayFloat64([]int64{1}, []float64{4})
	p := must.Get(New(d, snap))(t)
	action := make([]float32, 1)
	// 1e9 is limited to 5
	for observation, want := range map[float32]float64{3: 4*(math.Exp(-1.5)-1) + 1, 1e9: 4*(math.Exp(-9.5)-1) + 1,
		-1: 4*2.5 + 1} {
		if err := p.Act([]float32{observation}, action); err != nil || math.Abs(float64(action[0])-want) > 1e-6 {
			t.Errorf("Act(%g): %g, %v; want %g", observation, action[0], err, want)
		}
	}
}

// A batch, in blocks and what is left of them, gives the numbers of single rows, also in a clone.
func TestBatchIsActs(t *testing.T) {
	for _, sp := range []spaces.Set{vector, choices} {
		kind := description.Gaussian
		if sp.Action.Kind != spaces.Box {
			kind = description.Categorical
		}
		p := made(t, sp, []int{130, 67}, kind)
		q := p.Clone()
		for _, n := range []int{0, 1, 3, 4, 15, 16, 17, 37} {
			rows := randomRow(rand.New(rand.NewPCG(uint64(n), 0)), n*5)
			a := sp.Action.Width()
			got, one := make([]float32, n*a), make([]float32, a)
			must.Do(t, p.ActBatch(rows, got))
			for i := range n {
				if err := q.Act(rows[i*5:(i+1)*5], one); err != nil || !slices.Equal(one, got[i*a:(i+1)*a]) {
					t.Errorf("%v: row %d of %d: %v, alone %v, %v", sp.Action, i, n, got[i*a:(i+1)*a], one, err)
				}
			}
		}
	}
}

// A few words in a file do not make a policy that takes gigabytes to act: rows that are wide pass one by one.
func TestWideRows(t *testing.T) {
	const wide = 1 << 23
	d := description.Policy{Observation: spaces.NewDiscrete(wide), Action: spaces.Unbounded(1),
		Distribution: description.Distribution{Kind: description.Deterministic},
		Network: description.Network{Inputs: 1, Steps: []description.Step{{Op: description.OneHot,
			Choices: []int{wide}}, {Op: description.Columns, From: wide - 1, To: wide}}}}
	p := must.Get(New(d, checkpoint.NewSnapshot()))(t)
	if n := len(p.borrow().results[1]); n > wide {
		t.Errorf("room for %d values, a row has %d", n, wide)
	}
	got := make([]float32, 3)
	if err := p.ActBatch([]float32{wide - 1, 0, wide - 1}, got); err != nil || !slices.Equal(got, []float32{1, 0, 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A policy's own file holds it and nothing else, and is read like a checkpoint.
func TestWriteFile(t *testing.T) {
	p := made(t, choices, []int{8}, description.Categorical)
	path := filepath.Join(t.TempDir(), "policy.safetensors")
	must.Do(t, p.WriteFile(path))
	q := must.Get(Load(path))(t)
	x := randomRow(rand.New(rand.NewPCG(4, 4)), 5)
	a, b := make([]float32, 5), make([]float32, 5)
	must.Do(t, errors.Join(p.Probabilities(x, a), q.Probabilities(x, b)))
	must.Same(t, a, b, "the probabilities")
	must.Is(t, len(must.Get(os.ReadDir(filepath.Dir(path)))(t)), 1, "the folder")
	// An interrupted checkpoint, which has no manifest either, is none.
	_, snap := perceptron(choices, []int{8}, "elu", description.Categorical)
	snap.Values["policy"] = p.Describe().Values()
	var file bytes.Buffer
	must.Do(t, checkpoint.EncodeSafetensors(&file, snap))
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o644))
	_, err := Load(path)
	must.Is(t, errors.Is(err, checkpoint.ErrUncommitted), true, "%v is ErrUncommitted", err)
	store := must.Get(checkpoint.NewStore(t.TempDir(), checkpoint.Options{}))(t)
	must.Get(Load(must.Get(store.Save("agent", 1, snap))(t)))(t)
}

// perceptron makes a policy with random weights, and its snapshot.
func perceptron(sp spaces.Set, hidden []int, activation string, kind string) (description.Policy,
	*checkpoint.Snapshot) {
	rng := rand.New(rand.NewPCG(1, 2))
	in := sp.Observation.Width()
	d := description.Policy{
		Observation: sp.Observation, Action: sp.Action, Distribution: description.Distribution{Kind: kind},
		Network:    description.MLP("policy/", in, hidden, sp.Action.Outputs(), activation),
		Normalizer: &description.Normalizer{Mean: "scaler/mean", Variance: "scaler/variance", Epsilon: 1e-8, Clip: 5},
	}
	snap := checkpoint.NewSnapshot()
	random := func(name string, shape ...int64) {
		n := shape[0] * shape[len(shape)-1]
		if len(shape) == 1 {
			n = shape[0]
		}
		snap.Arrays[name] = checkpoint.ArrayFloat32(shape, randomRow(rng, int(n)))
	}
	mean, variance := make([]float64, in), make([]float64, in)
	for i := range variance {
		mean[i], variance[i] = rng.NormFloat64(), 1+rng.Float64()
	}
	snap.Arrays["scaler/mean"] = checkpoint.ArrayFloat64([]int64{int64(in)}, mean)
	snap.Arrays["scaler/variance"] = checkpoint.ArrayFloat64([]int64{int64(in)}, variance)
	for _, s := range d.Network.Steps {
		random(s.Weight, int64(s.Outputs), int64(in))
		random(s.Bias, int64(s.Outputs))
		in = s.Outputs
	}
	if kind == description.Gaussian {
		d.Distribution.LogStd = "policy/log_std_parameter"
		random("policy/log_std_parameter", int64(in))
	}
	return d, snap
}

func TestAllocatesNothing(t *testing.T) {
	for _, p := range []*Policy{made(t, vector, []int{32}, description.Gaussian), made(t, choices, []int{32},
		description.Categorical), remembering(t, description.LSTM, 2)} {
		rng, in, w := rand.New(rand.NewPCG(1, 1)), p.Spaces().Observation.Width(), p.Spaces().Action.Width()
		x, a, hidden := randomRow(rng, 40*in), make([]float32, 40*w), make([]float32, 40*p.HiddenSize())
		outputs := make([]float32, p.Spaces().Action.Outputs())
		n := testing.AllocsPerRun(20, func() {
			err := errors.Join(p.Act(x[:in], a[:w]), p.ActBatch(x, a), p.Outputs(x[:in], outputs))
			if p.HiddenSize() > 0 {
				err = errors.Join(err, p.ActHidden(x, hidden, a), p.Reset())
			} else {
				err = errors.Join(err, p.Sample(x[:in], a[:w], rng))
			}
			must.Do(t, err)
		})
		if n != 0 && !raced() {
			t.Errorf("%v: %g allocations", p.Spaces().Action, n)
		}
	}
}

// computing returns a policy of nothing but these steps.
func computing(t *testing.T, inputs, outputs int, steps ...description.Step) *Policy {
	t.Helper()
	p := must.Get(New(description.Policy{Observation: spaces.Unbounded(inputs), Action: spaces.Unbounded(outputs),
		Network:      description.Network{Inputs: inputs, Steps: steps},
		Distribution: description.Distribution{Kind: description.Deterministic}}, checkpoint.NewSnapshot()))(t)
	return p
}
