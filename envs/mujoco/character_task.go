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

// characterTask is the [Task] of [Character]. Its tables do not change; its terms only do between steps, and scratch
// belongs to the environments.
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
	scratch []moment // of each environment: the clip now
}

// moment is a clip's state in the coordinates of the model.
type moment struct{ qpos, qvel []float64 }

// characterMemory is where a character's memory, behind the features of its AMP history, holds what it does.
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
	return &characterTask{cfg: cfg, terms: slices.Repeat([]characterTerms{defaultCharacterTerms(cfg.Task)}, max(1, cfg.NumEnvs))}
}

// Init implements [Task].
func (c *characterTask) Init(m *Model) (Spec, error) {
	b := &c.cfg.Body
	c.nq, c.nv = m.NQ(), m.NV()
	hinges := c.nq - rootPositions
	if hinges < 1 || c.nv != hinges+rootVelocities || m.NU() != hinges {
		return Spec{}, fmt.Errorf("a character has a free joint and then hinges, with an actuator each; the model has %d positions, %d velocities and %d actuators",
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
	for range c.terms {
		c.scratch = append(c.scratch, moment{make([]float64, c.nq), make([]float64, c.nv)})
	}
	set := spaces.Set{
		Observation:    spaces.Unbounded(c.observation()),
		Action:         spaces.NewBox(-maxAction, maxAction, hinges),
		AMPObservation: spaces.Unbounded(c.cfg.History * c.style()),
	}
	return Spec{Name: b.Name, Spaces: set, Memory: (c.cfg.History-1)*c.style() + memorySize}, nil
}

// features is the number of features of a moment.
func (c *characterTask) features() int { return rootFeatures + 2*(c.nq-rootPositions) + 3*len(c.keys) }

// style is the number of those features, the last ones, that AMP observations have.
func (c *characterTask) style() int {
	if c.cfg.HideRoot {
		return c.features() - rootFeatures
	}
	return c.features()
}

// observation is the width of an observation.
func (c *characterTask) observation() int {
	n := c.features()
	if c.cfg.Clock {
		n += 2
	}
	switch c.cfg.Task {
	case Track:
		n += 5
	case Command:
		n += 3
	}
	return n
}

// memory returns what an environment remembers beside its history.
func (c *characterTask) memory(s *State) []float64 { return s.Memory[len(s.Memory)-memorySize:] }

// Reset starts at a random moment of a clip.
func (c *characterTask) Reset(s *State, rng *rand.Rand) {
	k := 0
	for x := rng.Float64() * c.weights[len(c.weights)-1]; k < len(c.weights)-1 && c.weights[k] <= x; k++ {
	}
	r, mem := &c.refs[k], c.memory(s)
	row := rng.IntN(r.rows)
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
	c.command(mem)
}

// command draws a direction and a speed.
func (c *characterTask) command(mem []float64) {
	d := &c.cfg.Command
	mem[memoryDirection] += d.Turn * (2*uniform(&mem[memoryRandom]) - 1)
	mem[memorySpeed] = d.MinSpeed + (d.MaxSpeed-d.MinSpeed)*uniform(&mem[memoryRandom])
	mem[memoryLeft] = math.Round(d.Seconds / c.dt)
}

// uniform draws from [0, 1) by a linear congruential generator of 32 bits, whose state a float64 holds exactly.
func uniform(state *float64) float64 {
	x := uint32(*state)*1664525 + 1013904223
	*state = float64(x)
	return float64(x>>8) / (1 << 24)
}

// Act implements [Task].
func (c *characterTask) Act(s *State, action []float32) {
	now, middle := &c.scratch[s.Env], c.middle
	if mem := c.memory(s); c.cfg.Clock {
		mem[memoryTime] += s.TimeStep
		c.refs[int(mem[memoryClip])].at(mem[memoryTime], *now)
		now.qpos[0] -= mem[memoryX]
		now.qpos[1] -= mem[memoryY]
		if c.cfg.Residual {
			middle = now.qpos[rootPositions:]
		}
	}
	for i, a := range action {
		s.Ctrl[i] = middle[i] + c.scale[i]*max(-maxAction, min(maxAction, float64(a)))
	}
}

// Reward implements [Task].
func (c *characterTask) Reward(s *State) (reward float64, terminated bool) {
	t, b := &c.terms[s.Env], &c.cfg.Body
	up := 1 - 2*(s.QPos[4]*s.QPos[4]+s.QPos[5]*s.QPos[5])
	fallen := s.QPos[2] < b.MinHeight || up < math.Cos(b.MaxTilt)
	if len(b.Feet) > 0 {
		for body, touches := range s.Touch[1:] {
			fallen = fallen || touches != 0 && !c.feet[body+1]
		}
	}
	reward = t.alive
	switch c.cfg.Task {
	case Command:
		mem := c.memory(s)
		sin, cos := math.Sincos(mem[memoryDirection])
		dx, dy := s.QVel[0]-mem[memorySpeed]*cos, s.QVel[1]-mem[memorySpeed]*sin
		angle := math.Remainder(heading(s.QPos[3:7])-mem[memoryDirection], 2*math.Pi)
		reward += t.command.of(dx*dx+dy*dy) + t.facing.of(angle*angle)
	case Track:
		tracking, lost := c.tracking(s, t)
		reward += tracking
		fallen = fallen || lost
	}
	return reward, fallen
}

// of is the term of a squared error.
func (t *characterTerm) of(e float64) float64 { return t.weight * math.Exp(-t.sharpness*e) }

// tracking is DeepMimic's reward for being where the clip is, and whether the character is too far from it.
func (c *characterTask) tracking(s *State, t *characterTerms) (reward float64, lost bool) {
	now := &c.scratch[s.Env]
	var pose, velocity, place, linear, angular, keys float64
	for i := rootPositions; i < c.nq; i++ {
		d := s.QPos[i] - now.qpos[i]
		pose += d * d
	}
	for i := rootVelocities; i < c.nv; i++ {
		d := s.QVel[i] - now.qvel[i]
		velocity += d * d
	}
	for i := range 3 {
		d := s.QPos[i] - now.qpos[i]
		place += d * d
		d = s.QVel[i] - now.qvel[i]
		linear += d * d
		d = s.QVel[3+i] - now.qvel[3+i]
		angular += d * d
	}
	turn := angleBetween(s.QPos[3:7], now.qpos[3:7])
	limit := c.cfg.Deviation * c.cfg.Deviation
	lost = place > limit
	var p, q [3]float64
	mem := c.memory(s)
	for k, body := range c.keys {
		c.refs[int(mem[memoryClip])].key(mem[memoryTime], k, &p)
		c.keyPlace(s, body, &q)
		d := (p[0]-q[0])*(p[0]-q[0]) + (p[1]-q[1])*(p[1]-q[1]) + (p[2]-q[2])*(p[2]-q[2])
		keys += d
		lost = lost || d > limit
	}
	return t.pose.of(pose) + t.velocity.of(velocity) + t.root.of(place+0.1*turn*turn) +
		t.rootVelocity.of(linear+0.1*angular) + t.keys.of(keys), lost
}

// keyPlace writes where a body is, seen from the root in the heading frame.
func (c *characterTask) keyPlace(s *State, body int, out *[3]float64) {
	sin, cos := math.Sincos(heading(s.QPos[3:7]))
	x, y := s.XPos[3*body]-s.QPos[0], s.XPos[3*body+1]-s.QPos[1]
	out[0], out[1], out[2] = cos*x+sin*y, cos*y-sin*x, s.XPos[3*body+2]-s.QPos[2]
}

// Observe implements [Task].
func (c *characterTask) Observe(s *State, out envs.Row) {
	width, mem := c.features(), c.memory(s)
	o := out.Observation
	c.writeFeatures(s.QPos, s.QVel, s.XPos, o[:width])
	history, style := s.Memory[:len(s.Memory)-memorySize], o[width-c.style():width]
	if out.AMPObservation != nil {
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
			c.command(mem)
		}
	}
	o = o[width:]
	if c.cfg.Clock {
		r := &c.refs[int(mem[memoryClip])]
		sin, cos := math.Sincos(2 * math.Pi * mem[memoryTime] / r.clip.Duration())
		o[0], o[1] = float32(sin), float32(cos)
		o = o[2:]
	}
	ahead := heading(s.QPos[3:7])
	switch c.cfg.Task {
	case Track:
		now := &c.scratch[s.Env]
		if out.AMPObservation == nil {
			c.refs[int(mem[memoryClip])].at(mem[memoryTime], *now)
			now.qpos[0] -= mem[memoryX]
			now.qpos[1] -= mem[memoryY]
		}
		sin, cos := math.Sincos(ahead)
		dx, dy := now.qpos[0]-s.QPos[0], now.qpos[1]-s.QPos[1]
		o[0], o[1], o[2] = float32(cos*dx+sin*dy), float32(cos*dy-sin*dx), float32(now.qpos[2]-s.QPos[2])
		sin, cos = math.Sincos(heading(now.qpos[3:7]) - ahead)
		o[3], o[4] = float32(sin), float32(cos)
	case Command:
		sin, cos := math.Sincos(mem[memoryDirection] - ahead)
		o[0], o[1], o[2] = float32(cos), float32(sin), float32(mem[memorySpeed])
	}
}

// writeFeatures writes the features of a moment; xpos (bodies, 3) belongs to qpos.
func (c *characterTask) writeFeatures(qpos, qvel, xpos []float64, out []float32) {
	sin, cos := math.Sincos(heading(qpos[3:7]))
	vector := func(at int, x, y, z float64) {
		out[at], out[at+1], out[at+2] = float32(cos*x+sin*y), float32(cos*y-sin*x), float32(z)
	}
	q := qpos[3:7]
	out[0] = float32(qpos[2])
	x, y, z := rotate(q, 1, 0, 0)
	vector(1, x, y, z)
	x, y, z = rotate(q, 0, 0, 1)
	vector(4, x, y, z)
	vector(7, qvel[0], qvel[1], qvel[2])
	x, y, z = rotate(q, qvel[3], qvel[4], qvel[5]) // MuJoCo's free joints turn in their own frame
	vector(10, x, y, z)
	at := 13
	for _, v := range qpos[rootPositions:] {
		out[at] = float32(v)
		at++
	}
	for _, v := range qvel[rootVelocities:] {
		out[at] = float32(v)
		at++
	}
	for _, body := range c.keys {
		p := xpos[3*body : 3*body+3]
		vector(at, p[0]-qpos[0], p[1]-qpos[1], p[2]-qpos[2])
		at += 3
	}
}

// MetricNames implements [MetricTask].
func (c *characterTask) MetricNames() []string {
	names := []string{"speed", "joint_error"}
	if c.cfg.Task == Command {
		names = append(names, "velocity_error")
	}
	return names
}

// Metrics implements [MetricTask].
func (c *characterTask) Metrics(s *State, out []float64) {
	mem := c.memory(s)
	direction := heading(s.QPos[3:7])
	if c.cfg.Task == Command {
		direction = mem[memoryDirection]
	}
	sin, cos := math.Sincos(direction)
	out[0] = cos*s.QVel[0] + sin*s.QVel[1]
	joints := s.QPos[rootPositions:]
	if c.cfg.Clock {
		out[1] = apart(joints, c.scratch[s.Env].qpos[rootPositions:], math.Inf(1)) / float64(len(joints))
	} else {
		best := math.Inf(1)
		for i := range c.refs {
			for _, f := range c.refs[i].poses {
				best = min(best, apart(joints, f, best))
			}
		}
		out[1] = best / float64(len(joints))
	}
	if c.cfg.Task == Command {
		out[2] = math.Hypot(s.QVel[0]-mem[memorySpeed]*cos, s.QVel[1]-mem[memorySpeed]*sin)
	}
}

// apart is the sum of absolute differences; where it exceeds limit, some number that does.
func apart(a, b []float64, limit float64) float64 {
	sum := 0.0
	for i, v := range a {
		if sum += math.Abs(v - b[i]); sum > limit {
			break
		}
	}
	return sum
}

// CollectReferenceMotions draws n rows, of a clip by weight and at a uniform time.
func (c *characterTask) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	if n <= 0 {
		return nil, fmt.Errorf("mujoco: character: %d reference motions; ask for at least one", n)
	}
	out := make([]float32, 0, n*c.cfg.History*c.style())
	for range n {
		x, k := rng.Float64()*c.weights[len(c.weights)-1], 0
		for k < len(c.weights)-1 && c.weights[k] <= x {
			k++
		}
		r := &c.refs[k]
		row := rng.IntN(r.rows)
		out = append(out, r.features[row*r.width:(row+1)*r.width]...)
	}
	return out, nil
}

