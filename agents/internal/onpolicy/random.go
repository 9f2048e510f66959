package onpolicy

import (
	"math/rand/v2"

	"github.com/gorl-dev/gorl/tensor"
)

// One seed starts both sequences of Random; these constants keep them apart.
const (
	pcgStream       = 0x9e3779b97f4a7c15
	generatorStream = 0x5851f42d4c957f2d
)

// Random are an agent's two random sequences: Gen for actions, shuffling and minibatches on the device, Rng for what is
// drawn on the host.
type Random struct {
	Gen *tensor.Generator
	Rng *rand.Rand

	pcg    *rand.PCG
	offset int64 // added to seeds, so that each rank draws its own numbers
}

// newRandom returns sequences that start must be called for. offset is added to all seeds.
func newRandom(offset int64) *Random {
	r := &Random{pcg: new(rand.PCG), offset: offset}
	r.Rng = rand.New(r.pcg)
	return r
}

// Reseed starts both random sequences from seed.
func (r *Random) Reseed(seed int64) error {
	r.pcg.Seed(uint64(seed+r.offset), pcgStream)
	return r.Gen.Seed((seed + r.offset) ^ generatorStream)
}
