package spaces

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

var inf, nan = float32(math.Inf(1)), float32(math.NaN())

func TestWidthsAndNames(t *testing.T) {
	for _, c := range []struct {
		space          Space
		width, outputs int
		name           string
		bounded        bool
	}{
		{Space{}, 0, 0, "None", false},
		{NewBox(-1, 1, 3), 3, 3, "Box(3)", true},
		{Space{Kind: Box, Shape: []int{2}}, 2, 2, "Box(2)", false},
		{Space{Kind: Box, Shape: []int{2}, Low: []float32{0, 0}, High: []float32{1, inf}}, 2, 2, "Box(2)", false},
		{NewPicture(4, 5, 3), 60, 60, "Box(4, 5, 3, uint8)", false},
		{NewTuple(NewPicture(2, 2, 1), NewDiscrete(3), NewDict(map[string]Space{"x": Unbounded(2)})), 7, 9,
			"Tuple(Box(2, 2, 1, uint8), Discrete(3), Dict(x: Box(2)))", false},
		{nested(), 8, 14, "Dict(arm: Dict(mode: MultiDiscrete(2, 3), speed: Box(2)), gripper: Discrete(4), " +
			"joints: Box(3))", false},
		{NewDiscrete(6), 1, 6, "Discrete(6)", false},
	} {
		s := c.space
		must.Not(t, s.Width() != c.width || s.Outputs() != c.outputs || s.Bounded() != c.bounded,
			"%v: width %d, outputs %d, bounded %t", s, s.Width(), s.Outputs(), s.Bounded())
		must.Is(t, s.String(), c.name, "the name")
		must.Do(t, s.Validate())
	}
}

func TestValidateRefuses(t *testing.T) {
	dict := func(name string, s Space) Space { return NewDict(map[string]Space{name: s}) }
	box := Unbounded(1)
	for _, c := range []struct {
		space Space
		want  string
	}{
		{Space{Kind: Box}, "needs a shape"},
		{NewDiscrete(0), "Discrete size 0 is 0"},
		{Unbounded(-3), "Box dimension 0 is -3; it must be positive"},
		{Space{Kind: Box, Shape: []int{2}, Low: []float32{0}, High: []float32{1, 1}}, "1 lower and 2 upper limits"},
		{NewBox(1, -1, 2), "low 1 is not below high -1"},
		{Space{Kind: Box, Shape: []int{1}, Low: []float32{nan}}, "low NaN"},
		{Space{Kind: Discrete, NVec: []int{2, 3}}, "Discrete has 2 sizes"},
		{NewMultiDiscrete(2, 0), "size 1 is 0"},
		{Space{Kind: Box, Shape: []int{1}, DType: Uint8, High: []float32{256}}, "no whole numbers from 0 to 255"},
		{Space{Kind: Box, Shape: []int{1}, DType: Uint8, Low: []float32{0.5}}, "no whole numbers from 0 to 255"},
		{Space{Kind: Tuple, Entries: []Entry{{"1", NewDiscrete(2)}}}, `Tuple entry 0 is named "1"`},
		{NewDict(nil), "at least one entry"},
		{Space{Kind: Dict, Entries: []Entry{{"b", box}, {"a", box}}}, `"a" follows "b"`},
		{dict("a", dict("b", Space{Kind: Box})), `entry "a": spaces: Dict entry "b": spaces: a Box needs a shape`},
	} {
		must.RefuseAs(t, c.space, c.space.Validate(), "spaces: ", c.want)
	}
}

func TestSetValidate(t *testing.T) {
	good := Set{Observation: Unbounded(3), Action: NewDiscrete(2)}
	must.Do(t, good.Validate())
	for _, c := range []struct {
		change func(*Set)
		want   string
	}{
		{func(s *Set) { s.Action = Space{} }, "needs an observation space and an action space"},
		{func(s *Set) { s.State = NewBox(1, 0, 1) }, "state space: "},
		{func(s *Set) { s.Action = NewPicture(1, 1, 1) }, "actions are float32"},
	} {
		s := good
		c.change(&s)
		must.Refuse(t, s.Validate(), c.want)
	}
}

func TestEqual(t *testing.T) {
	all := []Space{{}, NewBox(-1, 1, 4), NewBox(-1, 2, 4), NewBox(-1, 1, 2, 2), Unbounded(4), NewDiscrete(4),
		NewMultiDiscrete(4), NewMultiDiscrete(4, 4), NewDict(nil), nested()}
	for _, change := range []func(joints, gripper *Entry){
		func(joints, _ *Entry) { joints.Name = "joint" }, func(joints, _ *Entry) { joints.Space = NewBox(-1, 2, 3) },
		func(_, gripper *Entry) { gripper.Space = NewDiscrete(5) },
	} {
		s := nested()
		change(&s.Entries[2], &s.Entries[1])
		all = append(all, s)
	}
	for i, a := range all {
		for j, b := range all {
			must.Is(t, a.Equal(b), i == j, "%v with limits %v equal to %v with limits %v", a, a.High, b, b.High)
		}
	}
	if plain := (Space{Kind: Box, Shape: []int{4}}); !plain.Equal(Unbounded(4)) || !Unbounded(4).Equal(plain) {
		t.Error("nil limits are not infinite ones")
	}
}

