package mujoco

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// RecoveryConfig makes falls part of an episode, so that a policy learns to get up (AMP, Peng et al. 2021; ASE, Peng et
// al. 2022). The zero value ends an episode at a fall.
type RecoveryConfig struct {
	// Seconds is the time to get back on the feet, after which the episode terminates; 0 ends episodes at a fall.
	//
	// Short times train only the first moments after a fall. Long times spend steps on lying still.
	Seconds float64 `yaml:"seconds" config:"min=0"`
	// Share is the share of episodes that begin on the floor, to train getting up.
	//
	// They begin in a pose in which a limp body came to rest. It needs Seconds.
	Share float64 `yaml:"share" config:"min=0,max=1"`
}

// check validates the settings. Errors have no prefix.
func (r *RecoveryConfig) check(c *CharacterConfig) error {
	switch {
	case r.Share > 0 && r.Seconds == 0:
		return errors.New("Recovery.Share needs Recovery.Seconds: a character on the floor needs time to get up")
	case r.Share > 0 && c.Motions == nil:
		return errors.New("Recovery.Share needs Motions, from whose poses the bodies fall")
	case r.Seconds > 0 && c.Task == Track && c.Fade == 0:
		return fmt.Errorf("Recovery does not fit the task %q, which ends far from its clip; use another task, or Fade",
			Track)
	}
	return nil
}

const (
	// fallenPoses is the number of poses in which episodes with Recovery.Share begin.
	fallenPoses = 64
	// fallSeconds is the time in which a limp body comes to rest.
	fallSeconds = 2
	// fallHeight is the height in metres at which the root begins to fall. Smaller heights put limbs into the floor.
	fallHeight = 1
)

// fallenPose is a pose on the floor in which an episode can begin. qpos are its positions (NQ), style its features of
// an AMP observation at rest.
type fallenPose struct {
	qpos  []float64
	style []float32
}

// fall returns fallenPoses poses on the floor. A body in a clip's pose and a random rotation falls with random targets
// for its joints. The poses depend on the body and its clips only.
func (c *characterTask) fall(m *Model) ([]fallenPose, error) {
	simulation, err := NewBatch(m, fallenPoses, c.cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = simulation.Close() }()
	rng := rand.New(rand.NewPCG(0, 0))
	away := c.terrain.outside()
	for i := range simulation.Len() {
		r := &c.refs[c.draw(rng)]
		q, v := simulation.QPos(i), simulation.QVel(i)
		r.at(r.time(rng.IntN(r.rows)), moment{q, v})
		clear(v)
		q[0], q[1], q[2] = away, 0, fallHeight
		turn, length := q[3:rootPositions], 0.0
		for k := range turn { // four normal numbers are a uniformly distributed rotation
			turn[k] = rng.NormFloat64()
			length += turn[k] * turn[k]
		}
		for k := range turn {
			turn[k] /= math.Sqrt(length)
		}
		for k := range simulation.Ctrl(i) {
			simulation.Ctrl(i)[k] = c.middle[k] + 2*c.scale[k]*rng.NormFloat64()
		}
		if err := simulation.Reset(i); err != nil {
			return nil, err
		}
	}
	if err := simulation.Step(int(math.Ceil(fallSeconds / m.TimeStep()))); err != nil {
		return nil, err
	}
	for i := range simulation.Len() {
		clear(simulation.QVel(i))
	}
	if err := simulation.forward(0, 0, simulation.Len()); err != nil {
		return nil, err
	}
	var poses []fallenPose
	features := make([]float32, c.features())
	for i := range simulation.Len() {
		if simulation.Status(i)&Diverged != 0 {
			continue
		}
		q := simulation.QPos(i)
		if c.terrain != nil {
			q[2] += terrainSunk // as on the ground in the middle of a patch
		}
		xpos := floats(simulation.data[i].xpos, 3*m.NumBodies())
		c.writeFeatures(q, simulation.QVel(i), xpos, features)
		poses = append(poses, fallenPose{slices.Clone(q), slices.Clone(features[len(features)-c.style():])})
	}
	if len(poses) == 0 {
		return nil, errors.New("every simulation of a fall diverged; use a smaller time step")
	}
	return poses, nil
}

// startFallen begins an episode on the floor with the probability Recovery.Share.
func (c *characterTask) startFallen(s *State, rng *rand.Rand) {
	if c.floored == nil || rng.Float64() >= c.cfg.Recovery.Share {
		return
	}
	start := &c.floored[rng.IntN(len(c.floored))]
	copy(s.QPos, start.qpos)
	s.QPos[0], s.QPos[1] = 0, 0
	clear(s.QVel)
	for i := range s.Memory[:c.past()] {
		s.Memory[i] = float64(start.style[i%len(start.style)])
	}
}

// recovering counts the steps since a fall. up reports whether the reward is for getting up, and over whether the time
// for it has passed.
func (c *characterTask) recovering(s *State, fallen bool) (up, over bool) {
	mem := c.memory(s)
	switch {
	case !fallen:
		if mem[memoryFallen] > 0 {
			mem[memoryRecovered]++
			mem[memoryRecovery] += mem[memoryFallen]
		}
		mem[memoryFallen] = 0
		return false, false
	case mem[memoryFallen] == 0:
		mem[memoryFalls]++
	}
	mem[memoryFallen]++
	return true, mem[memoryFallen]*c.dt > c.cfg.Recovery.Seconds+1e-9
}

// risen returns how far a character has got up, from 0 (lying upside down) to 1 (standing). The root's height, relative
// to its height in the clips, and its tilt count equally.
func (c *characterTask) risen(s *State, up float64) float64 {
	return 0.5*max(0, min(1, c.above(s)/c.standing)) + 0.25*(1+up)
}

// recovery returns a metric of an episode's falls, see [Character]. A fall that the episode's time limit interrupts
// does not count. Without falls, "recovered" and "recovery_time" are NaN.
func (c *characterTask) recovery(s *State, terminated bool, name string) float64 {
	mem := c.memory(s)
	falls, recovered := mem[memoryFalls], mem[memoryRecovered]
	if mem[memoryFallen] > 0 && !terminated {
		falls--
	}
	switch name {
	case "recovered":
		return recovered / falls // 0/0 is NaN
	case "recovery_time":
		return mem[memoryRecovery] * c.dt / recovered
	}
	return falls
}
