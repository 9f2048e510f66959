package mujoco

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// everything randomises all there is.
func everything() RandomizeConfig {
	return RandomizeConfig{Friction: [2]float64{0.5, 1.2}, Mass: [2]float64{0.8, 1.2}, CenterOfMass: 0.02,
		Stiffness: [2]float64{0.8, 1.2}, Damping: [2]float64{0.8, 1.2}, MotorStrength: [2]float64{0.8, 1},
		Armature: [2]float64{0.9, 1.1}, JointOffset: 0.01, ActionDelay: [2]int{0, 2}, ObservationDelay: [2]int{1, 2},
		ObservationNoise: NoiseConfig{JointPos: 0.01, JointVel: 1.5, BaseAngVel: 0.2, ProjectedGravity: 0.05},
		Push:             PushConfig{Velocity: 0.5, Seconds: 0.2}}
}

// dog makes quadrupeds that nothing ends, after a Reset with the seed 1.
func dog(t testing.TB, cfg CharacterConfig) *Character {
	t.Helper()
	cfg.Body = QuadrupedBody()
	cfg.Body.Feet, cfg.Body.MinHeight, cfg.Body.MaxTilt = nil, 0, math.Pi
	return begun(t, cfg)
}

// drawn checks that values are uniform in [low, high].
func drawn(t *testing.T, name string, values []float64, low, high float64) {
	t.Helper()
	mean, n := 0.0, float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	sigma := (high - low) / math.Sqrt(12*n)
	if least, most := slices.Min(values), slices.Max(values); least < low-1e-9 || most > high+1e-9 ||
		math.Abs(mean-(low+high)/2) > 5*sigma || most-least < 0.9*(high-low) {
		t.Errorf("%s: %d values from %g to %g with the mean %g; they should be from %g to %g", name, len(values), least,
			most, mean, low, high)
	}
}

// TestRandomizeDraws checks the distribution of all that is drawn at a reset, and that metrics report it.
func TestRandomizeDraws(t *testing.T) {
	const n = 500
	e := dog(t, CharacterConfig{NumEnvs: n, Randomize: everything()})
	r, m := e.random, e.Model()
	got := map[string][]float64{}
	add := func(name string, v ...float64) { got[name] = append(got[name], v...) }
	for i := range n {
		model, mem := r.variant(i), r.memoryOf(i)
		for k := range int(m.m.npair) {
			mu := model[r.at["pairs"]+5*k:]
			must.Not(t, mu[0] != mu[1] || math.Abs(mu[0]-model[r.at["pairs"]]) > 1e-12 ||
				mu[2] != r.base[r.at["pairs"]+5*k+2], "environment %d: the pair %d has the friction %g", i, k, mu[:5])
		}
		add("friction", model[r.at["pairs"]])
		for k := 1; k < m.NumBodies(); k++ {
			f := model[r.at["mass"]+k] / r.base[r.at["mass"]+k]
			add("mass", f)
			inertia := r.at["inertia"] + 3*k
			must.Near(t, model[inertia]/r.base[inertia], f, 1e-12, "environment %d: inertia of body %d", i, k)
		}
		for j := range 3 {
			add("center", model[r.at["center"]+3+j]-r.base[r.at["center"]+3+j])
		}
		for k := range 12 {
			f := func(at int) float64 { return model[at] / r.base[at] }
			add("stiffness", f(r.at["gain"]+k*10))
			must.Near(t, f(r.at["bias"]+k*10+1), f(r.at["gain"]+k*10), 1e-12, "the stiffness of actuator %d", k)
			add("damping", f(r.at["damping"]+6+k))
			add("strength", f(r.at["force"]+2*k))
			add("armature", f(r.at["armature"]+6+k))
		}
		add("offset", mem[r.offsets:]...)
		add("action delay", mem[r.lags])
		add("observation delay", mem[r.lags+1])
		add("push", mem[r.push])
	}
	must.Is(t, len(got["offset"]), 12*n, "offsets")
	for name, want := range map[string][2]float64{"friction": {0.5, 1.2}, "mass": {0.8, 1.2}, "center": {-0.02, 0.02},
		"stiffness": {0.8, 1.2}, "damping": {0.8, 1.2}, "strength": {0.8, 1}, "armature": {0.9, 1.1},
		"offset": {-0.01, 0.01}, "action delay": {0, 2}, "observation delay": {1, 2}, "push": {1, 6}} {
		drawn(t, name, got[name], want[0], want[1])
	}
	metrics := envtest.Step(t, e, make([]float32, 12*n)).Metrics
	for name, of := range map[string]string{"friction": "friction", "stiffness": "stiffness", "damping": "damping",
		"motor_strength": "strength", "armature": "armature", "action_delay": "action delay",
		"observation_delay": "observation delay"} {
		must.Near(t, metrics["quadruped/"+name], stat.Mean(got[of], nil), 1e-6, "the mean of %s", name)
	}
	must.Near(t, metrics["quadruped/joint_offset"], 0.005, 0.0005, "the mean size of the joints' offsets")
}

