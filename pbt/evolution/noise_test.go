package evolution

import (
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
	snap.Values["optimizer_steps"] = map[string]any{"optimizer": int64(7)}
	return snap
}

// The draws of one mutation, repeated by hand: entry, kind of noise and size, a tenth of the entries rounded up.
func TestGoldenAgileRLNoise(t *testing.T) {
	snap := plain(7, 9, func(i int) float32 { return float32(i) - 31 })
	out, names, err := Noise(snap, NoiseOptions{SD: 0.2}, random(6))
	if err != nil || !slices.Equal(names, []string{"policy/head.0.weight"}) {
		t.Fatal(names, err)
	}
	rng := random(6)
	rng.IntN(1) //nolint:staticcheck // it is 0, but it draws: how many matrices, which is one
	rng.Shuffle(1, func(int, int) {})
	want := floats(t, snap.Arrays["policy/head.0.weight"])
	for range 7 { // ⌈6.3⌉
		r, c := rng.IntN(7), rng.IntN(9)
		w := float64(r*9+c) - 31
		u, z := rng.Float64(), rng.NormFloat64()
		switch {
		case u < 0.05:
			w += 10 * math.Abs(w) * z
		case u < 0.1:
			w = z
		default:
			w += 0.2 * math.Abs(w) * z
		}
		want[r*9+c] = float32(w)
	}
	if got := floats(t, out.Arrays["policy/head.0.weight"]); !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestNoiseShares(t *testing.T) {
	const rows, cols = 1000, 1000
	snap := plain(rows, cols, func(int) float32 { return 100 })
	out, _, err := Noise(snap, NoiseOptions{KeepOptimizer: true}, random(1))
	must.Do(t, err)
	var changed, reset, super, normal int
	var square float64
	for _, x := range floats(t, out.Arrays["policy/head.0.weight"]) {
		switch d := math.Abs(float64(x) - 100); {
		case d == 0:
			continue
		case math.Abs(float64(x)) < 6:
			reset++
		case d > 60:
			super++
		default:
			normal++
			square += d * d
		}
		changed++
	}
	// 100 000 draws with replacement from 1 000 000 entries touch 1 − e^−0.1 = 9.516 % of them.
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"changed", float64(changed) / (rows * cols), 1 - math.Exp(-0.1)},
		{"reset", float64(reset) / float64(changed), 0.05 + 0.05*0.0048}, // with what strong noise brings near zero
		// beyond 0.06 deviations, less those near zero
		{"strong", float64(super) / float64(changed), 0.05 * 0.952},
		{"noise", math.Sqrt(square / float64(normal)), 10},
	} {
		if math.Abs(c.got/c.want-1) > 0.06 {
			t.Errorf("%s: %g, want %g", c.what, c.got, c.want)
		}
	}
	for name, x := range snap.Arrays {
		if same := slices.Equal(floats(t, x), floats(t, out.Arrays[name])); same == (name == "policy/head.0.weight") {
			t.Errorf("%s is the same: %t", name, same)
		}
	}
	if out.Values["optimizer_steps"].(map[string]any)["optimizer"] != int64(7) {
		t.Error("the optimizer was reset")
	}
}

func TestNoiseLimits(t *testing.T) {
	out, _, err := Noise(plain(50, 50, func(i int) float32 { return float32(i%2) * -1e6 }), NoiseOptions{}, random(1))
	must.Do(t, err)
	zeros := 0
	for i, x := range floats(t, out.Arrays["policy/head.0.weight"]) {
		if x < -1e6 || x > 1e6 || i%2 == 0 && (x > 6 || x < -6) {
			t.Fatalf("entry %d is %g", i, x)
		}
		if i%2 == 0 && x != 0 {
			zeros++ // drawn anew: nothing else moves a zero
		}
	}
	if zeros == 0 || zeros > 20 {
		t.Errorf("%d zeros moved", zeros)
	}
	for _, name := range []string{"optimizer/exp_avg/policy/head.0.weight",
		"optimizer/exp_avg_sq/policy/head.0.weight"} {
		if slices.ContainsFunc(floats(t, out.Arrays[name]), func(x float32) bool { return x != 0 }) {
			t.Errorf("%s was not reset", name)
		}
	}
	if out.Values["optimizer_steps"].(map[string]any)["optimizer"] != int64(0) {
		t.Error("the optimizer has steps")
	}
}

// One to all of the matrices are chosen, each number equally often.
func TestNoiseChoosesMatrices(t *testing.T) {
	k := kinds()["dict"]
	snap := agenttest.Snapshot(t, k.make(t, k.first(t, "tanh"))) // 2 encoders of 2 layers and a head of 2
	rng := random(1)
	count, touched := map[int]int{}, map[string]int{}
	for range 1200 {
		out, names, err := Noise(snap, NoiseOptions{}, rng)
		if err != nil || !slices.IsSorted(names) {
			t.Fatal(names, err)
		}
		count[len(names)]++
		for _, name := range names {
			touched[name]++
		}
		for name, x := range snap.Arrays {
			same := slices.Equal(x.Data, out.Arrays[name].Data)
			if named := slices.Contains(names, name); same == named && !strings.Contains(name, "exp_avg") {
				t.Fatalf("%s is the same: %t, named: %t", name, same, named)
			}
		}
	}
	for n := 1; n <= 6; n++ {
		if count[n] < 150 || count[n] > 250 {
			t.Errorf("%d matrices were chosen %d times", n, count[n])
		}
	}
	if len(touched) != 6 || len(count) != 6 {
		t.Errorf("%v, %v", count, touched)
	}
}
