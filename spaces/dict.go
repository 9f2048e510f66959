package spaces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Entry is a space with its name within a Dict, or its number within a Tuple.
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

// NewTuple returns the space of several elements at once in the given order (Gymnasium: Tuple), in which they stand in
// a row, too.
func NewTuple(parts ...Space) Space {
	s := Space{Kind: Tuple, Entries: make([]Entry, len(parts))}
	for i, part := range parts {
		s.Entries[i] = Entry{strconv.Itoa(i), part}
	}
	return s
}

// Leaves lists the parts of a row that are neither Dicts nor Tuples themselves, in order of their columns. Those of a
// Dict or Tuple within another have names with dots: "arm.joints", "arm.1". Of another space it is the space itself,
// without a name.
func (s Space) Leaves() []Entry {
	if s.Kind != Dict && s.Kind != Tuple {
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

// at returns the leaf that column d of a row belongs to, and which of its columns that is.
func (s *Space) at(d int) (*Space, int) {
	for s.Kind == Dict || s.Kind == Tuple {
		i := 0
		for w := s.Entries[0].Space.Width(); d >= w; w = s.Entries[i].Space.Width() {
			d -= w
			i++
		}
		s = &s.Entries[i].Space
	}
	return s, d
}

func (s Space) validateEntries() error {
	if len(s.Entries) == 0 {
		return fmt.Errorf("spaces: a %v needs at least one entry", s.Kind)
	}
	for i, e := range s.Entries {
		switch {
		case e.Name == "":
			return fmt.Errorf("spaces: %v entry %d has no name", s.Kind, i)
		case s.Kind == Tuple && e.Name != strconv.Itoa(i):
			return fmt.Errorf("spaces: Tuple entry %d is named %q; entries are named by their numbers (NewTuple "+
				"names them)", i, e.Name)
		case s.Kind == Dict && i > 0 && e.Name <= s.Entries[i-1].Name:
			return fmt.Errorf("spaces: Dict entry %q follows %q; entries must be sorted by name and named once "+
				"(NewDict sorts them)", e.Name, s.Entries[i-1].Name)
		case e.Space.Kind == None:
			return fmt.Errorf("spaces: %v entry %q has no space", s.Kind, e.Name)
		}
		if err := e.Space.Validate(); err != nil {
			return fmt.Errorf("spaces: %v entry %q: %w", s.Kind, e.Name, err)
		}
	}
	return nil
}
