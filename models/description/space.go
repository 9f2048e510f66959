package description

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/spaces"
)

// spaceJSON is the JSON form of a space. Limits are left out if all of them are infinite.
type spaceJSON struct {
	Kind  string `json:"kind"`
	Shape []int  `json:"shape,omitempty"`
	// Low and High have null for an infinity, which JSON does not have.
	Low  []*float32 `json:"low,omitempty"`
	High []*float32 `json:"high,omitempty"`
	NVec []int      `json:"nvec,omitempty"`
	// DType is empty for float32.
	DType string `json:"dtype,omitempty"`
	// Entries are the parts of a Dict or Tuple.
	Entries []entryJSON `json:"entries,omitempty"`
}

// entryJSON is the JSON form of an entry of a Dict or Tuple.
type entryJSON struct {
	Name  string     `json:"name"`
	Space *spaceJSON `json:"space"`
}

// encodeSpace returns the JSON form of a space and of its parts.
func encodeSpace(s spaces.Space) *spaceJSON {
	j := &spaceJSON{Kind: s.Kind.String(), Shape: s.Shape, Low: encodeLimits(s.Low), High: encodeLimits(s.High),
		NVec: s.NVec, DType: string(s.DType)}
	for _, e := range s.Entries {
		j.Entries = append(j.Entries, entryJSON{e.Name, encodeSpace(e.Space)})
	}
	return j
}

// encodeLimits returns the limits with nil for infinities, or nil if all of them are infinite.
func encodeLimits(limits []float32) []*float32 {
	list, some := make([]*float32, len(limits)), false
	for i, x := range limits {
		if !math.IsInf(float64(x), 0) {
			list[i], some = &x, true
		}
	}
	if !some {
		return nil
	}
	return list
}

// decodeLimits returns the limits with the given infinity in place of null.
func decodeLimits(list []*float32, infinity float64) (limits []float32) {
	for _, x := range list {
		if x == nil {
			limits = append(limits, float32(infinity))
		} else {
			limits = append(limits, *x)
		}
	}
	return limits
}

// space returns the space of a JSON form. It checks sizes before memory is allocated for them; Policy.Validate checks
// the rest.
func (s *spaceJSON) space() (spaces.Space, error) {
	if s == nil {
		return spaces.Space{}, fmt.Errorf("description: a space is missing")
	}
	width := int64(1)
	for _, n := range s.Shape {
		if width *= int64(n); n < 1 || n > maxWidth || width > maxWidth {
			return spaces.Space{}, fmt.Errorf("description: a space of shape %v: want positive sizes whose product "+
				"is at most %d", s.Shape, maxWidth)
		}
	}
	for _, k := range []spaces.Kind{spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.Dict, spaces.Tuple} {
		if k.String() != s.Kind {
			continue
		}
		out := spaces.Space{Kind: k, Shape: s.Shape, NVec: s.NVec, DType: spaces.DType(s.DType),
			Low: decodeLimits(s.Low, math.Inf(-1)), High: decodeLimits(s.High, math.Inf(1))}
		for _, e := range s.Entries {
			part, err := e.Space.space()
			if err != nil {
				return out, err
			}
			out.Entries = append(out.Entries, spaces.Entry{Name: e.Name, Space: part})
		}
		return out, nil
	}
	return spaces.Space{}, fmt.Errorf("description: a space of kind %q: this version of gorl does not know it", s.Kind)
}
