package robot

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/infer"
)

// Config holds optional settings of a [Controller].
type Config struct {
	// Limits are the thresholds of the watchdog.
	Limits Limits
	// Estimates are the names of the observed values that the caller supplies, see the package's comment.
	Estimates []string
}

// Targets are the targets and gains for a robot's joint control, in the order of the joints.
type Targets struct {
	// Sequence and Time are copied from the measurements on which the targets are based.
	Sequence uint32
	Time     int64
	// Damping says that the robot is in damping mode: Stiffness is zero, and Position is the measured one.
	Damping bool
	// Position is in rad, Stiffness in N·m/rad. Gain is the damping in N·m·s/rad.
	Position, Stiffness, Gain []float64
}

// Controller drives one robot by a policy. One goroutine at a time may use it. It allocates no memory until a fault.
type Controller struct {
	policy *infer.Policy
	robot  envs.Robot
	limits Limits
	// parts are the observation's, estimates what they need.
	parts       []part
	estimates   []envs.RobotTerm
	period      time.Duration
	sensors     Sensors // the newest
	decoded     Sensors // of the packet that is read
	observation []float32
	action      []float32 // the last one, clipped
	view        view
	moment      moment
	targets     Targets
	before      []float64 // targets of the step before
	middle      []float64 // the pose to which actions are added
	// sensed is the time of the last measurements, due the time of the next step. Both are zero at first.
	sensed, due time.Time
	running     bool // a step has acted since the last Reset
	fault       *Fault
}

// New makes a controller of a policy whose file describes the robot. A policy that observes what the robot does not
// measure is refused, unless Config.Estimates names it.
func New(p *infer.Policy, cfg Config) (*Controller, error) {
	r, ok := p.Robot()
	if !ok {
		return nil, errors.New("robot: the policy's file does not say for which robot it is; export it by gorl " +
			"export from a run whose folder has robot.json, or give it a description by Policy.WithRobot")
	}
	c := &Controller{policy: p.Clone(), robot: r, limits: cfg.Limits}
	if err := c.limits.fill(&r); err != nil {
		return nil, err
	}
	var err error
	if c.parts, c.estimates, err = read(&r); err != nil {
		return nil, err
	}
	if err := refuse(c.estimates, cfg.Estimates); err != nil {
		return nil, err
	}
	n, estimates := len(r.Joints), 0
	for _, e := range c.estimates {
		estimates += e.Size
	}
	for _, s := range []*Sensors{&c.sensors, &c.decoded} {
		s.Position, s.Velocity = make([]float64, n), make([]float64, n)
		s.Command, s.Estimates = make([]float64, len(r.Commands)), make([]float64, estimates)
	}
	c.period = time.Duration(float64(time.Second) / r.Frequency)
	c.observation, c.action = make([]float32, r.Width()), make([]float32, n)
	c.targets = Targets{Position: make([]float64, n), Stiffness: make([]float64, n), Gain: make([]float64, n)}
	c.before, c.middle = make([]float64, n), make([]float64, n)
	c.view = view{sensors: &c.sensors, robot: &c.robot, action: c.action, command: make([]float64, len(r.Commands))}
	return c, nil
}

// Robot returns the description of the robot. It must not be changed.
func (c *Controller) Robot() envs.Robot { return c.robot }

// Period is the duration of a control step.
func (c *Controller) Period() time.Duration { return c.period }

// Estimates returns the names and sizes of the values in Sensors.Estimates, in order.
func (c *Controller) Estimates() []envs.RobotTerm { return slices.Clone(c.estimates) }

// Fault returns why the robot is in damping mode, nil if it is not.
func (c *Controller) Fault() *Fault { return c.fault }

// Stop puts the robot into damping mode, as an operator's emergency stop does.
func (c *Controller) Stop() {
	if c.fault == nil {
		c.fault = &Fault{Stopped, "the operator has stopped the robot"}
	}
}

// Reset ends damping mode. The next step begins an episode: the policy's memory and last action are zeros, and a clip
// begins with phase 0. Measurements that came before are forgotten, with their sequence numbers.
func (c *Controller) Reset() error {
	if err := c.policy.Reset(); err != nil {
		return err
	}
	clear(c.action)
	c.view.time, c.running, c.fault, c.moment = 0, false, nil, moment{}
	c.sensed, c.due = time.Time{}, time.Time{}
	return nil
}

