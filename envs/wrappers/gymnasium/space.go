package gymnasium

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/gorl-dev/gorl/spaces"
)

// maxWidth and maxParts bound what a child may say about its spaces.
const (
	maxWidth = 1 << 26
	maxParts = 1 << 12
	maxDepth = 16
)

// Leaf is a part of an observation: the whole of it, or one entry of a Dict or Tuple space.
type Leaf struct {
	// Path is where the part stands: "" for the whole, "camera" for an entry of a Dict, "arm.joints" for one within, "0" for the
	// first of a Tuple.
	Path string
	// Offset is its first column in a row and Width how many it takes.
	Offset, Width int
	// Space is what Gymnasium says of it; MultiBinary is MultiDiscrete with two choices each.
	Space spaces.Space
}

// spaceJSON is a space as a child describes it.
type spaceJSON struct {
	Kind   string      `json:"kind"`
	Shape  []int       `json:"shape,omitempty"`
	Low    []*float64  `json:"low,omitempty"`
	High   []*float64  `json:"high,omitempty"`
	NVec   []int       `json:"nvec,omitempty"`
	Keys   []string    `json:"keys,omitempty"`
	Spaces []spaceJSON `json:"spaces,omitempty"`
}

// description is what a child says about its environments.
type description struct {
	Python        string     `json:"python"`
	Gymnasium     string     `json:"gymnasium"`
	NumPy         string     `json:"numpy"`
	Observation   *spaceJSON `json:"observation"`
	Action        *spaceJSON `json:"action"`
	State         *spaceJSON `json:"state"`
	AMP           *spaceJSON `json:"amp"`
	RewardShaping bool       `json:"reward_shaping"`
	Curriculum    bool       `json:"curriculum"`
	Motions       bool       `json:"motions"`
	Error         string     `json:"error"`
}

// parseDescription reads a child's description and returns the spaces in gorl's words, with the parts of an observation.
func parseDescription(b []byte) (description, spaces.Set, []Leaf, error) {
	var d description
	if err := json.Unmarshal(b, &d); err != nil {
		return d, spaces.Set{}, nil, fmt.Errorf("the description of the environments: %w", err)
	}
	if d.Error != "" {
		return d, spaces.Set{}, nil, fmt.Errorf("%s", d.Error)
	}
	if d.Observation == nil || d.Action == nil {
		return d, spaces.Set{}, nil, fmt.Errorf("the description of the environments lacks the observation or action space")
	}
	var set spaces.Set
	var leaves []Leaf
	for _, s := range []struct {
		name string
		from *spaceJSON
		to   *spaces.Space
	}{{"observation", d.Observation, &set.Observation}, {"action", d.Action, &set.Action}, {"state", d.State, &set.State}, {"AMP observation", d.AMP, &set.AMPObservation}} {
		if s.from == nil {
			continue
		}
		var parts []Leaf
		if err := s.from.leaves("", 0, &parts); err != nil {
			return d, spaces.Set{}, nil, fmt.Errorf("the %s space: %w", s.name, err)
		}
		*s.to = joined(parts)
		if s.name == "observation" {
			leaves = parts
		}
	}
	if _, dict := leafKind[d.Action.Kind]; !dict {
		return d, spaces.Set{}, nil, fmt.Errorf("the action space is a %s; it must be Box, Discrete or MultiDiscrete", d.Action.Kind)
	}
	return d, set, leaves, set.Validate()
}

// leafKind is what the kinds of Gymnasium that have no parts are to gorl.
var leafKind = map[string]spaces.Kind{"Box": spaces.Box, "Discrete": spaces.Discrete, "MultiDiscrete": spaces.MultiDiscrete, "MultiBinary": spaces.MultiDiscrete}

// leaves appends the parts that have no parts themselves, in order of their columns.
func (s *spaceJSON) leaves(path string, depth int, to *[]Leaf) error {
	if depth > maxDepth || len(*to) > maxParts {
		return fmt.Errorf("it has more than %d parts, or more than %d within each other", maxParts, maxDepth)
	}
	if kind, ok := leafKind[s.Kind]; ok {
		space, err := s.leaf(kind)
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.Kind, path, err)
		}
		offset := 0
		if n := len(*to); n > 0 {
			offset = (*to)[n-1].Offset + (*to)[n-1].Width
		}
		if offset+space.Width() > maxWidth {
			return fmt.Errorf("it has more than %d numbers", maxWidth)
		}
		*to = append(*to, Leaf{Path: path, Offset: offset, Width: space.Width(), Space: space})
		return nil
	}
	if s.Kind != "Dict" && s.Kind != "Tuple" {
		return fmt.Errorf("the kind %q is unknown", s.Kind)
	}
	if len(s.Spaces) == 0 || s.Kind == "Dict" && len(s.Keys) != len(s.Spaces) {
		return fmt.Errorf("a %s with %d keys has %d parts", s.Kind, len(s.Keys), len(s.Spaces))
	}
	for i := range s.Spaces {
		key := strconv.Itoa(i)
		if s.Kind == "Dict" {
			key = s.Keys[i]
		}
		if path != "" {
			key = path + "." + key
		}
		if err := s.Spaces[i].leaves(key, depth+1, to); err != nil {
			return err
		}
	}
	return nil
}

// leaf is a space that has no parts.
func (s *spaceJSON) leaf(kind spaces.Kind) (spaces.Space, error) {
	if kind != spaces.Box {
		if len(s.NVec) > maxWidth {
			return spaces.Space{}, fmt.Errorf("it has %d sizes", len(s.NVec))
		}
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
	var err error
	if space.Low, err = limits(s.Low, width, math.Inf(-1)); err == nil {
		space.High, err = limits(s.High, width, math.Inf(1))
	}
	if err != nil {
		return spaces.Space{}, err
	}
	return space, space.Validate()
}

// limits are those of a Box: one for all dimensions, or one each; nil where there is none.
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

// joined is the space of a row that has these parts: itself where there is one, else a Box.
func joined(parts []Leaf) spaces.Space {
	if len(parts) == 1 && parts[0].Path == "" {
		return parts[0].Space
	}
	last := parts[len(parts)-1]
	all := spaces.Space{Kind: spaces.Box, Shape: []int{last.Offset + last.Width}}
	for _, p := range parts {
		if p.Space.Kind == spaces.Box {
			all.Low, all.High = append(all.Low, p.Space.Low...), append(all.High, p.Space.High...)
			continue
		}
		for _, n := range p.Space.NVec {
			all.Low, all.High = append(all.Low, 0), append(all.High, float32(n-1))
		}
	}
	return all
}
