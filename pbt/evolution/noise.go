package evolution

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// AgileRL's constants: the share of a tensor's entries that noise is put on, what of those is perturbed strongly and
// what is drawn anew, how strongly, and what no weight exceeds.
const (
	noiseShare   = 0.1
	superShare   = 0.05
	resetShare   = 0.05
	superScale   = 10
	largestNoise = 1e6
)

// NoiseOptions say how weights are perturbed.
type NoiseOptions struct {
	// SD is the standard deviation of the noise, relative to the weight. Default 0.1.
	SD float64
	// KeepOptimizer lets optimizers go on with their moments; otherwise all of them begin anew, as AgileRL's do.
	KeepOptimizer bool
}

// Noise perturbs weights of the policy (AgileRL's mutation of parameters). Of its matrices (log standard deviations,
// biases, and whatever is named after a norm or an LSTM stay) it chooses 1 to all of them, and of each a tenth of the
// entries, with replacement. Of those entries one in twenty gets noise ten times the weight, one in twenty is drawn from
// N(0, 1), and the others get noise of SD times the weight. Entries lie in ±10⁶ afterwards. It returns the new snapshot
// and the names of the arrays that it chose, sorted; the snapshot given is not changed.
func Noise(snap *checkpoint.Snapshot, o NoiseOptions, rng *rand.Rand) (*checkpoint.Snapshot, []string, error) {
	if o.SD == 0 {
		o.SD = 0.1
	}
	if !(o.SD > 0) || math.IsInf(o.SD, 0) {
		return nil, nil, fmt.Errorf("evolution: the standard deviation of noise is %g; it must be positive", o.SD)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(snap.Arrays)) {
		a := snap.Arrays[name]
		own, ok := strings.CutPrefix(name, layout.Parameter(policy, ""))
		if ok && len(a.Shape) == 2 && a.Len() > 0 && !strings.Contains(strings.ToLower(own), "lstm") && !strings.Contains(strings.ToLower(own), "norm") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil, errors.New("evolution: the snapshot has no matrices of a policy that noise could be put on")
	}
	n := 1 + rng.IntN(len(names))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = slices.Sorted(slices.Values(names[:n]))
	arrays := maps.Clone(snap.Arrays)
	for _, name := range names {
		m, err := read(arrays[name])
		if err != nil {
			return nil, nil, fmt.Errorf("evolution: %s: %w", name, err)
		}
		arrays[name] = m.perturbed(o.SD, rng).array()
	}
	out := changed(snap, arrays, nil)
	if !o.KeepOptimizer {
		out = ResetOptimizers(out)
	}
	return out, names, nil
}

// perturbed puts noise on a share of the entries. Every draw sees the weights as they were; of several on one entry the
// last stays.
func (m matrix) perturbed(sd float64, rng *rand.Rand) matrix {
	out := matrix{m.rows, m.cols, slices.Clone(m.data), m.vector}
	for range int(math.Ceil(noiseShare * float64(m.rows) * float64(m.cols))) {
		i := rng.IntN(m.rows)*m.cols + rng.IntN(m.cols)
		w, u, z := float64(m.data[i]), rng.Float64(), rng.NormFloat64()
		switch {
		case u < superShare:
			w += superScale * math.Abs(w) * z
		case u < superShare+resetShare:
			w = z
		default:
			w += sd * math.Abs(w) * z
		}
		out.data[i] = float32(min(max(w, -largestNoise), largestNoise))
	}
	return out
}
