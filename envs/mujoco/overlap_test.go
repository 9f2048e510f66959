package mujoco

import (
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Of a pair of reference rows the second begins with what the first ends with: the walker's one control step later, a
// character's of four steps one to three later.
func TestOverlappingMotions(t *testing.T) {
	w := walkerOf(t, WalkerConfig{NumEnvs: 1})
	overlaps(t, w, 2, 1e-4)
	for _, body := range bodies {
		overlaps(t, characterOf(t, CharacterConfig{Body: body(), History: 4}), 4, 0.1)
	}
	short := characterOf(t, CharacterConfig{Body: HumanoidBody(), History: 1})
	must.Refuse(short.CollectOverlappingMotions(1, rand.New(rand.NewPCG(1, 2))))(t, "History")
}

// overlaps checks pairs of rows of so many moments, which the tables of rows hold up to a tolerance.
func overlaps(t *testing.T, e envs.Env, moments int, tolerance float64) {
	t.Helper()
	source, ok := envs.As[envs.OverlappingMotionSource](e)
	if !ok {
		t.Fatalf("%T shows no overlapping windows", e)
	}
	const n = 100
	rows, err := source.CollectOverlappingMotions(n, rand.New(rand.NewPCG(1, 2)))
	m := e.Spaces().AMPObservation.Width()
	if err != nil || len(rows) != n*2*m {
		t.Fatalf("%d values, %v", len(rows), err)
	}
	seen, width := map[int]int{}, m/moments
	for i := range n {
		first, second := rows[2*m*i:][:m], rows[2*m*i+m:][:m]
		best, at := 1e9, 0
		for later := 1; later < moments; later++ {
			if d := farthest32(first[later*width:], second[:m-later*width]); d < best {
				best, at = d, later
			}
		}
		if best > tolerance {
			t.Fatalf("%T: pair %d overlaps nowhere: at %d steps behind the first, the second row is %g away", e, i, at,
				best)
		}
		seen[at]++
	}
	must.Is(t, len(seen), moments-1, "%T: the second row was this many steps behind the first: %v", e, seen)
	must.Refuse(source.CollectOverlappingMotions(0, rand.New(rand.NewPCG(1, 2))))(t, "")
}
