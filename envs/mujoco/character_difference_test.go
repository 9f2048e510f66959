package mujoco

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/motions"
)

// moved is a simulation in which the state of environment 0 is changed, as a task sees it after a step.
func moved(t *testing.T, e *Character, change func(s *State)) *State {
	t.Helper()
	s := &e.states[0]
	change(s)
	if err := e.batch.forward(0, 1); err != nil {
		t.Fatal(err)
	}
	return s
}

// A character that is where the clip is differs by zeros.
func TestNoDifference(t *testing.T) {
	for name, body := range bodies {
		for _, hide := range []bool{false, true} {
			e := characterOf(t, CharacterConfig{Body: body(), Clock: true, Difference: true, HideRoot: hide})
			if _, err := e.Reset(1); err != nil {
				t.Fatal(err)
			}
			c, r := e.task, &e.task.refs[0]
			out := make([]float32, e.Spaces().AMPObservation.Width())
			for row := 0; row < r.rows; row += 7 {
				s := moved(t, e, func(s *State) {
					c.memory(s)[memoryTime] = r.time(row)
					c.follow(s)
					copy(s.QPos, c.scratch[0].qpos)
					copy(s.QVel, c.scratch[0].qvel)
				})
				c.writeDifference(s, out)
				if d := farthest32(out, make([]float32, len(out))); d > 1e-6 {
					t.Fatalf("%s: in row %d the clip differs from itself by %g", name, row, d)
				}
			}
		}
	}
}

// Differences are those of the clip's and the character's states, by other formulas: rotation matrices, and a simulation
// that stands as the clip does.
func TestDifferenceIsBruteForce(t *testing.T) {
	for name, body := range bodies {
		e := characterOf(t, CharacterConfig{Body: body(), NumEnvs: 6, Task: Track, Residual: true, Difference: true, Deviation: 1e6})
		m, pose := e.Model(), batchOf(t, e.Model())
		if _, err := e.Reset(2); err != nil {
			t.Fatal(err)
		}
		hinges := m.NU()
		width := 12 + 2*hinges + 3*len(e.task.keys)
		rng := rand.New(rand.NewPCG(3, 1))
		actions := make([]float32, 6*hinges)
		for step := range 20 {
			for i := range actions {
				actions[i] = float32(rng.NormFloat64())
			}
			got, err := e.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.AMPObservations) != 6*width {
				t.Fatalf("%s: %d numbers, want %d", name, len(got.AMPObservations), 6*width)
			}
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
				if err := pose.forward(0, 1); err != nil {
					t.Fatal(err)
				}
				xpos, xmat := floats(pose.data[0].xpos, 3*m.NumBodies()), floats(pose.data[0].xmat, 9*m.NumBodies())
				ahead := func(mat []float64, v [3]float64) [3]float64 { // a vector in the heading frame of a body's matrix
					yaw := math.Atan2(mat[3], mat[0])
					return [3]float64{math.Cos(yaw)*v[0] + math.Sin(yaw)*v[1], math.Cos(yaw)*v[1] - math.Sin(yaw)*v[0], v[2]}
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
						t.Fatalf("%s: step %d, environment %d: number %d is %g, want %g", name, step, i, k, got.AMPObservations[i*width+k], w)
					}
				}
			}
		}
	}
}

// The turn between rotations leads from one to the other, the shorter way, whatever the quaternions' signs.
func TestRotationVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	unit := func() []float64 {
		q := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
		return []float64{q[0] / n, q[1] / n, q[2] / n, q[3] / n}
	}
	for range 200 {
		from, to := unit(), unit()
		x, y, z := rotationVector(from, to)
		angle := math.Sqrt(x*x + y*y + z*z)
		if d := math.Abs(angle - angleBetween(from, to)); angle > math.Pi || d > 1e-6 {
			t.Fatalf("an angle of %g, want %g", angle, angleBetween(from, to))
		}
		sin, cos := math.Sincos(angle / 2)
		turn := []float64{cos, sin * x / angle, sin * y / angle, sin * z / angle}
		v := [3]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		a, b, c := rotate(from, v[0], v[1], v[2])
		a, b, c = rotate(turn, a, b, c)
		d, e, f := rotate(to, v[0], v[1], v[2])
		if math.Abs(a-d)+math.Abs(b-e)+math.Abs(c-f) > 1e-6 {
			t.Fatalf("turned to %g, want %g", []float64{a, b, c}, []float64{d, e, f})
		}
	}
}

// Differences ask for a clip that is followed, are of one moment, and have no reference motion to draw.
func TestDifferenceSettings(t *testing.T) {
	march := []*motions.Clip{marching(t, HumanoidBody())}
	for _, x := range []struct {
		cfg  CharacterConfig
		want string
	}{
		{CharacterConfig{Difference: true}, "needs Clock"},
		{CharacterConfig{Difference: true, Clock: true, History: 2}, "of one moment"},
	} {
		x.cfg.Body, x.cfg.Motions = HumanoidBody(), march
		if _, err := NewCharacter(x.cfg); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v", x.cfg, err)
		}
	}
	for _, difference := range []bool{false, true} {
		e := characterOf(t, CharacterConfig{Body: HumanoidBody(), Clock: true, Difference: difference, NumEnvs: 3})
		if _, ok := envs.As[envs.MotionSource](e); ok == difference {
			t.Errorf("with Difference %v there is reference motion: %v", difference, ok)
		}
		if _, ok := envs.As[envs.OverlappingMotionSource](e); ok == difference {
			t.Errorf("with Difference %v there are overlapping windows: %v", difference, ok)
		}
		if _, err := e.CollectOverlappingMotions(1, rand.New(rand.NewPCG(1, 1))); errors.Is(err, errors.ErrUnsupported) != difference {
			t.Errorf("with Difference %v: %v", difference, err)
		}
		if _, err := e.CollectReferenceMotions(1, rand.New(rand.NewPCG(1, 1))); errors.Is(err, errors.ErrUnsupported) != difference {
			t.Errorf("with Difference %v: %v", difference, err)
		}
		if err := envs.Check(e, 100, 1); err != nil {
			t.Error(err)
		}
	}
	a := characterOf(t, CharacterConfig{Body: HumanoidBody(), Clock: true, Difference: true, HideRoot: true})
	b := characterOf(t, CharacterConfig{Body: HumanoidBody(), Clock: true, Difference: true})
	var rows [2][]float32
	for k, e := range []*Character{a, b} {
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		s, err := e.Step(make([]float32, 28))
		if err != nil {
			t.Fatal(err)
		}
		rows[k] = s.AMPObservations
	}
	if !slices.Equal(rows[0], rows[1][12:]) {
		t.Errorf("without the root the differences are %v, with it %v", rows[0], rows[1])
	}
}