// ReferencePose implements [ReferenceTask]: with a clock the clip's pose at this moment. Where the clip's place is not
// what counts, it stands where the character is and faces as it does.
func (c *characterTask) ReferencePose(s *State, qpos []float64) bool {
	if !c.cfg.Clock {
		return false
	}
	mem := c.memory(s)
	c.refs[int(mem[memoryClip])].at(mem[memoryTime], moment{qpos, make([]float64, c.nv)})
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

// heading is the angle in radians about the vertical at which a rotation's x axis points.
func heading(q []float64) float64 {
	return math.Atan2(2*(q[1]*q[2]+q[0]*q[3]), 1-2*(q[2]*q[2]+q[3]*q[3]))
}

// rotate turns a vector by a unit quaternion.
func rotate(q []float64, x, y, z float64) (float64, float64, float64) {
	w, a, b, c := q[0], q[1], q[2], q[3]
	tx, ty, tz := 2*(b*z-c*y), 2*(c*x-a*z), 2*(a*y-b*x)
	return x + w*tx + b*tz - c*ty, y + w*ty + c*tx - a*tz, z + w*tz + a*ty - b*tx
}

// angleBetween is the angle in radians between two rotations.
func angleBetween(a, b []float64) float64 {
	dot := a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3]
	return 2 * math.Acos(min(1, math.Abs(dot)))
}
