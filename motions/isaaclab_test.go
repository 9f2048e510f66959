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

// asIsaac returns the arrays of a humanoid clip as Isaac Lab's files hold it: exponential maps, every frame twice at 60
// frames a second, velocities of forward differences, and everything lower by sink metres.
func asIsaac(t *testing.T, c *Clip, exponentials, twice bool, sink float64) []*npz.Array {
	t.Helper()
	s := HumanoidSkeleton()
	var dofNames, bodyNames []string
	for _, j := range s.Joints() {
		dofNames = append(dofNames, j.Name)
	}
	for _, b := range s.Bodies {
		bodyNames = append(bodyNames, b.Name)
	}
	n, times := c.NumFrames(), 1
	if twice {
		times = 2
	}
	f := must.Get(lower(c, slices.Repeat([]float64{sink}, n)))(t).bodyMotion(bodyNames)
	for k := range n {
		for at, row := 0, c.Frame(k)[7:]; exponentials && at < 28; at++ {
			if i := slices.IndexFunc(s.Bodies, func(b Body) bool {
				return len(b.Joints) == 3 && b.Joints[0].Name == dofNames[at]
			}); i >= 0 {
				for d, x := range s.Bodies[i].rotation(row[at:]).Log() {
					f.angles[28*k+at+d] = float32(x)
				}
			}
		}
	}
	var linear, angular []float32
	for k := range n { // of the bodies, as a smooth tool has them
		a, b := max(0, k-1), min(n-1, k+1)
		h := float64(b-a) / 30
		for i := range 45 {
			linear = append(linear, float32(float64(f.places[45*b+i]-f.places[45*a+i])/h))
		}
		for i := range 15 {
			q := func(k int) (q rotation.Quat) {
				for j := range q {
					q[j] = float64(f.turns[60*k+4*i+j])
				}
				return q
			}
			for _, x := range rotation.Vector(q(a), q(b)) {
				angular = append(angular, float32(x/h))
			}
		}
	}
	array := func(name string, values []float32, shape ...int) *npz.Array {
		var rows []float32
		for row := range slices.Chunk(values, len(values)/n) {
			rows = append(rows, slices.Repeat(row, times)...)
		}
		return npz.New(name, rows, append([]int{n * times}, shape...)...)
	}
	rate, dofs, rates := float32(30*times), []float32{}, []float32{}
	for row := range slices.Chunk(f.angles, 28) {
		dofs = append(dofs, slices.Repeat(row, times)...)
	}
	for i := range dofs {
		rates = append(rates, (dofs[min(i+28, len(dofs)-28+i%28)]-dofs[i])*rate)
	}
	return []*npz.Array{
		npz.New("fps", []int64{int64(rate)}), npz.NewString("dof_names", dofNames, 28),
		npz.NewString("body_names", bodyNames, 15), array("dof_positions", f.angles, 28),
		npz.New("dof_velocities", rates, n*times, 28), array("body_positions", f.places, 15, 3),
		array("body_rotations", f.turns, 15, 4), array("body_linear_velocities", linear, 15, 3),
		array("body_angular_velocities", angular, 15, 3),
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
	rows := func(pattern ...float64) [][]float64 {
		var out [][]float64
		for _, x := range pattern {
			out = append(out, []float64{x})
		}
		return out
	}
	for _, x := range []struct {
		rows         [][]float64
		every, first int
	}{
		{rows(1, 1, 2, 2, 3, 3, 4, 4, 5, 5), 2, 0},
		{rows(1, 2, 2, 3, 3, 4, 4, 5, 5, 6), 2, 1},
		{rows(1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4), 3, 0},
		{rows(1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9), 1, 0},
		{rows(1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 1, 0},
		{rows(1, 1, 2, 2), 1, 0},
	} {
		if every, first := findRepeats(x.rows); every != x.every || (every > 1 && first != x.first) {
			t.Errorf("%v: one in %d from %d, want %d from %d", x.rows, every, first, x.every, x.first)
		}
	}
}
