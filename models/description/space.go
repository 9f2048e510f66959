package description

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/spaces"
)

// spaceJSON is how a space is written. Limits that are nowhere are left out.
type spaceJSON struct {
	Kind  string `json:"kind"`
	Shape []int  `json:"shape,omitempty"`
	Low   limits `json:"low,omitempty"`
	High  limits `json:"high,omitempty"`
	NVec  []int  `json:"nvec,omitempty"`
	// Entries are those of a Dict.
	Entries []entryJSON `json:"entries,omitempty"`
}

// entryJSON is how an entry of a Dict is written.
type entryJSON struct {
	Name  string     `json:"name"`
	Space *spaceJSON `json:"space"`
}

// limits are written with null for an infinity, which JSON has not.
type limits []float32

func (l limits) MarshalJSON() ([]byte, error) {
	list := make([]*float32, len(l))
	for i := range l {
		if !math.IsInf(float64(l[i]), 0) {
			list[i] = &l[i]
		}
	}
	return json.Marshal(list)
}

// read returns the limits with an infinity for null.
func (l limits) read(infinity int, data []byte) (limits, error) {
	var list []*float32
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	for _, x := range list {
		if x == nil {
			l = append(l, float32(math.Inf(infinity)))
		} else {
			l = append(l, *x)
		}
	}
	return l, nil
}

// UnmarshalJSON reads a space; which infinity a null is depends on the key. Unknown keys are errors.
func (s *spaceJSON) UnmarshalJSON(data []byte) error {
	var j struct {
		Kind  string          `json:"kind"`
		Shape []int           `json:"shape"`
		Low   json.RawMessage `json:"low"`
		High  json.RawMessage `json:"high"`
		NVec  []int           `json:"nvec"`

		Entries []entryJSON `json:"entries"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return err
	}
	*s = spaceJSON{Kind: j.Kind, Shape: j.Shape, NVec: j.NVec, Entries: j.Entries}
	var err error
	if j.Low != nil {
		if s.Low, err = limits(nil).read(-1, j.Low); err != nil {
			return err
		}
	}
	if j.High != nil {
		s.High, err = limits(nil).read(1, j.High)
	}
	return err
}

func encodeSpace(s spaces.Space) *spaceJSON {
	j := &spaceJSON{Kind: s.Kind.String(), Shape: s.Shape, NVec: s.NVec}
	for i := range s.Low {
		if !math.IsInf(float64(s.Low[i]), -1) {
			j.Low = s.Low
		}
	}
	for i := range s.High {
		if !math.IsInf(float64(s.High[i]), 1) {
			j.High = s.High
		}
	}
	for _, e := range s.Entries {
		j.Entries = append(j.Entries, entryJSON{e.Name, encodeSpace(e.Space)})
	}
	return j
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