// Sense copies measurements that arrived at the time now. It ignores measurements whose sequence number is not higher
// than that of the last ones.
func (c *Controller) Sense(now time.Time, s *Sensors) {
	if len(s.Position) != len(c.sensors.Position) || len(s.Velocity) != len(c.sensors.Velocity) ||
		len(s.Command) != len(c.sensors.Command) || len(s.Estimates) != len(c.sensors.Estimates) {
		c.malformed(fmt.Errorf("%d positions, %d velocities, %d commands and %d estimates; the robot has %d joints, "+
			"%d commands and %d estimates", len(s.Position), len(s.Velocity), len(s.Command), len(s.Estimates),
			len(c.sensors.Position), len(c.sensors.Command), len(c.sensors.Estimates)))
		return
	}
	if !c.sensed.IsZero() {
		ahead := int32(s.Sequence - c.sensors.Sequence)
		if ahead <= 0 {
			c.moment.disordered++
			return
		}
		c.moment.lost = max(c.moment.lost, int(ahead)-1)
		c.slip(s)
	}
	c.moment.disordered = 0
	c.sensors.copyFrom(s)
	c.sensed = now
}

// slip records how far a joint's change since the last measurements is outside of what the velocities then and now say.
func (c *Controller) slip(s *Sensors) {
	dt := float64(s.Time-c.sensors.Time) / 1e9
	for i, p := range s.Position {
		moved, a, b := p-c.sensors.Position[i], dt*c.sensors.Velocity[i], dt*s.Velocity[i]
		if d := max(min(a, b)-moved, moved-max(a, b)); d > c.moment.slip && dt > 0 && dt <= 1.01/c.robot.Frequency {
			c.moment.slip, c.moment.slipped = d, i
		}
	}
}

// malformed records the error of a packet that cannot be read.
func (c *Controller) malformed(err error) {
	if c.moment.malformed == nil {
		c.moment.malformed = err
	}
}

// Step must be called every [Controller.Period] with the current time. It returns targets, which are valid until the
// next call. Before the first measurements, and after a fault, the targets are those of damping mode.
func (c *Controller) Step(now time.Time) *Targets {
	if c.fault == nil && (!c.sensed.IsZero() || c.moment.malformed != nil) {
		c.fault = c.act(now)
	}
	c.targets.Sequence, c.targets.Time = c.sensors.Sequence, c.sensors.Time
	if c.targets.Damping = c.fault != nil || !c.running; c.targets.Damping {
		for i := range c.robot.Joints {
			p := c.sensors.Position[i]
			if p-p != 0 { // a broken encoder's
				p = c.robot.Joints[i].Default
			}
			c.targets.Position[i], c.targets.Stiffness[i] = p, 0
			c.targets.Gain[i] = c.robot.Joints[i].Damping
		}
	}
	return &c.targets
}

// act writes the policy's targets unless there is a fault.
func (c *Controller) act(now time.Time) *Fault {
	m := &c.moment
	m.sensors, m.age, m.late = &c.sensors, now.Sub(c.sensed), 0
	if !c.due.IsZero() {
		m.late = now.Sub(c.due)
	}
	c.due = now.Add(c.period)
	if fault := c.limits.judge(&c.robot, m); fault != nil {
		return fault
	}
	m.before = m.sensors.Position
	if c.running {
		copy(c.before, c.targets.Position)
		m.before = c.before
	} else {
		m.start = c.middle
	}
	m.policy = c.choose()
	m.targets = c.targets.Position
	if fault := c.limits.judge(&c.robot, m); fault != nil {
		return fault
	}
	for i, j := range c.robot.Joints {
		c.targets.Stiffness[i], c.targets.Gain[i] = j.Stiffness, j.Damping
	}
	disordered := m.disordered
	*m = moment{disordered: disordered}
	c.running = true
	return nil
}

// choose makes the observation, calls the policy and writes the targets' positions.
func (c *Controller) choose() error {
	v := &c.view
	v.q, _ = c.sensors.unit()
	v.gravity = gravity(v.q)
	for i, r := range c.robot.Commands {
		v.command[i] = max(r.Low, min(r.High, c.sensors.Command[i]))
	}
	for _, p := range c.parts {
		p.write(v, c.sensors.Estimates[p.first:p.last], c.observation[p.at:p.end])
	}
	if err := c.policy.Act(c.observation, c.action); err != nil {
		return err
	}
	v.time += 1 / c.robot.Frequency
	clip := c.robot.Reference
	follows := clip != nil && len(clip.Positions) > 0 && !clip.Compared
	if follows {
		clip.At(v.time+clip.Lead, c.middle)
	}
	for i, j := range c.robot.Joints {
		if clip := float32(c.robot.ActionClip); clip > 0 {
			c.action[i] = max(-clip, min(clip, c.action[i]))
		}
		if !follows {
			c.middle[i] = j.Default
		}
		c.targets.Position[i] = c.middle[i] + j.Scale*float64(c.action[i])
	}
	return nil
}
