// Package spaces describes what flows between an agent and its environment: the
// shape, the kind and the limits of observations, states and actions.
//
// A space describes one environment; a vectorised environment of N copies moves
// rows of [Space.Width] float32 values, N at a time. Discrete actions travel as
// float32 indices, as they do in skrl's memories.
package spaces

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind says how the numbers of a space are to be read.
type Kind int

const (
	// None is the kind of the zero Space: there is nothing to observe or to do.
	None Kind = iota
	// Box is a vector of real numbers between Low and High.
	Box
	// Discrete is one index in [0, NVec[0]).
	Discrete
	// MultiDiscrete is a vector of indices, the i-th in [0, NVec[i]).
	MultiDiscrete
	// Dict is several named elements at once, each of a space of its own.
	Dict
	// Tuple is several elements at once in a fixed order, each of a space of its own.
	Tuple
)

// DType is the type of a Box's values where they come from, and where memories keep them. Rows at the boundary of an
// environment are float32 all the same.
type DType string

const (
	// Float32 is the type of a Box unless it says otherwise.
	Float32 DType = ""
	// Uint8 are whole numbers from 0 to 255, as pictures have: memories keep one byte a value.
	Uint8 DType = "uint8"
)

var kindNames = [...]string{"None", "Box", "Discrete", "MultiDiscrete", "Dict", "Tuple"}

