package robot

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// leg returns a robot of two joints and a policy for it: action i is weight times the measured velocity of joint i.
func leg(t testing.TB, weight float32, terms ...envs.RobotTerm) (envs.Robot, *infer.Policy) {
	t.Helper()
	if terms == nil {
		terms = []envs.RobotTerm{{Name: "joint_vel", Size: 2}, {Name: "projected_gravity", Size: 3},
			{Name: "joint_pos", Size: 2}, {Name: "actions", Size: 2}, {Name: "base_ang_vel", Size: 3},
			{Name: "command", Size: 1}}
	}
	r := envs.Robot{Name: "leg", Frequency: 50, ActionClip: 5, MaxTilt: 0.8, Observation: terms,
		Commands: []envs.RobotCommand{{Name: "speed", Low: -1, High: 1}}}
	for _, name := range []string{"hip", "knee"} {
		r.Joints = append(r.Joints, envs.RobotJoint{Name: name, Default: 0.5, Zero: 0.5, Scale: 0.25, Stiffness: 20,
			Damping: 1, Effort: 30, Low: -1, High: 2})
	}
	n := r.Width()
	weights := make([]float32, 2*n)
	weights[0], weights[n+1] = weight, weight
	return r, linear(t, r, weights)
}

// linear returns a policy for a robot whose actions are weights (joints, width) times the observation.
func linear(t testing.TB, r envs.Robot, weights []float32) *infer.Policy {
	t.Helper()
	n, joints := r.Width(), len(r.Joints)
	d := description.Policy{Observation: spaces.Unbounded(n), Action: spaces.Unbounded(joints),
		Network:      description.MLP("policy/", n, nil, joints, ""),
		Distribution: description.Distribution{Kind: description.Deterministic}}
	snap := checkpoint.NewSnapshot()
	snap.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{int64(joints), int64(n)}, weights)
	snap.Arrays["policy/net.0.bias"] = checkpoint.ArrayFloat32([]int64{int64(joints)}, make([]float32, joints))
	p := must.Get(infer.New(d, snap))(t)
	return must.Get(p.WithRobot(r))(t)
}

// standing returns what the leg measures in its default pose.
func standing(sequence int) *Sensors {
	return &Sensors{Sequence: uint32(sequence), Time: int64(sequence) * 2e7, Position: []float64{0.5, 0.5},
		Velocity: []float64{0.1, -0.2}, Quaternion: [4]float64{1, 0, 0, 0},
		AngularVelocity: [3]float64{0.01, 0.02, 0.03}, Command: []float64{3}}
}

// drill is a controller with a clock of its own.
type drill struct {
	*Controller
	now      time.Time
	sequence int
}

func drilled(t testing.TB, weight float32) *drill {
	t.Helper()
	_, p := leg(t, weight)
	c := must.Get(New(p, Config{}))(t)
	return &drill{Controller: c, now: time.Unix(100, 0)}
}

// step sends measurements, unless they are nil, and takes a step one period later.
func (d *drill) step(s *Sensors) *Targets {
	if s != nil {
		d.Receive(d.now, AppendState(nil, s))
	}
	targets := d.Step(d.now)
	d.now = d.now.Add(d.Period())
	return targets
}

// next returns good measurements.
func (d *drill) next() *Sensors { d.sequence++; return standing(d.sequence) }

// An observation has its terms in the order of the description, and targets are default + scale · action.
func TestActs(t *testing.T) {
	d := drilled(t, 2)
	if waiting := d.step(nil); !waiting.Damping || d.Fault() != nil {
		t.Errorf("before the first measurements: %+v, %v", waiting, d.Fault())
	}
	d.step(d.next())
	s := d.next()
	s.Quaternion = [4]float64{math.Cos(0.25), 0, math.Sin(0.25), 0} // pitched down by half a radian
	targets := d.step(s)
	want := []float32{0.1, -0.2, float32(math.Sin(.5)), 0, float32(-math.Cos(.5)), 0, 0, 0.2, -0.4, 0.01, 0.02, 0.03, 1}
	for i, x := range want {
		if math.Abs(float64(d.observation[i]-x)) > 1e-6 {
			t.Errorf("value %d is %g, want %g", i, d.observation[i], x)
		}
	}
	if got := fmt.Sprintf("%.3f %v %v %v", targets.Position, targets.Stiffness, targets.Gain, targets.Damping); got !=
		"[0.550 0.400] [20 20] [1 1] false" {
		t.Error(got)
	}
	back := must.Get(DecodeTargets(targets.Append(nil)))(t)
	if back.Sequence != 2 || !slices.Equal(back.Stiffness, targets.Stiffness) || back.Damping {
		t.Errorf("%+v", back)
	}
}