// TestRandomizeDerived compares a model that has been made twice as heavy with one compiled that way.
func TestRandomizeDerived(t *testing.T) {
	body := QuadrupedBody()
	e := dog(t, CharacterConfig{Randomize: RandomizeConfig{Mass: [2]float64{2, 2}}})
	double := regexp.MustCompile(` mass="([0-9.]+)"`).ReplaceAllStringFunc(body.XML, func(s string) string {
		mass := must.Get(strconv.ParseFloat(strings.Trim(s, ` mas="`), 64))(t)
		return ` mass="` + strconv.FormatFloat(2*mass, 'g', -1, 64) + `"`
	})
	m := must.Open(ParseModel(double))(t)
	same := must.Get(newRandomizer(e.task, must.Open(NewBatch(m, 1, 1))(t)))(t)
	must.Near(t, same.base[1], 2*e.random.base[1], 1e-12, "the mass of the compiled model's trunk")
	for k, v := range e.random.variant(0) {
		if k == len(same.base)-1 && headerVersion >= 3000000 {
			break // MuJoCo 3 keeps the mean inertia, which scales the solver's tolerance alone
		}
		if want := same.base[k]; math.Abs(v-want) > 1e-9*math.Abs(want) {
			t.Errorf("number %d is %.15g; in the compiled model it is %.15g", k, v, want)
		}
	}
}

// TestRandomizePhysics: each number has its effect (mass: TestRandomizeDerived).
func TestRandomizePhysics(t *testing.T) {
	at := func(v float64) [2]float64 { return [2]float64{v, v} }
	found := func(r RandomizeConfig, steps int, action float32, measure func(e *Character) float64) float64 {
		e := dog(t, CharacterConfig{Residual: true, Randomize: r})
		copy(e.batch.QPos(0), e.task.refs[0].clip.Frame(0))
		must.Do(t, e.batch.Reset(0))
		for range steps {
			envtest.Step(t, e, slices.Repeat([]float32{action}, 12))
		}
		return measure(e)
	}
	// On its back, with a sideways velocity of v, a dog slides v²/2μg.
	slide := func(e *Character) float64 {
		q := e.batch.QPos(0)
		q[2], q[3], q[4], q[5], q[6] = 0.05, 0, 1, 0, 0
		e.batch.QVel(0)[1] = 1
		must.Do(t, e.batch.Reset(0))
		from := q[1]
		for range 60 {
			envtest.Step(t, e, make([]float32, 12))
		}
		return q[1] - from
	}
	torque := func(e *Character) float64 { return e.State(0).ActuatorForce[0] }
	turned := func(e *Character) float64 { return e.State(0).QPos[7] }
	for name, c := range map[string]struct {
		low, high   RandomizeConfig
		steps       int
		action      float32
		measure     func(e *Character) float64
		least, most float64 // of the ratio
	}{
		"sliding": {RandomizeConfig{Friction: at(0.6)}, RandomizeConfig{Friction: at(0.1)}, 0, 0, slide, 5, 8},
		"strength": {RandomizeConfig{MotorStrength: at(0.25)}, RandomizeConfig{MotorStrength: at(0.5)}, 1, 5, torque,
			1.999, 2.001},
		"stiffness": {RandomizeConfig{Stiffness: at(0.5)}, RandomizeConfig{Stiffness: at(1)}, 1, 0.1, torque, 1.3, 2.1},
		"damping":   {RandomizeConfig{Damping: at(2)}, RandomizeConfig{Damping: at(1)}, 1, 5, turned, 1.2, 2.1},
		"armature":  {RandomizeConfig{Armature: at(20)}, RandomizeConfig{Armature: at(1)}, 1, 5, turned, 1.2, 10},
	} {
		low, high := found(c.low, c.steps, c.action, c.measure), found(c.high, c.steps, c.action, c.measure)
		must.Not(t, !(high/low >= c.least && high/low <= c.most), "%s: %g and %g; want %+v", name, low, high, c)
	}
}

// TestRandomizeCenter: the root's centre of mass moves in its own frame, and its geoms stay.
func TestRandomizeCenter(t *testing.T) {
	e := dog(t, CharacterConfig{Randomize: RandomizeConfig{CenterOfMass: 0.05}})
	plain := dog(t, CharacterConfig{})
	copy(plain.batch.QPos(0), e.batch.QPos(0))
	must.Do(t, plain.batch.forward(0, 0, 1))
	m, a, b := e.Model(), e.batch.data[0], plain.batch.data[0]
	at := e.random.at["center"] + 3
	var d [3]float64
	for j := range d {
		d[j] = e.random.variant(0)[at+j] - e.random.base[at+j]
	}
	for j, want := range rotation.Of(e.State(0).QPos[3:]).Rotate(d) {
		must.Near(t, floats(a.xipos, 6)[3+j]-floats(b.xipos, 6)[3+j], want, 1e-12, "the centre moves along axis %d", j)
		must.Not(t, want == 0, "the centre of mass stays along axis %d", j)
	}
	for g, v := range floats(a.geom_xpos, 3*int(m.m.ngeom)) {
		must.Near(t, v, floats(b.geom_xpos, 3*int(m.m.ngeom))[g], 1e-12, "coordinate %d of the geoms' positions", g)
	}
}
