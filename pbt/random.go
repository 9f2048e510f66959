package pbt

import "math/rand/v2"

// Every use of randomness has a stream of its own, numbered by these constants, so that one more draw in one place
// never shifts the draws in another. Journals depend on the numbers: new uses are added at the end.
const (
	streamSeed      = iota + 1 // a member's seed
	streamSample               // a member's initial hyperparameters
	streamDecide               // the strategy, per iteration
	streamMutate               // a member's mutation, per iteration
	streamReseed               // a copy's new seed, per iteration and member
	streamRebuild              // a trainee built anew, per iteration and member
	streamDiversify            // a member's first mutation, before training
	streamFit                  // an explorer that fits a model, per iteration
)

// derive mixes numbers into one seed (the finaliser of SplitMix64 over a running sum).
func derive(parts ...int64) uint64 {
	var h uint64
	for _, p := range parts {
		h += uint64(p) + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// stream returns random numbers that depend on parts alone: a seed, the purpose, and further numbers such as the
// iteration.
func stream(parts ...int64) *rand.Rand {
	return rand.New(rand.NewPCG(derive(parts...), derive(append(parts, -1)...)))
}

// rng is the member's random numbers for one purpose (a stream constant) in one iteration.
func (m *member) rng(purpose, iteration int64) *rand.Rand {
	return stream(m.opt.Seed, purpose, iteration, int64(m.id))
}

// derive is a seed of the member's own for one purpose (a stream constant) in one iteration.
func (m *member) derive(purpose, iteration int64) int64 {
	return seed(m.opt.Seed, purpose, iteration, int64(m.id))
}

// seed derives a seed that is not negative.
func seed(parts ...int64) int64 { return int64(derive(parts...) >> 1) }
