package gymnasium

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gorl-dev/gorl/spaces"
)

// maxWidth is the most numbers in a row. Children are user code, and this process allocates rows of the width that they
// say.
const maxWidth = 1 << 26

// spaceJSON is a space as a child describes it, and as [Serve] describes a policy's spaces.
type spaceJSON struct {
	// Kind is the name of Gymnasium's class: Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple.
	Kind string `json:"kind"`
	// Shape and DType (NumPy's name) are those of a Box. An empty Shape is a single number.
	Shape []int `json:"shape,omitempty"`
	// Low and High are the limits of a Box, one for all dimensions or one each; null is no limit.
	Low  []*float64 `json:"low,omitempty"`
	High []*float64 `json:"high,omitempty"`
	// NVec are the numbers of choices of the other kinds without parts.
	NVec  []int  `json:"nvec,omitempty"`
	DType string `json:"dtype,omitempty"`
	// Keys are those of a Dict, in the order of Spaces, the parts of a Dict or Tuple.
	Keys   []string    `json:"keys,omitempty"`
	Spaces []spaceJSON `json:"spaces,omitempty"`
}

// description is what a child says about its environments.
type description struct {
	// The spaces of one environment. State and AMP are nil if there are none.
	Observation *spaceJSON `json:"observation"`
	Action      *spaceJSON `json:"action"`
	State       *spaceJSON `json:"state"`
	AMP         *spaceJSON `json:"amp"`
	// Masks reports whether there are action masks.
	Masks bool `json:"masks"`
	// Seats are the agents of a game, nil of an environment with one agent.
	Seats []seatJSON `json:"seats"`
	// RewardShaping, Curriculum and Motions say which optional methods the environments have.
	RewardShaping bool `json:"reward_shaping"`
	Curriculum    bool `json:"curriculum"`
	Motions       bool `json:"motions"`
	// AMPGroup describes the group of observations named amp, nil if there is none or its terms are not known.
	AMPGroup *ampGroupJSON `json:"amp_group"`
	// RenderFPS is the number of pictures a second of real time, one a step; 0 if the metadata do not name it.
	RenderFPS float64 `json:"render_fps"`
	// Error says why there are no environments; the other fields are empty then. Missing is true if the reason is
	// that Python lacks a package or has too old a one.
	Error   string `json:"error"`
	Missing bool   `json:"missing"`
}

// parseDescription reads a child's description and returns the spaces as gorl's, valid and at most maxWidth wide.
// The error of a child that lacks a package wraps [ErrNoPython].
func parseDescription(b []byte) (description, spaces.Set, error) {
	var d description
	if err := json.Unmarshal(b, &d); err != nil {
		return d, spaces.Set{}, fmt.Errorf("the description of the environments: %w", err)
	}
	switch {
	case d.Error != "" && d.Missing:
		return d, spaces.Set{}, fmt.Errorf("%s (%w)", d.Error, ErrNoPython)
	case d.Error != "":
		return d, spaces.Set{}, fmt.Errorf("%s", d.Error)
	case d.Observation == nil || d.Action == nil:
		return d, spaces.Set{}, fmt.Errorf("the description of the environments lacks the observation or action space")
	}
	var set spaces.Set
	for _, s := range []struct {
		name string
		from *spaceJSON
		to   *spaces.Space
	}{{"observation", d.Observation, &set.Observation}, {"action", d.Action, &set.Action},
		{"state", d.State, &set.State}, {"AMP observation", d.AMP, &set.AMPObservation}} {
		if s.from == nil {
			continue
		}
		var err error
		if *s.to, err = s.from.space(); err != nil {
			return d, spaces.Set{}, fmt.Errorf("the %s space: %w", s.name, err)
		}
		if w := s.to.Width(); w > maxWidth {
			return d, spaces.Set{}, fmt.Errorf("the %s space has %d numbers; there may be %d", s.name, w, maxWidth)
		}
	}
	if d.Seats != nil {
		var err error
		if set, err = seated(set, d.Seats); err != nil {
			return d, spaces.Set{}, err
		}
		return d, set, set.Validate()
	}
	if len(set.Action.Entries) > 0 {
		return d, spaces.Set{}, fmt.Errorf("the action space is a %s; it must be Box, Discrete or MultiDiscrete",
			d.Action.Kind)
	}
	set.Action.DType = spaces.Float32 // the child makes the space's type of them
	if d.Masks {
		set.ActionMask = spaces.NewActionMask(set.Action)
	}
	return d, set, set.Validate()
}