// String returns the Gymnasium name of the kind.
func (k Kind) String() string {
	if k < None || k > Tuple {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// Space is one space of a single environment. The zero value means that there is none.
type Space struct {
	Kind Kind
	// Shape is the shape of a Box; its product is the width of a row.
	Shape []int
	// Low and High are the limits of a Box, one a dimension of the flattened row, with
	// infinities if unbounded. Nil means unbounded everywhere, and for Uint8 0 and 255.
	Low, High []float32
	// DType is the type of a Box's values.
	DType DType
	// NVec is the number of choices of each index of a Discrete (one) or MultiDiscrete space.
	NVec []int
	// Entries are the parts of a Dict, sorted by name, or those of a Tuple, which are named "0", "1" and so on.
	Entries []Entry
}

// NewBox returns a Box of the given shape in which every dimension lies in [low, high]. Sizes must be positive. If
// they are not, the Box has no limits, and [Space.Validate] and the constructors of environments and agents return an
// error.
func NewBox(low, high float32, shape ...int) Space {
	s := Space{Kind: Box, Shape: append([]int(nil), shape...)}
	if slices.ContainsFunc(shape, func(size int) bool { return size <= 0 }) {
		return s
	}
	n := s.Width()
	s.Low, s.High = make([]float32, n), make([]float32, n)
	for i := range s.Low {
		s.Low[i], s.High[i] = low, high
	}
	return s
}

// Unbounded returns a Box without limits.
func Unbounded(shape ...int) Space {
	inf := float32(math.Inf(1))
	return NewBox(-inf, inf, shape...)
}

// NewPicture returns the Box of a picture of the given height, width and number of channels (3 for RGB), whose values
// are Uint8. A row has the pixels line by line and the channels of a pixel side by side, as Gymnasium's cameras give
// them.
func NewPicture(height, width, channels int) Space {
	return Space{Kind: Box, Shape: []int{height, width, channels}, DType: Uint8}
}

// NewDiscrete returns the space of one index in [0, n).
func NewDiscrete(n int) Space { return Space{Kind: Discrete, NVec: []int{n}} }

// NewMultiDiscrete returns the space of len(nvec) indices, the i-th in [0, nvec[i]).
func NewMultiDiscrete(nvec ...int) Space {
	return Space{Kind: MultiDiscrete, NVec: append([]int(nil), nvec...)}
}

// Width is the number of float32 values that one element occupies in a row (skrl: the
// occupied size): the product of a Box's shape, 1 for Discrete, the number of indices of
// MultiDiscrete, the sum of the entries of a Dict or Tuple, 0 for None.
func (s Space) Width() int {
	switch s.Kind {
	case Box:
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		return n
	case Discrete:
		return 1
	case MultiDiscrete:
		return len(s.NVec)
	case Dict, Tuple:
		n := 0
		for i := range s.Entries {
			n += s.Entries[i].Space.Width()
		}
		return n
	}
	return 0
}

// Outputs is the number of values that a network must produce to describe one element: the
// width of a Box, the number of choices (summed) of Discrete and MultiDiscrete, the sum of the entries of a Dict or
// Tuple.
func (s Space) Outputs() int {
	if s.Kind == Box {
		return s.Width()
	}
	n := 0
	for i := range s.Entries {
		n += s.Entries[i].Space.Outputs()
	}
	for _, k := range s.NVec {
		n += k
	}
	return n
}

// Bounded reports whether every dimension of a Box has two finite limits in Low and High.
func (s Space) Bounded() bool {
	infinite := func(x float32) bool { return math.IsInf(float64(x), 0) }
	return s.Kind == Box && len(s.Low) == s.Width() && len(s.High) == s.Width() &&
		!slices.ContainsFunc(s.Low, infinite) && !slices.ContainsFunc(s.High, infinite)
}

// Validate returns an error that says which part of the space makes no sense.
func (s Space) Validate() error {
	switch s.Kind {
	case None:
		return nil
	case Box:
		if len(s.Shape) == 0 {
			return fmt.Errorf("spaces: a Box needs a shape")
		}
		for i, d := range s.Shape {
			if d <= 0 {
				return fmt.Errorf("spaces: Box dimension %d is %d; it must be positive", i, d)
			}
		}
		if s.DType != Float32 && s.DType != Uint8 {
			return fmt.Errorf("spaces: a Box of type %q; want %q, or nothing for float32", s.DType, Uint8)
		}
		w := s.Width()
		if s.Low != nil && len(s.Low) != w || s.High != nil && len(s.High) != w {
			return fmt.Errorf("spaces: Box of width %d has %d lower and %d upper limits", w, len(s.Low), len(s.High))
		}
		for i := range w {
			low, high := s.limits(i)
			if s.DType == Uint8 && (low != float32(uint8(low)) || high != float32(uint8(high))) {
				return fmt.Errorf("spaces: Box limit %d: %g and %g are no whole numbers from 0 to 255, which uint8 "+
					"needs", i, low, high)
			}
			if !(low <= high) {
				return fmt.Errorf("spaces: Box limit %d: low %g is not below high %g", i, low, high)
			}
		}
	case Discrete, MultiDiscrete:
		if len(s.NVec) == 0 || s.Kind == Discrete && len(s.NVec) != 1 {
			return fmt.Errorf("spaces: %v has %d sizes", s.Kind, len(s.NVec))
		}
		for i, n := range s.NVec {
			if n <= 0 {
				return fmt.Errorf("spaces: %v size %d is %d; it must be positive", s.Kind, i, n)
			}
		}
	case Dict, Tuple:
		return s.validateEntries()
	default:
		return fmt.Errorf("spaces: unknown kind %d", int(s.Kind))
	}
	return nil
}

// limits are those of dimension i of a Box, with what stands for nil filled in.
func (s *Space) limits(i int) (low, high float32) {
	low, high = s.DType.limits()
	if s.Low != nil {
		low = s.Low[i]
	}
	if s.High != nil {
		high = s.High[i]
	}
	return low, high
}

// limits are those of the values that the type can have.
func (d DType) limits() (low, high float32) {
	if d == Uint8 {
		return 0, math.MaxUint8
	}
	return float32(math.Inf(-1)), float32(math.Inf(1))
}

// Equal reports whether two spaces describe the same elements. Limits that are nil equal those of the type.
func (s Space) Equal(o Space) bool {
	low, high := s.DType.limits()
	return s.Kind == o.Kind && s.DType == o.DType && slices.Equal(s.Shape, o.Shape) && slices.Equal(s.NVec, o.NVec) &&
		equalLimits(s.Low, o.Low, low) && equalLimits(s.High, o.High, high) &&
		slices.EqualFunc(s.Entries, o.Entries, func(a, b Entry) bool {
			return a.Name == b.Name && a.Space.Equal(b.Space)
		})
}

// equalLimits compares limits of boxes of one shape, where nil means the given one everywhere.
func equalLimits(a, b []float32, otherwise float32) bool {
	if a == nil {
		a, b = b, a
	}
	if b != nil {
		return slices.Equal(a, b)
	}
	return !slices.ContainsFunc(a, func(v float32) bool { return v != otherwise })
}

// String writes the space as Gymnasium would, e.g. Box(17), Box(84, 84, 3, uint8), Discrete(2),
// Dict(gripper: Discrete(2), joints: Box(7)) or Tuple(Box(7), Discrete(2)).
func (s Space) String() string {
	if s.Kind == None {
		return "None"
	}
	var parts []string
	for _, d := range slices.Concat(s.Shape, s.NVec) {
		parts = append(parts, fmt.Sprint(d))
	}
	if s.DType != Float32 {
		parts = append(parts, string(s.DType))
	}
	for _, e := range s.Entries {
		name := e.Name + ": "
		if s.Kind == Tuple {
			name = ""
		}
		parts = append(parts, name+e.Space.String())
	}
	return fmt.Sprintf("%v(%s)", s.Kind, strings.Join(parts, ", "))
}

// Set is every space of an environment.
type Set struct {
	// Observation is what the policy sees.
	Observation Space
	// State is what only the value network sees (skrl's privileged state); zero if there is none.
	State Space
	// Action is what the policy does.
	Action Space
	// AMPObservation is what the discriminator sees; zero for environments without reference motion.
	AMPObservation Space
	// ActionMask is which actions the environment allows at the moment ([NewActionMask]); zero if it always allows
	// all of them.
	ActionMask Space
	// Seats are the places of the agents of an environment in which several act, in a fixed order; nil if one agent
	// acts. The other spaces are then joined from those of the seats ([NewSeats]).
	Seats []Seat
}

// Validate checks every space and names the one that is wrong.
func (s Set) Validate() error {
	for i, x := range s.all() {
		if err := x.Validate(); err != nil {
			return fmt.Errorf("%s space: %w", setNames[i], err)
		}
	}
	if i := slices.IndexFunc(s.Action.Leaves(), func(e Entry) bool { return e.Space.DType != Float32 }); i >= 0 {
		return fmt.Errorf("action space: spaces: %v: actions are float32; leave out the type", s.Action)
	}
	if s.Observation.Kind == None || s.Action.Kind == None {
		return fmt.Errorf("spaces: an environment needs an observation space and an action space, got %v and %v",
			s.Observation, s.Action)
	}
	if len(s.Seats) > 0 {
		return s.validateSeats()
	}
	return s.validateMask()
}

// setNames are what errors call the spaces of a Set, in the order of all.
var setNames = [5]string{"observation", "state", "action", "AMP observation", "action mask"}

func (s Set) all() [5]Space {
	return [5]Space{s.Observation, s.State, s.Action, s.AMPObservation, s.ActionMask}
}

// Difference returns what two sets first differ in, and how the two describe it: "observation space", "state space",
// "action space", "AMP observation space", "action mask space" or "seats"; "" if there is no difference. Spaces that
// differ only in their limits are described with the first ones that differ.
func (s Set) Difference(o Set) (name, of, other string) {
	spaces, others := s.all(), o.all()
	for i, a := range spaces {
		b := others[i]
		if a.Equal(b) {
			continue
		}
		name, of, other = setNames[i]+" space", a.String(), b.String()
		if of == other {
			d := 0
			for d+1 < a.Width() && a.limited(d) == b.limited(d) {
				d++
			}
			of, other = a.limited(d), b.limited(d)
		}
		return name, of, other
	}
	if of, other = s.SeatNames(), o.SeatNames(); of != other {
		return "seats", cmp.Or(of, "none"), cmp.Or(other, "none")
	}
	return "", "", ""
}

// limited is [Space.String] with the limits of column d of a row.
func (s Space) limited(d int) string {
	leaf, i := s.at(d)
	low, high := leaf.limits(i)
	return fmt.Sprintf("%v with limits %g to %g in dimension %d", s, low, high, d)
}

// Rows makes a batch of n rows of the space, all zeros; nil where the space is None.
func (s Space) Rows(n int) []float32 {
	if s.Width() == 0 {
		return nil
	}
	return make([]float32, n*s.Width())
}
