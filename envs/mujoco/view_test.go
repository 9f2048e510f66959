package mujoco

import (
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"gonum.org/v1/gonum/spatial/r3"
)

// commanded makes a humanoid that takes another command every two steps.
func commanded(t *testing.T, task CharacterTask) *Character {
	t.Helper()
	env := must.Open(NewHumanoid(CharacterConfig{NumEnvs: 2, Task: task, Clock: task == Track,
		Command: CommandConfig{MinSpeed: 1, MaxSpeed: 2, Turn: 1, Seconds: 0.06}}))(t)
	envtest.Reset(t, env, 0)
	return env
}

// momentum is that of all bodies of a simulation, Σ m v of their centres of mass, by two positions an instant apart.
func momentum(t *testing.T, e *Env, i int) r3.Vec {
	t.Helper()
	m := e.model
	probe := must.Open(NewBatch(m, 1, 1))(t)
	const h = 1e-7
	s := e.State(i)
	centre := func(at float64) r3.Vec {
		q := probe.QPos(0)
		copy(q, s.QPos)
		for k := range 3 {
			q[k] += at * s.QVel[k]
		}
		turn := rotation.Exp([]float64{at * s.QVel[3], at * s.QVel[4], at * s.QVel[5]}) // in the root's own frame
		turned := rotation.Of(s.QPos[3:]).Mul(turn)
		copy(q[3:], turned[:])
		for k := 7; k < m.NQ(); k++ {
			q[k] += at * s.QVel[k-1]
		}
		must.Do(t, probe.forward(0, 0, 1))
		com := floats(probe.data[0].subtree_com, 3)
		return r3.Vec{X: com[0], Y: com[1], Z: com[2]}
	}
	return r3.Scale(m.Mass()/(2*h), r3.Sub(centre(h), centre(-h)))
}

// A push changes the momentum of the whole model by the impulse, wherever it is applied, and only there and then.
func TestPushIsAnImpulse(t *testing.T) {
	env := commanded(t, Imitate)
	_, at, err := env.Model().JointAddress("right_elbow")
	must.Do(t, err)
	turned := map[string]float64{} // the change of the elbow's velocity by the body that is pushed
	for _, body := range []string{"pelvis", "head", "right_hand"} {
		id := must.Get(env.Model().ID(Body, body))(t)
		other, elbow := slices.Clone(env.State(1).QVel), env.State(0).QVel[at]
		before := momentum(t, env.Env, 0)
		must.Do(t, env.Push(0, id, [3]float64{3, -20, 7}))
		if d := r3.Sub(momentum(t, env.Env, 0), before); r3.Norm(r3.Sub(d, r3.Vec{X: 3, Y: -20, Z: 7})) > 1e-3 {
			t.Errorf("a push of the %s changes the momentum by %v", body, d)
		}
		must.Same(t, other, env.State(1).QVel, "the other environment is pushed too")
		turned[body] = math.Abs(env.State(0).QVel[at] - elbow)
	}
	must.Not(t, math.Abs(turned["head"]-turned["pelvis"]) < 0.1, "pushes turn the right elbow by %v rad/s", turned)
	// It goes on from there: nothing of the push stays on.
	state := envtest.State(t, env)
	actions := make([]float32, 2*28)
	envtest.Step(t, env, actions)
	after := slices.Clone(env.State(0).QPos)
	must.Do(t, env.RestoreState(state))
	envtest.Step(t, env, actions)
	must.Same(t, after, env.State(0).QPos, "a restored environment goes on otherwise after a push")
	must.Refuse(t, env.Push(2, 1, [3]float64{}), "environment 2 of 2")
	must.Refuse(t, env.Push(0, 16, [3]float64{}), "bodies 1 to 15")
	must.Refuse(t, env.Push(0, 1, [3]float64{math.NaN()}), "finite")
}

// Shapes are the model's geoms, and poses where MuJoCo has them; a reference's are where its clip has them.
func TestShapesAndPoses(t *testing.T) {
	env := commanded(t, Track)
	shapes := must.Get(env.Shapes())(t)
	head := must.Get(env.Model().ID(Geom, "head"))(t)
	if s := shapes[head]; s.Kind != "sphere" || s.Size[0] != 0.095 || s.Color.A != 255 || s.Color.R != 92 {
		t.Errorf("the head is %+v", s)
	}
	look := must.Get(env.Look(1))(t)
	poses := look.Poses
	must.Is(t, len(poses), 7*len(shapes), "poses")
	// The head is 0.175 m above its body, and turned as that is.
	body := must.Get(env.Model().ID(Body, "head"))(t)
	s, p := env.State(1), poses[7*head:7*head+7]
	q := rotation.Quat{float64(p[3]), float64(p[4]), float64(p[5]), float64(p[6])}
	for k, d := range q.Rotate([3]float64{0, 0, 0.175}) {
		must.Near(t, float64(p[k]), s.XPos[3*body+k]+d, 1e-6, "coordinate %d of the head", k)
	}
	for k, v := range q.Rotate([3]float64{1, 0, 0}) {
		must.Near(t, v, s.XMat[9*body+3*k], 1e-6, "coordinate %d of the head's x axis", k)
	}
	// At the beginning of an episode the clip is where the character is, but for its lift.
	must.Is(t, len(look.Reference), len(poses), "poses of the reference")
	for k, v := range look.Reference {
		want := float64(poses[k])
		if k%7 == 2 && k > 7 {
			want -= characterLift
		}
		must.Near(t, float64(v), want, 1e-6, "number %d of the reference", k)
	}
	env.Close()
	must.Refused(env.Look(0))(t, "")
}