// leafKind is gorl's kind for each of Gymnasium's that have no parts. A MultiBinary is a MultiDiscrete with two
// choices each.
var leafKind = map[string]spaces.Kind{"Box": spaces.Box, "Discrete": spaces.Discrete,
	"MultiDiscrete": spaces.MultiDiscrete, "MultiBinary": spaces.MultiDiscrete}

// space converts the space.
func (s *spaceJSON) space() (spaces.Space, error) {
	if kind, ok := leafKind[s.Kind]; ok {
		space, err := s.leaf(kind)
		if err != nil {
			return spaces.Space{}, fmt.Errorf("%s: %w", s.Kind, err)
		}
		return space, nil
	}
	whole, dict := spaces.Space{Kind: spaces.Tuple}, s.Kind == "Dict"
	switch {
	case dict && len(s.Keys) != len(s.Spaces):
		return spaces.Space{}, fmt.Errorf("a Dict with %d keys has %d parts", len(s.Keys), len(s.Spaces))
	case dict:
		whole.Kind = spaces.Dict
	case s.Kind != "Tuple":
		return spaces.Space{}, fmt.Errorf("the kind %q is unknown", s.Kind)
	}
	for i := range s.Spaces {
		key := strconv.Itoa(i)
		if dict {
			key = s.Keys[i]
		}
		part, err := s.Spaces[i].space()
		if err != nil {
			return spaces.Space{}, fmt.Errorf("%s: %w", key, err)
		}
		whole.Entries = append(whole.Entries, spaces.Entry{Name: key, Space: part})
	}
	return whole, whole.Validate()
}

// leaf converts a space without parts to the given kind.
func (s *spaceJSON) leaf(kind spaces.Kind) (spaces.Space, error) {
	if kind != spaces.Box {
		space := spaces.Space{Kind: kind, NVec: s.NVec}
		return space, space.Validate()
	}
	shape := s.Shape
	if len(shape) == 0 { // a single number
		shape = []int{1}
	}
	width := 1
	for _, d := range shape {
		if d <= 0 || d > maxWidth/width {
			return spaces.Space{}, fmt.Errorf("its shape is %v", shape)
		}
		width *= d
	}
	space := spaces.Space{Kind: spaces.Box, Shape: shape}
	if s.DType == string(spaces.Uint8) {
		space.DType = spaces.Uint8
	}
	var err error
	if space.Low, err = limits(s.Low, width, math.Inf(-1)); err == nil {
		space.High, err = limits(s.High, width, math.Inf(1))
	}
	if err != nil {
		return spaces.Space{}, err
	}
	// A Box of uint8 with the limits 0 and 255 is the space without explicit limits, a picture.
	if all := (spaces.Space{Kind: spaces.Box, Shape: shape, DType: spaces.Uint8}); space.Equal(all) {
		return all, nil
	}
	return space, space.Validate()
}

// limits returns one limit for each of width dimensions. from holds one for all or one each; a nil stands for none,
// which is an infinity.
func limits(from []*float64, width int, none float64) ([]float32, error) {
	if len(from) != 1 && len(from) != width {
		return nil, fmt.Errorf("it has %d limits for %d dimensions", len(from), width)
	}
	to := make([]float32, width)
	for i := range to {
		limit := none
		if p := from[min(i, len(from)-1)]; p != nil {
			limit = *p
		}
		to[i] = float32(limit)
	}
	return to, nil
}

// choices returns the number of choices of every column of a row, 0 for a real number. It returns nil if all columns
// are real numbers, so that take need not look for choices.
func choices(s spaces.Space) []int {
	all := []int{}
	for _, leaf := range s.Leaves() {
		if leaf.Space.Kind == spaces.Box {
			all = append(all, make([]int, leaf.Space.Width())...)
			continue
		}
		all = append(all, leaf.Space.NVec...)
	}
	if slices.Max(append(all, 0)) == 0 {
		return nil
	}
	return all
}
