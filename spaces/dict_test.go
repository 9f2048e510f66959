package spaces

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func nested() Space {
	return NewDict(map[string]Space{
		"joints": NewBox(-1, 1, 3), "gripper": NewDiscrete(4),
		"arm": NewDict(map[string]Space{"speed": Unbounded(2), "mode": NewMultiDiscrete(2, 3)}),
	})
}

func TestDict(t *testing.T) {
	s := nested()
	must.Do(t, s.Validate())
	if s.Width() != 8 || s.Outputs() != 2+5+4+3 || s.Bounded() {
		t.Errorf("width %d, outputs %d, bounded %t; want 8, 14, false", s.Width(), s.Outputs(), s.Bounded())
	}
	if got, want := s.String(), "Dict(arm: Dict(mode: MultiDiscrete(2, 3), speed: Box(2)), gripper: Discrete(4), "+
		"joints: Box(3))"; got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	var names []string
	width := 0
	for _, l := range s.Leaves() {
		names, width = append(names, l.Name), width+l.Space.Width()
	}
	if got := strings.Join(names, " "); got != "arm.mode arm.speed gripper joints" || width != s.Width() {
		t.Errorf("leaves %s of width %d", got, width)
	}
	if leaves := NewDiscrete(3).Leaves(); len(leaves) != 1 || leaves[0].Name != "" ||
		!leaves[0].Space.Equal(NewDiscrete(3)) {
		t.Errorf("leaves of Discrete(3) are %v", leaves)
	}
	if Dict.String() != "Dict" {
		t.Error(Dict.String())
	}
}

func TestDictEqual(t *testing.T) {
	a := nested()
	if !a.Equal(nested()) {
		t.Error("a Dict differs from itself")
	}
	for _, b := range []Space{
		NewDict(nil), NewBox(-1, 1, 8),
		NewDict(map[string]Space{"joints": NewBox(-1, 1, 3), "gripper": NewDiscrete(4)}),
		NewDict(map[string]Space{"joint": NewBox(-1, 1, 3), "gripper": NewDiscrete(4), "arm": a.Entries[0].Space}),
		NewDict(map[string]Space{"joints": NewBox(-1, 2, 3), "gripper": NewDiscrete(4), "arm": a.Entries[0].Space}),
	} {
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("%v equals %v", a, b)
		}
	}
}

func TestDictValidateRefuses(t *testing.T) {
	box := Unbounded(1)
	for _, c := range []struct {
		space Space
		want  string
	}{
		{NewDict(nil), "at least one entry"},
		{NewDict(map[string]Space{"": box}), "entry 0 has no name"},
		{NewDict(map[string]Space{"a": {}}), `entry "a" has no space`},
		{NewDict(map[string]Space{"a": NewDiscrete(0)}), `entry "a": spaces: Discrete size 0 is 0`},
		{Space{Kind: Dict, Entries: []Entry{{"b", box}, {"a", box}}}, `"a" follows "b"`},
		{Space{Kind: Dict, Entries: []Entry{{"a", box}, {"a", box}}}, "named once"},
		{NewDict(map[string]Space{"a": NewDict(map[string]Space{"b": {Kind: Box}})}),
			`entry "a": spaces: Dict entry "b": spaces: a Box needs a shape`},
	} {
		must.Fail(t, c.space.Validate(), c.want)
	}
}

func TestDictCheckAndSample(t *testing.T) {
	s := nested() // columns: mode 0-1, speed 2-3, gripper 4, joints 5-7
	good := []float32{1, 2, -7, 9, 3, 0, 5, -5}
	must.Do(t, s.Check(append(good, good...), 2))
	for column, bad := range map[int]float32{0: 2, 1: 3, 2: nan, 4: 4, 5: inf} {
		rows := append(append([]float32(nil), good...), good...)
		rows[8+column] = bad
		must.Fail(t, s.Check(rows, 2), "environment 1, dimension "+string(rune('0'+column)))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, 1000*s.Width())
	s.Sample(rng, rows)
	must.Do(t, s.Check(rows, 1000))
	seen := map[float32]bool{}
	for i := range 1000 {
		seen[rows[8*i+4]] = true
		for _, joint := range rows[8*i+5 : 8*i+8] {
			if joint < -1 || joint > 1 {
				t.Fatalf("joint %g is outside its limits", joint)
			}
		}
	}
	must.Is(t, len(seen), 4, "grippers drawn: %v", seen)
	must.Is(t, testing.AllocsPerRun(20, func() {
		s.Sample(rng, rows)
		if s.Check(rows, 1000) != nil {
			t.Fatal()
		}
	}), 0, "allocations")
}
