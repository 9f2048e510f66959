package mujoco

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

const (
	rootPositions  = 7 // x, y, z, and a quaternion, w first
	rootVelocities = 6
	rootFeatures   = 13    // height, two axes, two velocities
	characterLift  = 0.005 // m above the clip at reset, so that no foot begins in the floor
	maxAction      = 5
)

// characterTask is the [Task] of [Character]. Its tables do not change; its terms and the counts of its starts only do
// between steps, and scratch belongs to the environments.
type characterTask struct {
	cfg     CharacterConfig
	dt      float64 // of a control step
	nq, nv  int
	feet    []bool // by body
	keys    []int  // bodies
	refs    []reference
	weights []float64 // of the clips, as a running sum
	middle  []float64 // of each hinge's target
	scale   []float64 // of its actions
	terms   []characterTerms
	scratch []moment    // of each environment: the clip now
	targets [][]float64 // of each environment, with Lead or Fade: about which actions move
	starts  starts      // where episodes begin
	faded   float64     // control steps so far, with Fade
}

// moment is a clip's state in the coordinates of the model.
type moment struct{ qpos, qvel []float64 }

// Where a character's memory holds what it does, behind the features of its AMP history.
const (
	memoryClip = iota
	memoryTime // in the clip, s
	memoryX    // of the clip's root, m, where the episode's is at 0
	memoryY
	memoryDirection // wanted, rad, in the world
	memorySpeed     // wanted, m/s
	memoryLeft      // steps until another command
	memoryRandom    // state of the generator of commands
	memorySize
)

func newCharacterTask(cfg CharacterConfig) *characterTask {
	return &characterTask{cfg: cfg, terms: slices.Repeat([]characterTerms{defaultCharacterTerms(cfg.Task)},
		max(1, cfg.NumEnvs))}
}

// Init implements [Task].
func (c *characterTask) Init(m *Model) (Spec, error) {
	b := &c.cfg.Body
	c.nq, c.nv = m.NQ(), m.NV()
	hinges := c.nq - rootPositions
	if hinges < 1 || c.nv != hinges+rootVelocities || m.NU() != hinges {
		return Spec{}, fmt.Errorf("a character has a free joint and then hinges, with an actuator each; the model "+
			"has %d positions, %d velocities and %d actuators",
			m.NQ(), m.NV(), m.NU())
	}
	c.dt = m.TimeStep() * float64(max(1, b.Substeps))
	c.feet = make([]bool, m.NumBodies())
	for _, name := range b.Feet {
		id, err := m.ID(Body, name)
		if err != nil {
			return Spec{}, err
		}
		c.feet[id] = true
	}
	for _, name := range b.Keys {
		id, err := m.ID(Body, name)
		if err != nil {
			return Spec{}, err
		}
		c.keys = append(c.keys, id)
	}
	if err := c.readMotions(m); err != nil {
		return Spec{}, err
	}
	c.starts = starts{clip: -1}
	if c.cfg.FailureStarts > 0 {
		c.starts = newStarts(c.refs, len(c.terms))
	}
	for range c.terms {
		c.scratch = append(c.scratch, moment{make([]float64, c.nq), make([]float64, c.nv)})
		c.targets = append(c.targets, make([]float64, c.nq))
	}
	set := spaces.Set{
		Observation:    spaces.Unbounded(c.observation()),
		Action:         spaces.NewBox(-maxAction, maxAction, hinges),
		AMPObservation: spaces.Unbounded(c.cfg.History * c.style()),
	}
	return Spec{Name: b.Name, Spaces: set, Memory: (c.cfg.History-1)*c.style() + memorySize}, nil
}

// memory returns what an environment remembers beside its history.
func (c *characterTask) memory(s *State) []float64 { return s.Memory[len(s.Memory)-memorySize:] }

// Reset starts in a clip.
func (c *characterTask) Reset(s *State, rng *rand.Rand) {
	k, row := c.start(rng)
	r, mem := &c.refs[k], c.memory(s)
	t := r.time(row) + float64(c.cfg.History-1)*c.dt
	r.at(t, moment{s.QPos, s.QVel})
	mem[memoryClip], mem[memoryTime], mem[memoryX], mem[memoryY] = float64(k), t, s.QPos[0], s.QPos[1]
	s.QPos[0], s.QPos[1] = 0, 0
	s.QPos[2] += characterLift
	// Observe puts the first moment behind these.
	history := s.Memory[:len(s.Memory)-memorySize]
	for i, v := range r.features[row*r.width : row*r.width+len(history)] {
		history[i] = float64(v)
	}
	mem[memoryDirection], mem[memoryRandom] = heading(s.QPos[3:7]), float64(rng.Uint32())
	c.cfg.Command.draw(mem, c.dt)
}

