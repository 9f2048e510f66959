package mujoco

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/spaces"
)

const (
	// rootPositions is the number of a free joint's positions: x, y, z, and a quaternion, w first.
	rootPositions = 7
	// rootVelocities is the number of its velocities: linear in the world, angular in the body's own frame.
	rootVelocities = 6
	// rootFeatures is the number of the root's features: height (1), two axes (6), two velocities (6).
	rootFeatures = 13
	// characterLift is the height in metres by which Reset lifts the clip's pose, so that no foot starts in the floor.
	characterLift = 0.005
	// maxAction is the bound of actions, in both directions.
	maxAction = 5
)

// characterTask is the [Task] of [Character]. Workers share it: they only read its tables, terms and counts, which
// change between steps alone. The rows of scratch, targets and starts.fell belong to single environments.
type characterTask struct {
	cfg CharacterConfig
	// dt is the duration of a control step in seconds.
	dt float64
	// nq and nv are the model's numbers of positions and velocities.
	nq, nv int
	// feet (bodies) is true for a body that may touch the floor. footBodies are the indices of these bodies, in the
	// order of the configuration's Feet.
	feet       []bool
	footBodies []int
	// keys are the indices of the key bodies.
	keys []int
	// refs are the clips, in the order of Motions.
	refs []reference
	// weights are the running sums of the clips' weights, for drawing.
	weights []float64
	// middle (hinges) is the middle of each hinge's range in the clips, in radians. Targets move about it.
	middle []float64
	// scale (hinges) is the change of a target, in radians, by an action of 1.
	scale []float64
	// terms (N) are the parameters of the reward.
	terms []characterTerms
	// scratch (N) is the clip's state at this moment. Only a clock keeps it up to date.
	scratch []moment
	// targets (N, NQ) is the pose about which targets move, if Lead or Fade makes it differ from the clip's.
	targets [][]float64
	starts  starts
	// observed are the terms of Observations.
	observed []observedTerm
	// faded is the number of control steps so far. Only Fade reads it.
	faded float64
	// terrain is the ground, nil if it is flat.
	terrain *terrain
	// floored are the starts of Recovery.Share. standing is the mean height in metres of the root in the clips.
	floored  []fallenPose
	standing float64
}

// moment is a state in the model's coordinates: positions (NQ) and velocities (NV).
type moment struct{ qpos, qvel []float64 }

// Indices into the end of a character's State.Memory. The features of the AMP history come before.
const (
	// memoryClip is the index of the clip in which the episode began.
	memoryClip = iota
	// memoryTime is the time in the clip in seconds. Only a clock advances it.
	memoryTime
	// memoryX and memoryY are where the clip's root is, in metres, when the episode's is at the origin.
	memoryX
	memoryY
	// memoryDirection is the commanded direction in radians, in the world.
	memoryDirection
	// memorySpeed is the commanded speed in m/s.
	memorySpeed
	// memoryLeft is the number of control steps until the next command.
	memoryLeft
	// memoryRandom is the state of the generator of commands.
	memoryRandom
	// memoryFallen is the number of control steps since the character fell, 0 on its feet.
	memoryFallen
	// memoryFalls and memoryRecovered are the numbers of falls and of recoveries in the episode, and memoryRecovery is
	// the number of control steps that the recoveries took.
	memoryFalls
	memoryRecovered
	memoryRecovery
	// memoryForward, memoryLeftward and memoryTurn are the command of the task Velocity, in m/s and rad/s.
	memoryForward
	memoryLeftward
	memoryTurn
	// memoryChange is the sum of the squared changes of the actions by the last step.
	memoryChange
	// memorySize is the number of these values.
	memorySize
)

