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

// AgileRL's constants.
const (
	noiseShare   = 0.1  // of a matrix's entries are perturbed
	superShare   = 0.05 // of those get strong noise
	resetShare   = 0.05 // of those are drawn anew
	superScale   = 10   // the standard deviation of strong noise, relative to the weight
	largestNoise = 1e6  // the greatest size of a perturbed weight
)

// addNoise perturbs weights of a network, the policy: AgileRL's mutation of parameters. sd is the standard deviation of
// the noise, as a fraction of each weight. It returns the new snapshot and the sorted names of the arrays that it
// chose; snap is not changed.
//
// It chooses one to all of the policy's matrices, each number equally likely. Biases, log standard deviations, kernels,
// weights of recurrent layers and arrays whose names contain "norm" or "lstm" are never chosen. In each matrix it draws
// a tenth of the entries, with replacement, and perturbs each: nine in ten by normal noise of sd times the weight, one
// in twenty by ten times the weight, and one in twenty is replaced by a number drawn from N(0, 1). Results are clipped
// to ±10⁶. A network without matrices is an error.
func addNoise(snap *checkpoint.Snapshot, network string, sd float64, rng *rand.Rand) (*checkpoint.Snapshot, []string,
	error) {
	var names []string
	for name, a := range layout.Below(snap, network) {
		lower := strings.ToLower(name)
		if len(a.Shape) == 2 && a.Len() > 0 && !slices.ContainsFunc([]string{"lstm", "norm", "weight_ih_l",
			"weight_hh_l"}, func(part string) bool { return strings.Contains(lower, part) }) {
			names = append(names, layout.Parameter(network, name))
		}
	}
	if len(names) == 0 {
		return nil, nil, errors.New("evolution: the snapshot has no matrices of a policy that noise could be put on")
	}
	slices.Sort(names)
	n := 1 + rng.IntN(len(names))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = slices.Sorted(slices.Values(names[:n]))
	arrays := maps.Clone(snap.Arrays)
	for _, name := range names {
		m, err := read(arrays[name])
		if err != nil {
			return nil, nil, fmt.Errorf("evolution: %s: %w", name, err)
		}
		arrays[name] = m.perturbed(sd, rng).array()
	}
	return changed(snap, arrays, nil), names, nil
}

// perturbed returns m with noise on a share of its entries. Where an entry is drawn several times, each draw starts
// from the weight in m and the last one counts.
func (m matrix) perturbed(sd float64, rng *rand.Rand) matrix {
	out := matrix{m.rows, m.cols, slices.Clone(m.data), m.form}
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
