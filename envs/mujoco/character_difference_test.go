package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

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
				xpos, xmat := floats(pose.data[0].xpos, 3*m.NumBodies()), floats(pose.data[0].xmat, 9*m.NumBodies())
				// a vector in the heading frame of a body's matrix
				ahead := func(mat []float64, v [3]float64) [3]float64 {
					yaw := math.Atan2(mat[3], mat[0])
					return [3]float64{math.Cos(yaw)*v[0] + math.Sin(yaw)*v[1], math.Cos(yaw)*v[1] - math.Sin(yaw)*v[0],
						v[2]}
				}
				world := func(mat []float64, v []float64) (out [3]float64) {
					for j := range out {
						out[j] = mat[3*j]*v[0] + mat[3*j+1]*v[1] + mat[3*j+2]*v[2]
					}
					return out
				}
				less := func(a, b []float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
				there, here := xmat[9:18], s.XMat[9:18]
				var want []float64
				add := func(v [3]float64) { want = append(want, v[:]...) }
				add(ahead(there, less(clip.qpos, s.QPos)))
				// The turn is there · hereᵀ; its axis is that of the antisymmetric part.
				var turn [9]float64
				for a := range 3 {
					for b := range 3 {
						for k := range 3 {
							turn[3*a+b] += there[3*a+k] * here[3*b+k]
						}
					}
				}
				axis := [3]float64{turn[7] - turn[5], turn[2] - turn[6], turn[3] - turn[1]}
				size := math.Sqrt(axis[0]*axis[0] + axis[1]*axis[1] + axis[2]*axis[2])
				angle := math.Atan2(size/2, (turn[0]+turn[4]+turn[8]-1)/2)
				for k := range axis {
					axis[k] *= angle / size
				}
				add(ahead(there, axis))
				add(ahead(there, less(clip.qvel, s.QVel)))
				a, b := world(there, clip.qvel[3:6]), world(here, s.QVel[3:6])
				add(ahead(there, less(a[:], b[:])))
				for k := range hinges {
					want = append(want, clip.qpos[7+k]-s.QPos[7+k])
				}
				for k := range hinges {
					want = append(want, clip.qvel[6+k]-s.QVel[6+k])
				}
				for _, body := range e.task.keys {
					p := ahead(there, less(xpos[3*body:], xpos[3:]))
					q := ahead(here, less(s.XPos[3*body:], s.XPos[3:]))
					add(less(p[:], q[:]))
				}
				for k, w := range want {
					// Key bodies are interpolated between rows of a table, of 1/240 s.
					if d := float64(got.AMPObservations[i*width+k]) - w; !(math.Abs(d) < 2e-4*max(1, math.Abs(w))) {
						t.Fatalf("%s: step %d, environment %d: number %d is %g, want %g", name, step, i, k,
							got.AMPObservations[i*width+k], w)
					}
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
		e := characterOf(t, CharacterConfig{Body: HumanoidBody(), Clock: true, Difference: true, HideRoot: k == 0})
		envtest.Reset(t, e, 1)
		rows[k] = envtest.Step(t, e, make([]float32, 28)).AMPObservations
	}
	must.Same(t, rows[0], rows[1][12:], "without the root the differences")
}
