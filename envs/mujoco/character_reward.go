package mujoco

import (
	"math"

	"github.com/gorl-dev/gorl/internal/rotation"
)

// characterTerm is one term of the reward: weight · exp(−sharpness · error), as in DeepMimic (Peng et al. 2018).
type characterTerm struct{ weight, sharpness float64 }

// of returns the value of the term for a sum of squared errors.
func (t *characterTerm) of(e float64) float64 { return t.weight * math.Exp(-t.sharpness*e) }

// characterTerms are the parameters of an environment's reward. Errors are sums of squares, in m, rad, m/s and rad/s.
type characterTerms struct {
	// The terms of the task Track. The errors of pose and velocity are those of the hinges. The error of root is that
	// of the root's position plus 0.1 times that of its rotation. The error of rootVelocity is that of the linear
	// velocity plus 0.1 times that of the angular one. keys is about the key bodies' positions relative to the root.
	pose, velocity, root, rootVelocity, keys characterTerm
	// The terms of the task Command: of the root's horizontal velocity, and of the heading.
	command, facing characterTerm
	// The terms of the task Velocity: of the root's horizontal velocity, and of its turn.
	linear, angular characterTerm
	// Penalties of the task Velocity: of the root's vertical velocity (m/s)², of its angular velocity but the turn
	// (rad/s)², of the torques (N·m)², and of the change of actions by the step.
	bounce, wobble, effort, actionRate float64
	// alive is added in every step of every task. Fade reduces its share, as that of the other terms.
	alive float64
	// rise is the whole reward of a step on the floor with Recovery, for a character that has got up entirely. Lying
	// upside down it is 0.
	rise float64
}

// defaultCharacterTerms returns the default parameters. The weights of the task [Track] sum to 1, and so do those of
// [Command]. The task [Imitate] rewards each step by 1.
func defaultCharacterTerms(task CharacterTask) characterTerms {
	t := characterTerms{
		pose: characterTerm{0.5, 2}, velocity: characterTerm{0.1, 0.005}, root: characterTerm{0.15, 10},
		rootVelocity: characterTerm{0.1, 1}, keys: characterTerm{0.15, 10}, command: characterTerm{0.75, 4},
		facing: characterTerm{0.25, 4}, linear: characterTerm{1, 4}, angular: characterTerm{0.5, 4},
		bounce: 1, wobble: 0.05, effort: 2e-5, actionRate: 0.01, rise: 0.5,
	}
	if task == Imitate {
		t.alive = 1
	}
	return t
}

// fields returns pointers to the parameters by their key, such as "pose.weight".
func (t *characterTerms) fields() map[string]*float64 {
	out := map[string]*float64{"alive": &t.alive, "rise": &t.rise, "lin_vel_z": &t.bounce, "ang_vel_xy": &t.wobble,
		"effort": &t.effort, "action_rate": &t.actionRate}
	for name, term := range map[string]*characterTerm{"pose": &t.pose, "velocity": &t.velocity, "root": &t.root,
		"root_velocity": &t.rootVelocity, "keys": &t.keys, "command": &t.command, "facing": &t.facing,
		"track_linear_velocity": &t.linear, "track_angular_velocity": &t.angular} {
		out[name+".weight"], out[name+".sharpness"] = &term.weight, &term.sharpness
	}
	return out
}

// Reward implements [Task]. A character that has fallen terminates in every task. Reward also records for FailureStarts
// in which bin the episode terminates.
func (c *characterTask) Reward(s *State) (reward float64, terminated bool) {
	t, b := &c.terms[s.Env], &c.cfg.Body
	// up is the cosine of the angle between the root's z axis and the vertical.
	up := 1 - 2*(s.QPos[4]*s.QPos[4]+s.QPos[5]*s.QPos[5])
	fallen := c.above(s) < b.MinHeight || up < math.Cos(b.MaxTilt)
	if len(b.Feet) > 0 {
		for body, touches := range s.Touch[1:] {
			fallen = fallen || touches == 2 && !c.feet[body+1]
		}
	}
	if c.cfg.Recovery.Seconds > 0 && (c.cfg.Task != Track || c.told() == 0) {
		if rising, over := c.recovering(s, fallen); rising {
			return t.rise * c.risen(s, up), over
		}
	}
	reward = t.alive
	switch c.cfg.Task {
	case Command:
		mem := c.memory(s)
		sin, cos := math.Sincos(mem[memoryDirection])
		dx, dy := s.QVel[0]-mem[memorySpeed]*cos, s.QVel[1]-mem[memorySpeed]*sin
		angle := math.Remainder(heading(s.QPos)-mem[memoryDirection], 2*math.Pi)
		reward += t.command.of(dx*dx+dy*dy) + t.facing.of(angle*angle)
	case Velocity:
		reward += c.velocityReward(s, t)
	case Track:
		if told := c.told(); told > 0 {
			// Fade relaxes the limit and mixes the reward with that of Imitate, 1 per step.
			tracking, lost := c.tracking(s, t, c.cfg.Deviation/told)
			reward = told*(reward+tracking) + (1 - told)
			fallen = fallen || lost
		} else {
			reward = 1
		}
	}
	if fell := c.starts.fell; fell != nil {
		if fell[s.Env] = -1; fallen || s.Diverged {
			fell[s.Env] = c.bin(c.memory(s))
		}
	}
	return reward, fallen
}