// Init implements [Task]. It requires a free root followed by hinges, with actuator i at hinge i.
func (c *characterTask) Init(m *Model) (Spec, error) {
	b := &c.cfg.Body
	c.nq, c.nv = m.NQ(), m.NV()
	hinges := c.nq - rootPositions
	if hinges < 1 || c.nv != hinges+rootVelocities || m.NU() != hinges {
		return Spec{}, fmt.Errorf("a character has a free joint and then hinges, with an actuator each; the model "+
			"has %d positions, %d velocities and %d actuators", m.NQ(), m.NV(), m.NU())
	}
	for name, n := range map[string]int{"DefaultPose": len(b.DefaultPose), "Actuators": len(b.Actuators)} {
		if n != 0 && n != hinges {
			return Spec{}, fmt.Errorf("Body.%s has %d entries; the model has %d hinges", name, n, hinges)
		}
	}
	c.dt = m.TimeStep() * float64(max(1, b.Substeps))
	c.feet = make([]bool, m.NumBodies())
	for i, name := range slices.Concat(b.Feet, b.Keys) {
		id, err := m.ID(Body, name)
		if err != nil {
			return Spec{}, err
		}
		if i < len(b.Feet) {
			c.feet[id], c.footBodies = true, append(c.footBodies, id)
		} else {
			c.keys = append(c.keys, id)
		}
	}
	if err := cmp.Or(c.readMotions(m), c.readTerms()); err != nil {
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
	set := spaces.Set{Observation: spaces.Unbounded(widthOf(c.whole())),
		Action: spaces.NewBox(-maxAction, maxAction, hinges)}
	if c.refs != nil {
		set.AMPObservation = spaces.Unbounded(c.cfg.History * c.style())
	}
	if c.observed != nil {
		set.Observation, set.State = spaces.Unbounded(widthOf(c.shown())), set.Observation
	}
	return Spec{Name: b.Name, Spaces: set, Memory: c.past() + c.remembered() + memorySize}, nil
}

// past is the width of the AMP history in State.Memory.
func (c *characterTask) past() int { return (c.cfg.History - 1) * c.style() }

// remembered is the number of last actions in State.Memory, after the history.
func (c *characterTask) remembered() int {
	if c.cfg.Task == Velocity || c.observed != nil {
		return c.nq - rootPositions
	}
	return 0
}

// above returns the height of the root above the ground in metres.
func (c *characterTask) above(s *State) float64 {
	if c.terrain == nil {
		return s.QPos[2]
	}
	return s.QPos[2] - c.terrain.height(s.QPos[0], s.QPos[1])
}

// acted returns the last actions, none if they are not remembered.
func (c *characterTask) acted(s *State) []float64 {
	return s.Memory[c.past() : len(s.Memory)-memorySize]
}

// memory returns the part of an environment's memory after the history and the actions, see memoryClip.
func (c *characterTask) memory(s *State) []float64 { return s.Memory[len(s.Memory)-memorySize:] }

// Reset implements [Task]. The episode starts with the last moment of a row of a clip. The row's earlier moments become
// the AMP history, so that the first AMP observation is complete. The root starts above the world's origin.
func (c *characterTask) Reset(s *State, rng *rand.Rand) {
	mem := c.memory(s)
	if c.refs == nil {
		c.stand(s, rng.Float64)
		s.QPos[2] += characterLift
		c.command(s, rng)
		return
	}
	k, row := c.start(rng)
	r := &c.refs[k]
	t := r.time(row) + float64(c.cfg.History-1)*c.dt
	r.at(t, moment{s.QPos, s.QVel})
	mem[memoryClip], mem[memoryTime], mem[memoryX], mem[memoryY] = float64(k), t, s.QPos[0], s.QPos[1]
	s.QPos[0], s.QPos[1] = 0, 0
	s.QPos[2] += characterLift
	c.startFallen(s, rng)
	// Observe appends the current moment, and drops the oldest one.
	convert(s.Memory, r.features[row*r.width:][:c.past()])
	c.command(s, rng)
}

// command draws the first command of an episode.
func (c *characterTask) command(s *State, rng *rand.Rand) {
	mem := c.memory(s)
	mem[memoryDirection], mem[memoryRandom] = heading(s.QPos), float64(rng.Uint32())
	c.drawCommand(mem)
}

// drawCommand draws a command into mem.
func (c *characterTask) drawCommand(mem []float64) {
	if c.cfg.Task == Velocity {
		c.cfg.Velocity.draw(mem, c.dt)
	} else {
		c.cfg.Command.draw(mem, c.dt)
	}
}

// reference returns the clip in which an environment's episode began. mem is the environment's memory.
func (c *characterTask) reference(mem []float64) *reference { return &c.refs[int(mem[memoryClip])] }

// follow writes the clip's state at this moment into the environment's scratch. The clip is moved so that it starts
// where the episode did.
func (c *characterTask) follow(s *State) {
	mem, now := c.memory(s), c.scratch[s.Env]
	c.reference(mem).at(mem[memoryTime], now)
	now.qpos[0] -= mem[memoryX]
	now.qpos[1] -= mem[memoryY]
}

// Act implements [Task]. With a clock it first advances the clip: Reward and Observe then compare the state after the
// step with the clip at the same time. Targets move about the clip's pose (Residual) or the middle of the ranges.
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
	last, change := c.acted(s), 0.0
	for i, a := range action {
		now := max(-maxAction, min(maxAction, float64(a)))
		s.Ctrl[i] = middle[i] + c.scale[i]*now
		if len(last) > 0 {
			change += (now - last[i]) * (now - last[i])
			last[i] = now
		}
	}
	c.memory(s)[memoryChange] = change // 0 if the last actions are not remembered
}