func TestCheck(t *testing.T) {
	box, discrete, multi := NewBox(-1, 1, 2), NewDiscrete(3), NewMultiDiscrete(2, 3)
	for _, c := range []struct {
		space Space
		rows  []float32
		n     int
		want  string // "" where the rows are good
	}{
		{box, []float32{0, 1, -1, 5}, 2, ""},
		{box, []float32{0, 1, -1}, 2, "got 3 values, want 4 (2 environments × 2)"},
		{box, []float32{0, 1, -1, nan}, 2, "environment 1, dimension 1 is NaN"},
		{box, []float32{-inf, 1}, 1, "environment 0, dimension 0 is -Inf"},
		{discrete, []float32{0, 1, 2}, 3, ""},
		{discrete, []float32{0, 3}, 2, "environment 1, dimension 0 is 3; it must be a whole number from 0 to 2"},
		{discrete, []float32{.5}, 1, "is 0.5"},
		{multi, []float32{1, 2, 0, 0}, 2, ""},
		{multi, []float32{1, 2, 2, 0}, 2, "environment 1, dimension 0 is 2; it must be a whole number from 0 to 1"},
	} {
		if err := c.space.Check(c.rows, c.n); c.want == "" {
			must.Do(t, err)
		} else {
			must.RefuseAs(t, c.space, err, c.want)
		}
	}
}

func TestSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	mixed := Space{Kind: Box, Shape: []int{4}, Low: []float32{-2, 3, -inf, -inf}, High: []float32{4, inf, -5, inf}}
	const n = 20000
	rows := make([]float32, n*4)
	mixed.Sample(rng, rows)
	must.Do(t, mixed.Check(rows, n))
	var mean, square [4]float64
	for i, v := range rows {
		d := i % 4
		if v < mixed.Low[d] || v > mixed.High[d] {
			t.Fatalf("dimension %d is %g, outside [%g, %g]", d, v, mixed.Low[d], mixed.High[d])
		}
		mean[d] += float64(v) / n
		square[d] += float64(v) * float64(v) / n
	}
	// Means and deviations of the uniform, exponential and normal distributions.
	for d, want := range [4][2]float64{{1, math.Sqrt(3)}, {4, 1}, {-6, 1}, {0, 1}} {
		if deviation := math.Sqrt(square[d] - mean[d]*mean[d]); math.Abs(mean[d]-want[0]) > .05 ||
			math.Abs(deviation-want[1]) > .05 {
			t.Errorf("dimension %d has mean %g and deviation %g, want %v", d, mean[d], deviation, want)
		}
	}
	multi := NewMultiDiscrete(2, 5)
	multi.Sample(rng, rows)
	must.Do(t, multi.Check(rows, 2*n))
	var counts [5]int
	for i := 1; i < len(rows); i += 2 {
		counts[int(rows[i])]++
	}
	for k, c := range counts {
		if c < 2*n/5*95/100 || c > 2*n/5*105/100 {
			t.Errorf("choice %d was drawn %d of %d times", k, c, 2*n)
		}
	}
}

// Bytes are bytes: samples are whole numbers within the limits, and anything else is refused with the environment's
// number.
func TestUint8(t *testing.T) {
	s := NewTuple(NewPicture(2, 1, 2), Unbounded(1), Space{Kind: Box, Shape: []int{2}, DType: Uint8,
		Low:  []float32{3, 3},
		High: []float32{5, 5}})
	must.Same(t, s.Runs(), []Run{{0, 4, Uint8}, {4, 5, Float32}, {5, 7, Uint8}}, "runs")
	rows := make([]float32, 200*s.Width())
	s.Sample(rand.New(rand.NewPCG(1, 2)), rows)
	must.Do(t, s.Check(rows, 200))
	largest, low, high := float32(0), float32(9), float32(0)
	for row := range slices.Chunk(rows, 7) {
		largest, low, high = max(largest, row[0]), min(low, row[5]), max(high, row[5])
	}
	must.Not(t, largest < 200 || low != 3 || high != 5, "200 bytes are up to %g; those from 3 to 5 are %g to %g",
		largest, low, high)
	for _, bad := range []float32{-1, 256, 0.5, inf, nan, 1e20} {
		broken := slices.Clone(rows)
		broken[7*3+2] = bad
		must.Refuse(t, s.Check(broken, 200), "environment 3, dimension 2")
	}
	full := NewBox(0, 255, 2, 1, 2)
	must.Is(t, NewPicture(2, 1, 2).Equal(full), false, "bytes equal numbers")
	full.DType = Uint8
	must.Is(t, NewPicture(2, 1, 2).Equal(full), true, "nil limits of bytes are 0 and 255")
}

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
	} {
		s.Action, s.ActionMask = c.action, c.mask
		must.Refuse(t, s.Validate(), c.want)
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
	for want, other := range map[string]Set{
		"seats a, b (team blue, action masks): none": {State: set.State, Observation: set.Observation,
			Action: set.Action, ActionMask: set.ActionMask},
		"seats a, b (team blue, action masks): a, c":   NewSeats(set.State, seat("a"), seat("c")),
		"observation space Tuple(Box(2), Box(2)): Box": narrow,
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
	must.Refuse(t, twice.Validate(), `seat 1: spaces: the name is "a"`)
	must.Refuse(t, narrow.Validate(), "is not that of the seats")
}