// tracking returns DeepMimic's reward for the distance from the clip at this moment. lost reports whether the root or
// a key body is more than allowed metres from the clip's. Act has written the clip into the environment's scratch.
func (c *characterTask) tracking(s *State, t *characterTerms, allowed float64) (reward float64, lost bool) {
	now := &c.scratch[s.Env]
	pose, velocity := squares(s.QPos, now.qpos, rootPositions, c.nq), squares(s.QVel, now.qvel, rootVelocities, c.nv)
	place := squares(s.QPos, now.qpos, 0, 3)
	linear, angular := squares(s.QVel, now.qvel, 0, 3), squares(s.QVel, now.qvel, 3, rootVelocities)
	q := rotation.Of(s.QPos[3:])
	turn := 2 * math.Acos(min(1, math.Abs(q.Dot(rotation.Of(now.qpos[3:])))))
	limit, keys := allowed*allowed, 0.0
	lost = place > limit
	var p [3]float64
	mem, frame := c.memory(s), rotation.Facing(q)
	clip := c.reference(mem)
	for k, body := range c.keys {
		clip.key(mem[memoryTime], k, &p)
		v := fromRoot(frame, s.QPos, s.XPos, body)
		d := (p[0]-v[0])*(p[0]-v[0]) + (p[1]-v[1])*(p[1]-v[1]) + (p[2]-v[2])*(p[2]-v[2])
		keys += d
		lost = lost || d > limit
	}
	return t.pose.of(pose) + t.velocity.of(velocity) + t.root.of(place+0.1*turn*turn) +
		t.rootVelocity.of(linear+0.1*angular) + t.keys.of(keys), lost
}

// squares returns the sum of the squared differences of a and b from one index to before another.
func squares(a, b []float64, from, to int) (sum float64) {
	for i := from; i < to; i++ {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return sum
}

// MetricNames implements [MetricTask].
func (c *characterTask) MetricNames() []string {
	names := []string{"speed"}
	if c.refs != nil {
		names = append(names, "joint_error")
	}
	switch c.cfg.Task {
	case Command:
		names = append(names, "velocity_error")
	case Velocity:
		names = append(names, "velocity_error", "turn_error")
	}
	return names
}

// Metrics implements [MetricTask], see [Character] for the values.
func (c *characterTask) Metrics(s *State, out []float64) {
	mem := c.memory(s)
	direction := heading(s.QPos)
	if c.cfg.Task == Command {
		direction = mem[memoryDirection]
	}
	sin, cos := math.Sincos(direction)
	out[0] = cos*s.QVel[0] + sin*s.QVel[1]
	out = out[1:]
	if c.refs != nil {
		out[0] = c.jointError(s)
		out = out[1:]
	}
	switch c.cfg.Task {
	case Command:
		out[0] = math.Hypot(s.QVel[0]-mem[memorySpeed]*cos, s.QVel[1]-mem[memorySpeed]*sin)
	case Velocity:
		forward, left, turn := moving(s)
		out[0] = math.Hypot(forward-mem[memoryForward], left-mem[memoryLeftward])
		out[1] = math.Abs(turn - mem[memoryTurn])
	}
}

// jointError returns the mean absolute difference in radians of the hinges' angles to the clip at this moment or,
// without a clock, to the nearest frame of any clip.
func (c *characterTask) jointError(s *State) float64 {
	joints := s.QPos[rootPositions:]
	if c.cfg.Clock && c.told() > 0 {
		return apart(joints, c.scratch[s.Env].qpos[rootPositions:], math.Inf(1)) / float64(len(joints))
	}
	best := math.Inf(1)
	for i := range c.refs {
		for _, f := range c.refs[i].poses {
			best = min(best, apart(joints, f, best))
		}
	}
	return best / float64(len(joints))
}

// apart returns the sum of absolute differences of a and b. It stops when the sum exceeds limit, so that a search for
// the nearest pose need not finish the others. The result is then any number above limit.
func apart(a, b []float64, limit float64) float64 {
	sum := 0.0
	for i, v := range a {
		if sum += math.Abs(v - b[i]); sum > limit {
			break
		}
	}
	return sum
}