var update = flag.Bool("update", false, "write testdata/faults.txt anew")

// TestFaults keeps a table of faults and what they do: the robot is damped in the same step, stays damped while
// everything is well again, and drives on after a reset.
func TestFaults(t *testing.T) {
	nan := math.NaN()
	change := func(f func(*Sensors)) func(*drill) {
		return func(d *drill) { s := d.next(); f(s); d.Receive(d.now, AppendState(nil, s)) }
	}
	raw := func(b []byte) func(*drill) { return func(d *drill) { d.Receive(d.now, b) } }
	old := func(n int) func(*drill) {
		return func(d *drill) {
			for range n {
				d.Receive(d.now, AppendState(nil, standing(2)))
			}
		}
	}
	good := func(d *drill) { d.Receive(d.now, AppendState(nil, d.next())) }
	var table strings.Builder
	for _, c := range []struct {
		what string
		do   func(*drill)
	}{
		{"nothing is wrong", good},
		{"three steps without measurements", func(d *drill) { d.step(nil); d.step(nil) }},
		{"four steps without measurements", func(d *drill) { d.step(nil); d.step(nil); d.step(nil) }},
		{"a position is NaN", change(func(s *Sensors) { s.Position[1] = nan })},
		{"a velocity is infinite", change(func(s *Sensors) { s.Velocity[0] = math.Inf(1) })},
		{"the angular velocity is NaN", change(func(s *Sensors) { s.AngularVelocity[2] = nan })},
		{"the command is NaN", change(func(s *Sensors) { s.Command[0] = nan })},
		{"the quaternion is zeros", change(func(s *Sensors) { s.Quaternion = [4]float64{} })},
		{"a joint is within the margin of its limit", change(func(s *Sensors) { s.Position[0], s.Time = 2.09, 0 })},
		{"a joint is beyond its limit", change(func(s *Sensors) { s.Position[0] = 2.2 })},
		{"the body has tilted", change(func(s *Sensors) { s.Quaternion = [4]float64{0.8, 0.6, 0, 0} })},
		{"a target moves by more than a radian", change(func(s *Sensors) { s.Velocity[0] = 2.4 })},
		{"a target jumps", func(d *drill) {
			s := d.next()
			s.Velocity[0] = -2
			d.step(s)
			change(func(s *Sensors) { s.Velocity[0] = 2 })(d)
		}},
		{"a joint moves as fast as it says", change(func(s *Sensors) { s.Position[0], s.Velocity[0] = 0.54, 2 })},
		{"an encoder slips", change(func(s *Sensors) { s.Position[0] += 0.3 })},
		{"an encoder is off at the start", func(d *drill) {
			must.Do(t, d.Reset())
			change(func(s *Sensors) { s.Position[1] -= 0.5 })(d)
		}},
		{"the policy's result is infinite", change(func(s *Sensors) { s.Velocity[0] = 3e38 })},
		{"a step is one period late", func(d *drill) { d.now = d.now.Add(d.Period()); good(d) }},
		{"a step is late by more than two", func(d *drill) { d.now = d.now.Add(41 * time.Millisecond); good(d) }},
		{"a packet is cut", raw(AppendState(nil, standing(9))[:40])},
		{"a packet is empty", raw(nil)},
		{"a packet is of something else", raw([]byte(strings.Repeat("hello ", 20)))},
		{"a packet is of a robot with three joints", raw(AppendState(nil, &Sensors{Position: make([]float64, 3),
			Velocity: make([]float64, 3)}))},
		{"three packets are old", old(3)},
		{"four packets are old", old(4)},
		{"five packets are missing", func(d *drill) { d.sequence += 5; good(d) }},
		{"six packets are missing", func(d *drill) { d.sequence += 6; good(d) }},
		{"the operator stops the robot", func(d *drill) { d.Stop() }},
	} {
		d := drilled(t, 2)
		for range 3 {
			if d.step(d.next()).Damping {
				t.Fatalf("%s: damped before: %v", c.what, d.Fault())
			}
		}
		c.do(d)
		targets, verdict := d.step(nil), "drives on"
		if f := d.Fault(); f != nil {
			verdict = fmt.Sprintf("%s: %s", f.Kind, f.Detail)
		}
		fmt.Fprintf(&table, "%-42s%s\n", c.what, verdict)
		if targets.Damping != (d.Fault() != nil) {
			t.Errorf("%s: %v with the targets %+v", c.what, d.Fault(), targets)
		}
		if d.Fault() == nil {
			continue
		}
		for range 5 {
			targets = d.step(d.next())
			infinite := slices.ContainsFunc(targets.Position, func(v float64) bool { return v-v != 0 })
			if infinite || !targets.Damping || fmt.Sprint(targets.Stiffness, targets.Gain) != "[0 0] [1 1]" {
				t.Errorf("%s: the robot did not stay in damping mode: %+v", c.what, targets)
			}
		}
		must.Do(t, d.Reset())
		if targets = d.step(d.next()); targets.Damping {
			t.Errorf("%s: after a reset: %v", c.what, d.Fault())
		}
	}
	const path = "testdata/faults.txt"
	if *update {
		must.Do(t, os.WriteFile(path, []byte(table.String()), 0o600))
	}
	must.Is(t, table.String(), string(must.Read(t, path)), "the table is\n")
}

