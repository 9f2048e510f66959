package motions

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// isaacArrays is a sound clip of 4 frames, 2 degrees of freedom and 3 bodies.
func isaacArrays() []*npz.Array {
	const n, d, b = 4, 2, 3
	zeros := func(w int) []float32 { return make([]float32, n*w) }
	rotations := zeros(4 * b)
	for i := 0; i < len(rotations); i += 4 {
		rotations[i] = 1
	}
	return []*npz.Array{
		npz.New("fps", []int64{50}), npz.NewString("dof_names", []string{"hip", "knee"}, d),
		npz.NewString("body_names", []string{"pelvis", "thigh", "shin"}, b),
		npz.New("dof_positions", zeros(d), n, d), npz.New("dof_velocities", zeros(d), n, d),
		npz.New("body_positions", zeros(3*b), n, b, 3), npz.New("body_rotations", rotations, n, b, 4),
		npz.New("body_linear_velocities", zeros(3*b), n, b, 3), npz.New("body_angular_velocities", zeros(3*b), n, b, 3),
	}
}

// asIsaac returns the arrays of a humanoid clip as Isaac Lab's files hold it: exponential maps, every frame twice at 60
// frames a second, velocities of forward differences, and everything lower by sink metres.
func asIsaac(t *testing.T, c *Clip, exponentials, twice bool, sink float64) []*npz.Array {
	t.Helper()
	s := HumanoidSkeleton()
	joints := s.Joints()
	var dofNames, bodyNames []string
	for _, j := range joints {
		dofNames = append(dofNames, j.Name)
	}
	for _, b := range s.Bodies {
		bodyNames = append(bodyNames, b.Name)
	}
	var dofs, places, turns, rates, linear, angular []float32
	n, times := 0, 1
	if twice {
		times = 2
	}
	positions, rotations := make([]float64, 45), make([]float64, 60)
	to32 := func(to *[]float32, values []float64) {
		for _, x := range values {
			*to = append(*to, float32(x))
		}
	}
	for k := range c.NumFrames() {
		row := append([]float64(nil), c.Frame(k)...)
		row[2] -= sink
		s.Forward(row, positions, rotations)
		if exponentials {
			at := 7
			for _, b := range s.Bodies {
				if len(b.Joints) == 3 {
					v := b.rotation(row[at:]).Log()
					copy(row[at:], v[:])
				}
				at += len(b.Joints)
			}
		}
		for range times {
			to32(&dofs, row[7:])
			to32(&places, positions)
			to32(&turns, rotations)
			n++
		}
	}
	rate := float32(30 * times)
	for i := range dofs {
		next := dofs[min(i+28, len(dofs)-28+i%28)]
		rates = append(rates, (next-dofs[i])*rate)
	}
	for k := range n { // of the bodies, as a smooth tool has them
		a, b := max(0, k-times), min(n-1, k+times)
		h := float64(b-a) / float64(rate)
		for i := range 45 {
			linear = append(linear, float32(float64(places[45*b+i]-places[45*a+i])/h))
		}
		for i := range 15 {
			q := func(k int) (q rotation.Quat) {
				for j := range q {
					q[j] = float64(turns[60*k+4*i+j])
				}
				return q
			}
			for _, x := range rotation.Vector(q(a), q(b)) {
				angular = append(angular, float32(x/h))
			}
		}
	}
	return []*npz.Array{
		npz.New("fps", []int64{int64(rate)}), npz.NewString("dof_names", dofNames, 28),
		npz.NewString("body_names", bodyNames, 15), npz.New("dof_positions", dofs, n, 28),
		npz.New("dof_velocities", rates, n, 28), npz.New("body_positions", places, n, 15, 3),
		npz.New("body_rotations", turns, n, 15, 4), npz.New("body_linear_velocities", linear, n, 15, 3),
		npz.New("body_angular_velocities", angular, n, 15, 3),
	}
}

// Isaac Lab's files become the motion that they were made of.
func TestRepairsIsaacLab(t *testing.T) {
	want := stroll(t, 60)
	still := npz.New("body_linear_velocities", make([]float32, 60*45), 60, 15, 3)
	for _, x := range []struct {
		name                string
		exponentials, twice bool
		sink                float64
		other               *npz.Array
		repairs             []string
	}{
		{name: "sound"},
		{name: "exponential maps", exponentials: true, repairs: []string{"exponential maps"}},
		{name: "velocities", other: still, repairs: []string{"velocities of bodies"}},
		{name: "as shipped", exponentials: true, twice: true, sink: 0.05, repairs: []string{"60 of 120 frames",
			"numbers of 8 joints were exponential maps", "velocities of joints", "up to 5.0 cm under the floor"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			arrays := asIsaac(t, want, x.exponentials, x.twice, x.sink)
			if x.other != nil {
				arrays = append(arrays, x.other)
			}
			c := must.Get(parse(npzOf(t, arrays...), "stroll"))(t)
			repairs := c.Repairs()
			for i, r := range x.repairs {
				must.Not(t, len(repairs) != len(x.repairs) || !strings.Contains(repairs[i], r), "repairs %q, want %q",
					repairs, x.repairs)
			}
			h, expected := must.Get(Humanoid(c))(t), want
			if x.sink > 0 {
				sunk := must.Get(lower(want, slices.Repeat([]float64{x.sink}, want.NumFrames())))(t)
				expected = must.Get(sunk.OnFloor())(t)
			}
			sameMotion(t, h, expected, 1e-5)
			must.Same(t, h.Repairs(), repairs, "repairs of the humanoid")
			must.Is(t, len(faultsOf(Check(c), "velocities")), 0, "faults of velocities")
			compareBodies(t, c)
		})
	}
}

// compareBodies holds the bodies of an Isaac Lab clip of the humanoid against its joints: the files of Isaac Lab hold
// both.
func compareBodies(t *testing.T, c *Clip) {
	t.Helper()
	s := HumanoidSkeleton()
	p := newPose(s, nil)
	for k, row := range isaacRows(c) {
		p.set(row)
		f := c.Frame(k)
		for i, b := range s.Bodies {
			x, _, ok := c.description.Find(b.Name + "/x")
			q, _, _ := c.description.Find(b.Name + "/rotation")
			if !ok {
				continue
			}
			at := p.position(i)
			must.Near(t, p.rotation(i).AngleTo(rotation.Of(f[q:])), 0, 0.02, "frame %d: rad that %s is off", k, b.Name)
			must.Near(t, math.Sqrt(squaredDistance(at[:], f[x:x+3])), 0, 0.02, "frame %d: m that %s is off", k, b.Name)
		}
	}
}

// A clip whose pauses repeat frames now and then is not doubled, nor is one that stands still.
func TestFindRepeats(t *testing.T) {
	for _, x := range []struct {
		pattern      []float64
		every, first int
	}{
		{[]float64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, 2, 0}, {[]float64{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}, 2, 1},
		{[]float64{1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9}, 1, 0}, {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, 0},
	} {
		var rows [][]float64
		for _, v := range x.pattern {
			rows = append(rows, []float64{v})
		}
		every, first := findRepeats(rows)
		must.Not(t, every != x.every || every > 1 && first != x.first, "%v: one in %d from %d", x.pattern, every, first)
	}
}
