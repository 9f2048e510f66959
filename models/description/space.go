package description

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/spaces"
)

// spaceJSON is how a space is written. Limits that are nowhere are left out.
type spaceJSON struct {
	Kind  string      `json:"kind"`
	Shape []int       `json:"shape,omitempty"`
	Low   lowerLimits `json:"low,omitempty"`
	High  upperLimits `json:"high,omitempty"`
	NVec  []int       `json:"nvec,omitempty"`
	// Entries are those of a Dict.
	Entries []entryJSON `json:"entries,omitempty"`
}

// entryJSON is how an entry of a Dict is written.
type entryJSON struct {
	Name  string     `json:"name"`
	Space *spaceJSON `json:"space"`
}

// lowerLimits and upperLimits are written with null for an infinity, which JSON has not.
type (
	lowerLimits []float32
	upperLimits []float32
)

func (l lowerLimits) MarshalJSON() ([]byte, error) { return marshalLimits(l) }

func (l upperLimits) MarshalJSON() ([]byte, error) { return marshalLimits(l) }

func (l *lowerLimits) UnmarshalJSON(data []byte) (err error) {
	*l, err = readLimits(data, math.Inf(-1))
	return err
}

func (l *upperLimits) UnmarshalJSON(data []byte) (err error) {
	*l, err = readLimits(data, math.Inf(1))
	return err
}

func marshalLimits(l []float32) ([]byte, error) {
	list := make([]*float32, len(l))
	for i := range l {
		if !math.IsInf(float64(l[i]), 0) {
			list[i] = &l[i]
		}
	}
	return json.Marshal(list)
}

// readLimits reads limits with the given infinity for null.
func readLimits(data []byte, infinity float64) (l []float32, err error) {
	var list []*float32
	err = json.Unmarshal(data, &list)
	for _, x := range list {
		if x == nil {
			l = append(l, float32(infinity))
		} else {
			l = append(l, *x)
		}
	}
	return l, err
}

func encodeSpace(s spaces.Space) *spaceJSON {
	j := &spaceJSON{Kind: s.Kind.String(), Shape: s.Shape, NVec: s.NVec}
	if !allInfinite(s.Low, -1) {
		j.Low = s.Low
	}
	if !allInfinite(s.High, 1) {
		j.High = s.High
	}
	for _, e := range s.Entries {
		j.Entries = append(j.Entries, entryJSON{e.Name, encodeSpace(e.Space)})
	}
	return j
}

// allInfinite reports whether every limit is an infinity of the given sign.
func allInfinite(limits []float32, sign int) bool {
	return !slices.ContainsFunc(limits, func(x float32) bool { return !math.IsInf(float64(x), sign) })
}

func (s *spaceJSON) space() (spaces.Space, error) {
	if s == nil {
		return spaces.Space{}, fmt.Errorf("description: a space is missing")
	}
	width := int64(1)
	for _, n := range s.Shape {
		if width *= int64(n); n < 1 || n > maxWidth || width > maxWidth {
			return spaces.Space{}, fmt.Errorf("description: a space of shape %v: want positive sizes whose product is at most %d", s.Shape, maxWidth)
		}
	}
	for _, k := range []spaces.Kind{spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.Dict} {
		if k.String() != s.Kind {
			continue
		}
		out := spaces.Space{Kind: k, Shape: s.Shape, Low: s.Low, High: s.High, NVec: s.NVec}
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
