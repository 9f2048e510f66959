package classic

import (
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// MaskedCartPole is [CartPole] without velocities in its observation (Wierstra et al. 2007). Position and pole angle
// are all there is to see, so balancing the pole takes a memory of earlier observations. Everything else is
// CartPole's.
type MaskedCartPole struct{ CartPole }

// NewMaskedCartPole returns a batch of [MaskedCartPole] environments whose episodes are truncated after 500 steps.
func NewMaskedCartPole(cfg Config) (envs.Env, error) {
	return vectorize("MaskedCartPole", cfg, cartPoleLimit, func() envs.Single { return &MaskedCartPole{} })
}

// Spaces are Box(2) of observations and Discrete(2) of actions.
func (m *MaskedCartPole) Spaces() spaces.Set {
	return spaces.Set{Observation: within(2*cartPoleTrack, 2*cartPoleTilt), Action: spaces.NewDiscrete(2)}
}

// Reset starts an episode near the upright rest.
func (m *MaskedCartPole) Reset(rng *rand.Rand, out envs.Row) error {
	var full [4]float32
	err := m.CartPole.Reset(rng, envs.Row{Observation: full[:]})
	put(out.Observation, m.x, m.theta)
	return err
}

// Step pushes the cart for one timestep.
func (m *MaskedCartPole) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	var full [4]float32
	reward, terminated, truncated, err = m.CartPole.Step(action, envs.Row{Observation: full[:]})
	if err == nil {
		put(out.Observation, m.x, m.theta)
	}
	return reward, terminated, truncated, err
}