// What a robot does not measure is refused, or supplied.
func TestEstimates(t *testing.T) {
	terms := []envs.RobotTerm{{Name: "joint_vel", Size: 2}, {Name: "base_lin_vel", Size: 3}, {Name: "sonar", Size: 2}}
	r, p := leg(t, 1, terms...)
	for _, c := range []struct {
		supplied []string
		want     string
	}{
		{nil, "observes base_lin_vel, sonar, which encoders and an IMU do not measure"},
		{[]string{"sonar"}, "observes base_lin_vel, which"},
		{[]string{"sonar", "base_lin_vel", "height"}, `has height, which the policy does not need`},
	} {
		must.Refused(New(p, Config{Estimates: c.supplied}))(t, c.want)
	}
	d := must.Get(New(p, Config{Estimates: []string{"base_lin_vel", "sonar"}}))(t)
	s := standing(1)
	s.Estimates = []float64{1, 2, 3, 4, 5}
	d.Sense(time.Unix(1, 0), s)
	d.Step(time.Unix(1, 0))
	must.Same(t, d.observation[2:], []float32{1, 2, 3, 4, 5}, "observed")
	r.Observation = []envs.RobotTerm{{Name: "joint_vel", Size: 2}, {Name: "projected_gravity", Size: 5}}
	must.Refused(New(must.Get(p.WithRobot(r))(t), Config{}))(t, "of this robot it has 3")
}

// A policy without a description is refused, and a description that does not fit.
func TestDescriptions(t *testing.T) {
	r, p := leg(t, 1)
	bare := p.Snapshot()
	bare.Metadata = nil
	must.Refused(New(must.Get(infer.FromSnapshot(bare))(t), Config{}))(t, "robot.json")
	again := must.Get(infer.FromSnapshot(p.Snapshot()))(t)
	if got, ok := again.Robot(); !ok || fmt.Sprint(got) != fmt.Sprint(r) {
		t.Errorf("%v became %v", r, got)
	}
	for want, spoil := range map[string]func(*envs.Robot){
		"1 joint":          func(r *envs.Robot) { r.Joints = r.Joints[:1] },
		"used twice":       func(r *envs.Robot) { r.Joints[1].Name = "hip" },
		"frequency":        func(r *envs.Robot) { r.Frequency = math.Inf(1) },
		"not finite":       func(r *envs.Robot) { r.Joints[0].Scale = math.NaN() },
		"must not be nega": func(r *envs.Robot) { r.Joints[0].Stiffness = -1 },
		"wrong order":      func(r *envs.Robot) { r.Joints[0].Low = 3 },
		"has 1 rows; it": func(r *envs.Robot) {
			r.Reference = &envs.RobotReference{Duration: 1, Positions: [][]float64{{1, 2}}, Root: [][]float64{{1}}}
		},
		"row 0 of the reference's root": func(r *envs.Robot) {
			r.Reference = &envs.RobotReference{Duration: 1, Positions: [][]float64{{1, 2}},
				Root: [][]float64{{1}, {1}}}
		},
		"row 1 of the refer": func(r *envs.Robot) {
			r.Reference = &envs.RobotReference{Duration: 1, Positions: [][]float64{{1, 2}, {1}}}
		},
	} {
		bad := r
		bad.Joints = slices.Clone(r.Joints)
		spoil(&bad)
		must.Refused(p.WithRobot(bad))(t, want)
	}
}

// No packet breaks the controller, whoever sent it.
func FuzzPackets(f *testing.F) {
	f.Add(AppendState(nil, standing(1)))
	f.Add((&Targets{Position: []float64{1}, Stiffness: []float64{2}, Gain: []float64{3}}).Append(nil))
	_, p := leg(f, 2)
	c := must.Get(New(p, Config{}))(f)
	f.Fuzz(func(t *testing.T, packet []byte) {
		must.Do(t, c.Reset())
		now := time.Unix(1, 0)
		c.Receive(now, packet)
		targets := c.Step(now)
		for _, v := range slices.Concat(targets.Position, targets.Stiffness, targets.Gain) {
			must.Is(t, v-v, 0, "targets %+v", targets)
		}
		_, _ = DecodeTargets(packet) // must not panic
	})
}