// Observe implements [Task]. It also advances the AMP history and draws the next command when its time has come.
func (c *characterTask) Observe(s *State, out envs.Row) {
	if c.observed == nil {
		c.observe(s, out, out.Observation)
		return
	}
	c.observe(s, out, out.State)
	c.writeTerms(s, out.State, out.Observation)
}

// observe writes the AMP observation into out and what follows the features into o.
func (c *characterTask) observe(s *State, out envs.Row, o []float32) {
	width, mem := c.features(), c.memory(s)
	c.writeFeatures(s.QPos, s.QVel, s.XPos, o[:width])
	o[0] = float32(c.above(s))
	history, style := s.Memory[:c.past()], o[width-c.style():width]
	switch {
	case out.AMPObservation == nil:
	case c.cfg.Difference:
		c.writeDifference(s, out.AMPObservation)
	default:
		copy(convert(out.AMPObservation, history), style)
	}
	if len(history) > 0 {
		copy(history, history[len(style):])
		convert(history[len(history)-len(style):], style)
	}
	ahead := heading(s.QPos)
	c.advance(s, mem, ahead)
	o = o[width:]
	clip := o // all that follows describes the clip in the task Track, and fades
	if c.cfg.Clock {
		sin, cos := math.Sincos(2 * math.Pi * mem[memoryTime] / c.reference(mem).clip.Duration())
		o[0], o[1] = float32(sin), float32(cos)
		o = o[2:]
	}
	switch c.cfg.Task {
	case Track:
		now := &c.scratch[s.Env]
		if s.Steps == 0 { // an episode begins, and Act has not written the clip yet
			c.follow(s)
		}
		put(o, fromRoot(rotation.Facing(rotation.Of(s.QPos[3:])), s.QPos, now.qpos, 0))
		sin, cos := math.Sincos(heading(now.qpos) - ahead)
		o[3], o[4] = float32(sin), float32(cos)
		if told := float32(c.told()); told < 1 {
			for i := range clip {
				clip[i] *= told
			}
		}
	case Command:
		sin, cos := math.Sincos(mem[memoryDirection] - ahead)
		o[0], o[1], o[2] = float32(cos), float32(sin), float32(mem[memorySpeed])
	case Velocity:
		o[0], o[1], o[2] = float32(mem[memoryForward]), float32(mem[memoryLeftward]), float32(mem[memoryTurn])
	}
}

// advance counts the step, and draws the next command when its time has come. A command of SetCommand stays.
func (c *characterTask) advance(s *State, mem []float64, ahead float64) {
	seconds := c.cfg.Command.Seconds
	if c.cfg.Task == Velocity {
		if math.IsInf(mem[memoryLeft], 1) {
			c.cfg.Velocity.hold(mem, ahead)
		}
		seconds = c.cfg.Velocity.Seconds
	}
	if s.Steps == 0 || seconds == 0 {
		return
	}
	if mem[memoryLeft]--; mem[memoryLeft] <= 0 {
		c.drawCommand(mem)
	}
}

// ReferencePose implements [ReferenceTask]: it writes the clip's pose at this moment. There is none without a clock. In
// the task [Track] the pose is at the clip's position. In other tasks, whose reward ignores that position, the pose has
// the character's horizontal position and heading.
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
	qpos[2] += s.QPos[2] - c.above(s)
	q := rotation.About([3]float64{0, 0, 1}, heading(s.QPos)-heading(qpos)).Mul(rotation.Of(qpos[3:]))
	copy(qpos[3:], q[:])
	return true
}
