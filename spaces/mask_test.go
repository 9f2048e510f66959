package spaces

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Random actions are uniform among the choices that masks allow, and sets with unfit masks are refused.
func TestActionMask(t *testing.T) {
	s := Set{Observation: Unbounded(1), Action: NewMultiDiscrete(3, 2)}
	s.ActionMask = NewActionMask(s.Action)
	must.Do(t, s.Validate())
	rng, rows, seen := rand.New(rand.NewPCG(1, 1)), make([]float32, 2), map[[2]float32]int{}
	for range 3000 {
		s.SampleActions(rng, rows, []float32{1, 0, 1, 0, 1})
		seen[[2]float32(rows)]++
	}
	if a, b := seen[[2]float32{0, 1}], seen[[2]float32{2, 1}]; a+b != 3000 || a < 1300 || b < 1300 {
		t.Errorf("drew %v; want about 1500 of 0 1 and of 2 1", seen)
	}
	for _, c := range []struct {
		action, mask Space
		want         string
	}{
		{NewBox(-1, 1, 3), NewActionMask(NewBox(-1, 1, 3)),
			"need a Discrete or MultiDiscrete action space, got Box(3)"},
		{NewDiscrete(3), NewActionMask(NewDiscrete(4)), "does not fit the action space Discrete(3)"},
		{NewDiscrete(3), NewMultiDiscrete(2, 2, 2), "does not fit the action space Discrete(3)"},
	} {
		s.Action, s.ActionMask = c.action, c.mask
		must.Fail(t, s.Validate(), c.want)
	}
}

// Seats have names of their own, and make up the spaces; sets differ if their seats do.
func TestSeats(t *testing.T) {
	seat := func(name string) Seat { return Seat{Name: name, Observation: Unbounded(2), Action: NewDiscrete(3)} }
	masked := seat("b")
	masked.Team, masked.ActionMask = "blue", NewActionMask(masked.Action)
	set := NewSeats(Unbounded(4), seat("a"), masked)
	if err := set.Validate(); err != nil || set.Observation.Width() != 4 || set.ActionMask.Width() != 3 {
		t.Fatalf("%v, %v", set, err)
	}
	narrow := set
	narrow.Observation = Unbounded(4)
	limited := seat("a")
	limited.Observation = NewBox(-1, 1, 2)
	for want, other := range map[string]Set{
		"seats a, b (team blue, action masks): none": {State: set.State, Observation: set.Observation,
			Action: set.Action, ActionMask: set.ActionMask},
		"seats a, b (team blue, action masks): a, c":   NewSeats(set.State, seat("a"), seat("c")),
		"observation space Tuple(Box(2), Box(2)): Box": narrow,
		"observation space Tuple(Box(2), Box(2)) with limits -Inf to +Inf in dimension 0: Tuple(Box(2), Box(2)) with " +
			"limits -1 to 1 in dimension 0": NewSeats(set.State, limited, masked),
	} {
		if len(other.Seats) > 1 && other.Seats[1].Name == "c" {
			other.ActionMask = set.ActionMask
		}
		name, got, with := set.Difference(other)
		if text := name + " " + got + ": " + with; !strings.HasPrefix(text, want) {
			t.Errorf("difference %q, want %q", text, want)
		}
	}
	twice := NewSeats(Space{}, seat("a"), seat("a"))
	must.Fail(t, twice.Validate(), `seat 1: spaces: the name is "a"`)
	must.Fail(t, narrow.Validate(), "is not that of the seats")
}