// reference is the clip that an environment is in, by what it remembers.
func (c *characterTask) reference(mem []float64) *reference { return &c.refs[int(mem[memoryClip])] }

// follow writes the clip's state at this moment, where the environment has it, into the environment's scratch.
func (c *characterTask) follow(s *State) {
	mem, now := c.memory(s), c.scratch[s.Env]
	c.reference(mem).at(mem[memoryTime], now)
	now.qpos[0] -= mem[memoryX]
	now.qpos[1] -= mem[memoryY]
}

// Act implements [Task].
func (c *characterTask) Act(s *State, action []float32) {
	middle := c.middle
	if mem := c.memory(s); c.cfg.Clock {
		mem[memoryTime] += s.TimeStep
		c.follow(s)
		if told := c.told(); c.cfg.Residual && told > 0 {
			clip, targets := c.scratch[s.Env].qpos, c.targets[s.Env]
			if c.cfg.Lead > 0 {
				c.reference(mem).clip.At(mem[memoryTime]+c.cfg.Lead, targets, nil)
				clip = targets
			}
			if middle = clip[rootPositions:]; told < 1 {
				for i, m := range c.middle {
					targets[rootPositions+i] = told*middle[i] + (1-told)*m
				}
				middle = targets[rootPositions:]
			}
		}
	}
	for i, a := range action {
		s.Ctrl[i] = middle[i] + c.scale[i]*max(-maxAction, min(maxAction, float64(a)))
	}
}

// Observe implements [Task].
func (c *characterTask) Observe(s *State, out envs.Row) {
	width, mem := c.features(), c.memory(s)
	o := out.Observation
	c.writeFeatures(s.QPos, s.QVel, s.XPos, o[:width])
	history, style := s.Memory[:len(s.Memory)-memorySize], o[width-c.style():width]
	switch {
	case out.AMPObservation == nil:
	case c.cfg.Difference:
		c.writeDifference(s, out.AMPObservation)
	default:
		for i, v := range history {
			out.AMPObservation[i] = float32(v)
		}
		copy(out.AMPObservation[len(history):], style)
	}
	if len(history) > 0 {
		copy(history, history[len(style):])
		for i, v := range style {
			history[len(history)-len(style)+i] = float64(v)
		}
	}
	if out.AMPObservation != nil && c.cfg.Command.Seconds > 0 {
		if mem[memoryLeft]--; mem[memoryLeft] <= 0 {
			c.cfg.Command.draw(mem, c.dt)
		}
	}
	o = o[width:]
	clip := o // what it says of the clip fades
	if c.cfg.Clock {
		sin, cos := math.Sincos(2 * math.Pi * mem[memoryTime] / c.reference(mem).clip.Duration())
		o[0], o[1] = float32(sin), float32(cos)
		o = o[2:]
	}
	ahead := heading(s.QPos[3:7])
	switch c.cfg.Task {
	case Track:
		now := &c.scratch[s.Env]
		if out.AMPObservation == nil {
			c.follow(s)
		}
		dx, dy := facing(s.QPos[3:7]).turn(now.qpos[0]-s.QPos[0], now.qpos[1]-s.QPos[1])
		o[0], o[1], o[2] = float32(dx), float32(dy), float32(now.qpos[2]-s.QPos[2])
		sin, cos := math.Sincos(heading(now.qpos[3:7]) - ahead)
		o[3], o[4] = float32(sin), float32(cos)
		if told := float32(c.told()); told < 1 {
			for i := range clip {
				clip[i] *= told
			}
		}
	case Command:
		sin, cos := math.Sincos(mem[memoryDirection] - ahead)
		o[0], o[1], o[2] = float32(cos), float32(sin), float32(mem[memorySpeed])
	}
}

// ReferencePose implements [ReferenceTask]: with a clock the clip's pose at this moment. Where the clip's place is not
// what counts, it stands where the character is and faces as it does.
func (c *characterTask) ReferencePose(s *State, qpos []float64) bool {
	if !c.cfg.Clock || c.told() == 0 {
		return false
	}
	mem := c.memory(s)
	c.reference(mem).clip.At(mem[memoryTime], qpos, nil)
	if c.cfg.Task == Track {
		qpos[0] -= mem[memoryX]
		qpos[1] -= mem[memoryY]
		return true
	}
	qpos[0], qpos[1] = s.QPos[0], s.QPos[1]
	sin, cos := math.Sincos((heading(s.QPos[3:7]) - heading(qpos[3:7])) / 2)
	w, x, y, z := qpos[3], qpos[4], qpos[5], qpos[6]
	qpos[3], qpos[4], qpos[5], qpos[6] = cos*w-sin*z, cos*x-sin*y, cos*y+sin*x, cos*z+sin*w
	return true
}
