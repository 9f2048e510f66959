package agenttest

import (
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Room is an environment of given spaces: observations, states and reference motions are samples of their spaces that
// never change, rewards are 1 and episodes have no end. It shows whether a configuration can be built and trained.
type Room struct {
	set  spaces.Set
	step envs.Step
	n    int
}

// NewRoom returns a batch of n rooms.
func NewRoom(set spaces.Set, n int) *Room {
	r := &Room{set: set, n: n}
	r.step = envs.Step{
		Observations: rows(set.Observation, n), Rewards: make([]float32, n), Terminated: make([]bool, n),
		Truncated: make([]bool, n),
	}
	for i := range r.step.Rewards {
		r.step.Rewards[i] = 1
	}
	if set.State.Kind != spaces.None {
		r.step.States = rows(set.State, n)
	}
	r.step.Seats = set.MakeSeatStep(n)
	for i := range r.step.Seats.Active {
		r.step.Seats.Active[i], r.step.Seats.Rewards[i] = true, 1
	}
	if set.AMPObservation.Kind != spaces.None {
		r.step.AMPObservations = rows(set.AMPObservation, n)
	}
	return r
}

// rows are n samples of a space.
func rows(space spaces.Space, n int) []float32 {
	rng, width := rand.New(rand.NewPCG(1, 2)), space.Width()
	all := make([]float32, n*width)
	for i := range n {
		space.Sample(rng, all[i*width:(i+1)*width])
	}
	return all
}

// NumEnvs is the number of rooms.
func (r *Room) NumEnvs() int { return r.n }

// Spaces are those that the room was made with.
func (r *Room) Spaces() spaces.Set { return r.set }

// Reset returns the observations.
func (r *Room) Reset(int64) (*envs.Step, error) {
	return &envs.Step{Observations: r.step.Observations, States: r.step.States,
		Seats: spaces.SeatStep{Active: r.step.Seats.Active}}, nil
}

// Step returns the same whatever the actions.
func (r *Room) Step([]float32) (*envs.Step, error) { return &r.step, nil }

// Close does nothing.
func (r *Room) Close() error { return nil }

// CollectReferenceMotions returns samples of the AMP observations.
func (r *Room) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) {
	return rows(r.set.AMPObservation, n), nil
}
