package classic

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// The constants of [Spread], without units as in the multi-agent particle environment.
const (
	spreadAgents   = 3    // agents, and as many landmarks
	spreadSize     = 0.15 // radius of an agent
	spreadForce    = 5.0  // of an action
	spreadDamping  = 0.25 // share of the velocity that a step takes away
	spreadContact  = 100  // stiffness of a contact
	spreadMargin   = 1e-3 // distance within which a contact sets in
	spreadTimestep = 0.1
	spreadCovered  = 0.1 // distance at which a landmark is covered

	// An observation has two numbers each for the agent's velocity and position, every landmark and every other agent,
	// and two zeros for each other agent.
	spreadObservation = 4 + 2*spreadAgents + 4*(spreadAgents-1)
)

// Spread is the cooperative task simple_spread of the multi-agent particle environment (Lowe et al. 2017), with the
// numbers of mpe2's simple_spread_v3: three agents have to cover three landmarks without touching each other. All
// seats, agent_0 to agent_2, act at the same time.
//
// Observation (18): the agent's velocity and position, the positions of the landmarks and of the other agents
// relative to it, and four zeros (mpe2's messages, which these agents do not send). State (54): the observations of
// all agents. Actions: no force, or one to the left, to the right, down or up.
//
// The reward of an agent is the mean of a shared reward and its own reward. The shared reward is minus the sum, over
// the landmarks, of the distance to the nearest agent. Its own reward is minus the number of agents that it touches.
// The task has no end. The figure "covered" is the number of landmarks with an agent within 0.1 when the episode ends.
// Make a batch with [NewSpread].
type Spread struct {
	// at and v are positions and velocities of the agents, landmarks the positions of the landmarks.
	at, v, landmarks [spreadAgents][2]float64
}

// spreadHeader begins a saved state. Its number changes with the format.
const spreadHeader = "gorl spread 1"

// NewSpread returns a batch of [Spread] tasks, which are truncated after 25 steps unless cfg says otherwise.
func NewSpread(cfg Config) (envs.Env, error) {
	return vectorize("Spread", cfg, 25, func() envs.Single { return &Spread{} })
}

// Spaces are three seats with Box(18) of observations and Discrete(5) of actions, and Box(54) of states.
func (s *Spread) Spaces() spaces.Set {
	var seats [spreadAgents]spaces.Seat
	for i := range seats {
		seats[i] = spaces.Seat{Name: fmt.Sprintf("agent_%d", i), Observation: spaces.Unbounded(spreadObservation),
			Action: spaces.NewDiscrete(5)}
	}
	return spaces.NewSeats(spaces.Unbounded(spreadAgents*spreadObservation), seats[:]...)
}

// Reset draws the positions of agents and landmarks uniformly in [-1, 1]².
func (s *Spread) Reset(rng *rand.Rand, out envs.Row) error {
	s.v = [spreadAgents][2]float64{}
	for _, points := range []*[spreadAgents][2]float64{&s.at, &s.landmarks} {
		for i := range points {
			points[i] = [2]float64{2*rng.Float64() - 1, 2*rng.Float64() - 1}
		}
	}
	s.show(out)
	return nil
}

// show writes the observations, and the state, which is all of them.
func (s *Spread) show(out envs.Row) {
	for i := range s.at {
		out.Seats.Active[i] = true
		row := out.Observation[i*spreadObservation:][:spreadObservation]
		clear(row)
		put(row, s.v[i][0], s.v[i][1], s.at[i][0], s.at[i][1])
		row = row[4:]
		for j, landmark := range s.landmarks {
			put(row[2*j:], landmark[0]-s.at[i][0], landmark[1]-s.at[i][1])
		}
		row = row[2*spreadAgents:]
		for j, other := range s.at {
			if j != i {
				put(row, other[0]-s.at[i][0], other[1]-s.at[i][1])
				row = row[2:]
			}
		}
	}
	copy(out.State, out.Observation)
}

// directions are the forces of the actions.
var directions = [5][2]float64{{}, {-spreadForce, 0}, {spreadForce, 0}, {0, -spreadForce}, {0, spreadForce}}

