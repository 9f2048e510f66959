package motions

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
)

var _ envs.OverlappingMotionSource = (*Source)(nil)

// Of a pair the second row begins one or two time steps behind the first of three moments, so that it begins with what the
// first ends with; in a clip that does not wrap both lie inside.
func TestOverlappingMotions(t *testing.T) {
	const step = 0.1
	for _, loop := range []Loop{LoopNone, LoopWrap} {
		l, err := NewLibrary(ramp(t, "ramp", 0, 2, 1, loop))
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Source(SourceConfig{History: 3, TimeStep: step, Features: clock})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.CollectOverlappingMotions(200, rand.New(rand.NewPCG(1, 2)))
		if err != nil || len(rows) != 200*2*6 {
			t.Fatalf("%d values, %v", len(rows), err)
		}
		seen := map[int]int{}
		for i := range 200 {
			first, second := rows[12*i:][:6], rows[12*i+6:][:6]
			later := int(math.Round(float64(second[0]-first[0]) / step))
			seen[later]++
			for h := range 3 {
				if d := second[2*h] - first[0] - float32(step)*float32(h+later); math.Abs(float64(d)) > 1e-5 {
					t.Fatalf("rows %v and %v are no windows of one motion", first, second)
				}
			}
			if loop == LoopNone && (first[0] < 0 || second[4] > 2+1e-5) {
				t.Fatalf("rows %v and %v leave the clip", first, second)
			}
		}
		if len(seen) != 2 || seen[1] < 50 || seen[2] < 50 {
			t.Errorf("the second row was this many time steps behind the first: %v", seen)
		}
		single, err := l.Source(SourceConfig{History: 1, TimeStep: step, Features: clock})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := single.CollectOverlappingMotions(1, rand.New(rand.NewPCG(1, 2))); err == nil || !strings.Contains(err.Error(), "History") {
			t.Errorf("rows of one moment: %v", err)
		}
		if _, err := s.CollectOverlappingMotions(-1, rand.New(rand.NewPCG(1, 2))); err == nil {
			t.Error("drew a negative number of pairs")
		}
	}
}
