package spaces

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func nested() Space {
	return NewDict(map[string]Space{
		"joints": NewBox(-1, 1, 3), "gripper": NewDiscrete(4),
		"arm": NewDict(map[string]Space{"speed": Unbounded(2), "mode": NewMultiDiscrete(2, 3)}),
	})
}

func TestDictCheckAndSample(t *testing.T) {
	s := nested() // columns: mode 0-1, speed 2-3, gripper 4, joints 5-7
	good := []float32{1, 2, -7, 9, 3, 0, 5, -5}
	must.Do(t, s.Check(append(good, good...), 2))
	for column, bad := range map[int]float32{0: 2, 1: 3, 2: nan, 4: 4, 5: inf} {
		rows := append(append([]float32(nil), good...), good...)
		rows[8+column] = bad
		must.Refuse(t, s.Check(rows, 2), "environment 1, dimension "+string(rune('0'+column)))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, 1000*s.Width())
	s.Sample(rng, rows)
	must.Do(t, s.Check(rows, 1000))
	seen := map[float32]bool{}
	for row := range slices.Chunk(rows, 8) {
		seen[row[4]] = true
		must.Not(t, slices.Min(row[5:]) < -1 || slices.Max(row[5:]) > 1, "joints %g are outside their limits", row[5:])
	}
	must.Is(t, len(seen), 4, "grippers drawn: %v", seen)
	must.Is(t, testing.AllocsPerRun(20, func() {
		s.Sample(rng, rows)
		if s.Check(rows, 1000) != nil {
			t.Fatal()
		}
	}), 0, "allocations")
}