// Step moves the agents by their old velocities. The forces at the old positions then change the velocities.
func (s *Spread) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	var forces [spreadAgents][2]float64
	for i := range action {
		choice, err := discrete(action[i:i+1], len(directions))
		if err != nil {
			return 0, false, false, err
		}
		forces[i] = directions[choice]
	}
	s.touch(&forces)
	for i := range s.at {
		for d := range s.at[i] {
			s.at[i][d] += s.v[i][d] * spreadTimestep
			s.v[i][d] = s.v[i][d]*(1-spreadDamping) + forces[i][d]*spreadTimestep
		}
	}
	shared := 0.0
	for _, landmark := range s.landmarks {
		shared -= s.nearest(landmark)
	}
	for i, at := range s.at {
		own := 0.0
		for j, other := range s.at {
			if j != i && between(at, other) < 2*spreadSize {
				own--
			}
		}
		out.Seats.Rewards[i] = float32(shared/2 + own/2)
		out.Seats.Terminated[i], out.Seats.Truncated[i] = false, false
		reward += shared/2 + own/2
	}
	s.show(out)
	return reward, false, false, nil
}

// touch adds the forces with which agents push each other away. The forces set in shortly before two agents touch.
func (s *Spread) touch(forces *[spreadAgents][2]float64) {
	for i := range s.at {
		for j := i + 1; j < spreadAgents; j++ {
			distance := between(s.at[i], s.at[j])
			if distance == 0 { // without a direction there is no force
				continue
			}
			// The logarithm of 1 + exp(x), written so that exp does not overflow.
			x := (2*spreadSize - distance) / spreadMargin
			depth := (math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))) * spreadMargin
			for d := range s.at[i] {
				force := spreadContact * (s.at[i][d] - s.at[j][d]) / distance * depth
				forces[i][d] += force
				forces[j][d] -= force
			}
		}
	}
}

// between returns the distance of two points.
func between(a, b [2]float64) float64 { return math.Hypot(a[0]-b[0], a[1]-b[1]) }

// nearest returns the distance from a point to the nearest agent.
func (s *Spread) nearest(point [2]float64) float64 {
	least := math.Inf(1)
	for _, at := range s.at {
		least = math.Min(least, between(at, point))
	}
	return least
}

// EpisodeMetrics returns how many landmarks are covered.
func (s *Spread) EpisodeMetrics() map[string]float64 {
	covered := 0.0
	for _, landmark := range s.landmarks {
		if s.nearest(landmark) < spreadCovered {
			covered++
		}
	}
	return map[string]float64{"covered": covered}
}

// Close does nothing.
func (s *Spread) Close() error { return nil }

// numbers returns pointers to the positions and velocities, in the order of a saved state.
func (s *Spread) numbers() (all []*float64) {
	for _, points := range []*[spreadAgents][2]float64{&s.at, &s.v, &s.landmarks} {
		for i := range points {
			all = append(all, &points[i][0], &points[i][1])
		}
	}
	return all
}

// MarshalState returns positions and velocities.
func (s *Spread) MarshalState() ([]byte, error) { return marshal(spreadHeader, s.numbers()...) }

// RestoreState puts back what MarshalState returned, all or (on an error) nothing.
func (s *Spread) RestoreState(b []byte) error { return restore(spreadHeader, b, s.numbers()...) }

// Render draws the plane from (-1.5, -1.5) to (1.5, 1.5), 240 × 240 pixels: agents are blue, landmarks dark, a covered
// landmark is green, and the square in which episodes begin is grey.
func (s *Spread) Render() (image.Image, error) {
	p := newPicture(240, 240, 80, -1.5, -1.5)
	p.box(-1, -1, 1, 1, color.RGBA{238, 238, 240, 255})
	for _, at := range s.at {
		p.disc(at[0], at[1], spreadSize, color.RGBA{120, 140, 225, 255})
	}
	for _, landmark := range s.landmarks {
		c := color.RGBA{60, 60, 65, 255}
		if s.nearest(landmark) < spreadCovered {
			c = color.RGBA{30, 150, 60, 255}
		}
		p.disc(landmark[0], landmark[1], 0.05, c)
	}
	return p.image, nil
}
