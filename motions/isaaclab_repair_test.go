package motions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
)

// Isaac Lab's files come back as the motion that they were made of.
func TestRepairsIsaacLab(t *testing.T) {
	want := stroll(t, 60)
	for _, x := range []struct {
		name                string
		exponentials, twice bool
		sink                float64
		repairs             []string
	}{
		{"sound", false, false, 0, nil},
		{"exponential maps", true, false, 0, []string{"exponential maps"}},
		{"as shipped", true, true, 0.05, []string{"60 of 120 frames repeated", "the three numbers of 8 joints were exponential maps", "velocities of joints were not", "feet up to 5.0 cm under the floor"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := isaacFile(t, asIsaac(t, want, x.exponentials, x.twice, x.sink))
			c, err := ReadIsaacLab(r, r.Size(), "stroll")
			if err != nil {
				t.Fatal(err)
			}
			repairs := c.Repairs()
			for i, r := range x.repairs {
				if len(repairs) != len(x.repairs) || !strings.Contains(repairs[i], r) {
					t.Fatalf("repairs %q, want %q", repairs, x.repairs)
				}
			}
			h, err := Humanoid(c)
			if err != nil {
				t.Fatal(err)
			}
			expected := want
			if x.sink > 0 {
				by := make([]float64, want.NumFrames())
				for k := range by {
					by[k] = x.sink
				}
				if expected, err = want.lowered(by); err == nil {
					expected, err = expected.OnFloor()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			sameMotion(t, h, expected, 1e-5)
			if fmt.Sprint(h.Repairs()) != fmt.Sprint(repairs) {
				t.Errorf("%q after %q", h.Repairs(), repairs)
			}
			if values, shape, ok := c.Array("dof_positions"); !ok || shape[0] != len(values)/28 || (x.twice && shape[0] != 120) {
				t.Errorf("the file's own array: %v, %v", shape, ok)
			}
		})
	}
}

// Bodies whose velocities are not theirs are noticed, too.
func TestRepairsVelocitiesOfBodies(t *testing.T) {
	m := asIsaac(t, stroll(t, 30), false, false, 0)
	m["body_linear_velocities"] = npz.New("body_linear_velocities", make([]float32, 30*45), 30, 15, 3)
	r := isaacFile(t, m)
	c, err := ReadIsaacLab(r, r.Size(), "stroll")
	if err != nil {
		t.Fatal(err)
	}
	if repairs := c.Repairs(); len(repairs) != 1 || !strings.Contains(repairs[0], "velocities of bodies were not") {
		t.Errorf("%q", repairs)
	}
	if f := faultsOf(Check(c), "velocities"); len(f) > 0 {
		t.Errorf("%+v", f)
	}
}

// A clip whose pauses repeat frames now and then is not doubled, nor is one that stands still.
func TestDoubledFrames(t *testing.T) {
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
		if every, first := doubled(x.rows); every != x.every || (every > 1 && first != x.first) {
			t.Errorf("%v: one in %d from %d, want %d from %d", x.rows, every, first, x.every, x.first)
		}
	}
}
