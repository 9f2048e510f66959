package spaces

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is a space with its name within a Dict.
type Entry struct {
	Name  string
	Space Space
}

// NewDict returns the space of several named elements at once (Gymnasium: Dict). In a row they stand one after another,
// sorted by name, and so do the entries of a Dict within it.
func NewDict(entries map[string]Space) Space {
	s := Space{Kind: Dict, Entries: make([]Entry, 0, len(entries))}
	for name, e := range entries {
		s.Entries = append(s.Entries, Entry{name, e})
	}
	slices.SortFunc(s.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Leaves lists the parts of a row that are no Dicts themselves, in order of their columns. Those of a Dict within a
// Dict have names with dots: "arm.joints". Of a space that is no Dict it is the space itself, without a name.
func (s Space) Leaves() []Entry {
	if s.Kind != Dict {
		return []Entry{{Space: s}}
	}
	var leaves []Entry
	for _, e := range s.Entries {
		for _, leaf := range e.Space.Leaves() {
			name := e.Name
			if leaf.Name != "" {
				name += "." + leaf.Name
			}
			leaves = append(leaves, Entry{name, leaf.Space})
		}
	}
	return leaves
}

// at returns the space that column d of a row belongs to, which is no Dict, and which of its columns that is.
func (s *Space) at(d int) (*Space, int) {
	for s.Kind == Dict {
		i := 0
		for w := s.Entries[0].Space.Width(); d >= w; w = s.Entries[i].Space.Width() {
			d -= w
			i++
		}
		s = &s.Entries[i].Space
	}
	return s, d
}

func (s Space) validateDict() error {
	if len(s.Entries) == 0 {
		return fmt.Errorf("spaces: a Dict needs at least one entry")
	}
	for i, e := range s.Entries {
		switch {
		case e.Name == "":
			return fmt.Errorf("spaces: Dict entry %d has no name", i)
		case i > 0 && e.Name <= s.Entries[i-1].Name:
			return fmt.Errorf("spaces: Dict entry %q follows %q; entries must be sorted by name and named once (NewDict sorts them)", e.Name, s.Entries[i-1].Name)
		case e.Space.Kind == None:
			return fmt.Errorf("spaces: Dict entry %q has no space", e.Name)
		}
		if err := e.Space.Validate(); err != nil {
			return fmt.Errorf("spaces: Dict entry %q: %w", e.Name, err)
		}
	}
	return nil
}

func (s Space) dictString() string {
	parts := make([]string, len(s.Entries))
	for i, e := range s.Entries {
		parts[i] = e.Name + ": " + e.Space.String()
	}
	return "Dict(" + strings.Join(parts, ", ") + ")"
}
