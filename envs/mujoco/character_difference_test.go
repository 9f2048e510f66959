package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Differences are those of the clip's and the character's states, by other formulas: rotation matrices, and a
// simulation that stands as the clip does.
func TestDifferenceIsBruteForce(t *testing.T) {
	for name, body := range bodies {
		e := characterOf(t, CharacterConfig{Body: body(), NumEnvs: 6, Task: Track, Residual: true, Difference: true,
			Deviation: 1e6})
		m, pose := e.Model(), must.Open(NewBatch(e.Model(), 1, 1))(t)
		envtest.Reset(t, e, 2)
		hinges := m.NU()
		width := 12 + 2*hinges + 3*len(e.task.keys)
		rng := rand.New(rand.NewPCG(3, 1))
		actions := make([]float32, 6*hinges)
		for step := range 20 {
			noise(actions, 1, rng)
			got := envtest.Step(t, e, actions)
			must.Is(t, len(got.AMPObservations), 6*width, "%s", name)
			for i := range 6 {
				if got.Ended(i) {
					continue // its state is that of another episode
				}
				s := e.State(i)
				mem := e.task.memory(s)
				clip := moment{pose.QPos(0), pose.QVel(0)}
				e.task.refs[0].at(mem[memoryTime], clip)
				clip.qpos[0] -= mem[memoryX]
				clip.qpos[1] -= mem[memoryY]
				must.Do(t, pose.forward(0, 0, 1))
				xpos := floats(pose.data[0].xpos, 3*m.NumBodies())
				there := r3.NewMat(floats(pose.data[0].xmat, 18)[9:])
				here := r3.NewMat(s.XMat[9:18])
				vec := func(v []float64) r3.Vec { return r3.Vec{X: v[0], Y: v[1], Z: v[2]} }
				ahead := func(mat *r3.Mat, v r3.Vec) r3.Vec { // a vector in the heading frame of a body's matrix
					return r3.Rotate(v, -math.Atan2(mat.At(1, 0), mat.At(0, 0)), r3.Vec{Z: 1})
				}
				var want []float64
				add := func(v r3.Vec) { want = append(want, v.X, v.Y, v.Z) }
				add(ahead(there, r3.Sub(vec(clip.qpos), vec(s.QPos))))
				// The turn is there · hereᵀ; its axis is that of the antisymmetric part.
				var turn r3.Mat
				turn.Mul(there, here.T())
				axis := r3.Vec{X: turn.At(2, 1) - turn.At(1, 2), Y: turn.At(0, 2) - turn.At(2, 0),
					Z: turn.At(1, 0) - turn.At(0, 1)}
				angle := math.Atan2(r3.Norm(axis)/2, (turn.At(0, 0)+turn.At(1, 1)+turn.At(2, 2)-1)/2)
				add(ahead(there, r3.Scale(angle, r3.Unit(axis))))
				add(ahead(there, r3.Sub(vec(clip.qvel), vec(s.QVel))))
				add(ahead(there, r3.Sub(there.MulVec(vec(clip.qvel[3:])), here.MulVec(vec(s.QVel[3:])))))
				for k := range hinges {
					want = append(want, clip.qpos[7+k]-s.QPos[7+k])
				}
				for k := range hinges {
					want = append(want, clip.qvel[6+k]-s.QVel[6+k])
				}
				for _, body := range e.task.keys {
					p := r3.Sub(vec(xpos[3*body:]), vec(xpos[3:]))
					q := r3.Sub(vec(s.XPos[3*body:]), vec(s.XPos[3:]))
					add(r3.Sub(ahead(there, p), ahead(here, q)))
				}
				for k, w := range want {
					// Key bodies are interpolated between rows of a table, of 1/240 s.
					must.Near(t, float64(got.AMPObservations[i*width+k]), w, 2e-4*max(1, math.Abs(w)),
						"%s: step %d, environment %d: number %d", name, step, i, k)
				}
			}
		}
	}
}

// Differences have no reference motion to draw, and can leave out the root.
func TestDifferenceHasNoReference(t *testing.T) {
	for _, difference := range []bool{false, true} {
		e := characterOf(t, CharacterConfig{Body: HumanoidBody(), Clock: true, Difference: difference})
		_, single := envs.As[envs.MotionSource](e)
		_, overlapping := envs.As[envs.OverlappingMotionSource](e)
		_, err := e.CollectReferenceMotions(1, rand.New(rand.NewPCG(1, 1)))
		must.Not(t, single == difference || overlapping == difference || (err != nil) != difference,
			"with Difference %v there is reference motion: %v, %v, %v", difference, single, overlapping, err)
	}
	var rows [2][]float32
	for k := range rows {
		e := begun(t, CharacterConfig{Body: HumanoidBody(), Clock: true, Difference: true, HideRoot: k == 0})
		rows[k] = envtest.Step(t, e, make([]float32, 28)).AMPObservations
	}
	must.Same(t, rows[0], rows[1][12:], "without the root the differences")
}
