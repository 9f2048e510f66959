package evolution

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// plain is a snapshot of a policy's matrix with the given numbers, and of arrays that noise must leave alone.
func plain(rows, cols int, number func(i int) float32) *checkpoint.Snapshot {
	snap := checkpoint.NewSnapshot()
	data := make([]float32, rows*cols)
	for i := range data {
		data[i] = number(i)
	}
	shape := []int64{int64(rows), int64(cols)}
	for _, name := range []string{"policy/head.0.weight", "policy/LSTM.weight_ih", "policy/layer_norm.weight",
		"value/head.0.weight", "optimizer/exp_avg/policy/head.0.weight", "optimizer/exp_avg_sq/policy/head.0.weight"} {
		snap.Arrays[name] = checkpoint.ArrayFloat32(shape, data)
	}
	snap.Arrays["policy/head.0.bias"] = checkpoint.ArrayFloat32([]int64{int64(rows)}, make([]float32, rows))
	return snap
}

// The draws of one mutation, repeated by hand: entry, kind of noise and size, a tenth of the entries rounded up, and at
// most a million. Nothing else changes.
func TestGoldenAgileRLNoise(t *testing.T) {
	const rows, cols, name = 71, 99, "policy/head.0.weight"
	before := func(i int) float32 { return 130 * (float32(i) - 31) }
	snap := plain(rows, cols, before)
	for _, sd := range []float64{0.2, 0.1} {
		out, names, err := addNoise(snap, "policy", sd, random(6))
		if err != nil || !slices.Equal(names, []string{name}) {
			t.Fatal(names, err)
		}
		rng, beyond := random(6), 0
		rng.IntN(1) //nolint:staticcheck // it is 0, but it draws: how many matrices, which is one
		rng.Shuffle(1, func(int, int) {})
		want := slices.Clone(floats(t, snap.Arrays[name]))
		for range 703 { // ⌈702.9⌉
			r, c := rng.IntN(rows), rng.IntN(cols)
			w := float64(before(r*cols + c))
			u, z := rng.Float64(), rng.NormFloat64()
			switch {
			case u < 0.05:
				w += 10 * math.Abs(w) * z
			case u < 0.1:
				w = z
			default:
				w += sd * math.Abs(w) * z
			}
			if math.Abs(w) > 1e6 {
				beyond++
			}
			want[r*cols+c] = float32(max(-1e6, min(1e6, w)))
		}
		must.Equal(t, fmt.Sprint(sd), want, floats(t, out.Arrays[name]))
		if beyond < 10 {
			t.Errorf("only %d of the weights are limited", beyond)
		}
		for other, x := range snap.Arrays {
			if other != name && !slices.Equal(floats(t, x), floats(t, out.Arrays[other])) {
				t.Errorf("%s has changed", other)
			}
		}
	}
}

// One to all of the matrices are chosen, each number equally often.
func TestNoiseChoosesMatrices(t *testing.T) {
	snap := agenttest.Snapshot(t, ampAgent(t, ampNetworks(t, "tanh"))) // an encoder and a head of 2 layers each
	rng, count := random(1), map[int]float64{}
	for range 800 {
		out, names, err := addNoise(snap, "policy", 0.1, rng)
		must.Do(t, err)
		count[len(names)]++
		for name, x := range snap.Arrays {
			same := slices.Equal(x.Data, out.Arrays[name].Data)
			if named := slices.Contains(names, name); same == named && !strings.Contains(name, "exp_avg") {
				t.Fatalf("%s is the same: %t, named: %t", name, same, named)
			}
		}
	}
	for n := 1; n <= 4; n++ {
		must.Near(t, count[n], 200, 50, "times that %d matrices were chosen", n)
	}
}
