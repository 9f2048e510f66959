// Package streams makes a population's random numbers. Every use of randomness has a stream of its own: one more draw
// in one place never shifts the draws in another.
package streams

import "math/rand/v2"

// The uses. Journals depend on the numbers: new uses are added at the end.
const (
	MemberSeed = iota + 1 // a member's seed
	Sample                // a member's initial hyperparameters
	Decide                // the strategy, per iteration
	Mutate                // a member's mutation, per iteration
	Reseed                // a copy's new seed, per iteration and member
	Rebuild               // per iteration and member: building a trainee again
	Diversify             // a member's first mutation, before training
	Fit                   // an explorer that fits a model, per iteration
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

// New returns random numbers that depend on parts alone: a seed, the purpose, and further numbers such as the
// iteration.
func New(parts ...int64) *rand.Rand {
	return rand.New(rand.NewPCG(derive(parts...), derive(append(parts, -1)...)))
}

// Seed derives a seed that is not negative.
func Seed(parts ...int64) int64 { return int64(derive(parts...) >> 1) }
