package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
)

// memberFolder is the name of a member's folder in a workspace.
var memberFolder = regexp.MustCompile(`^[0-9]{3,}$`)

// ReadWorkspace reads the journals of all members of a population of processes and merges them, see [Merge]. dir is the
// workspace: the folder that holds 000, 001, ... Members without a journal yet are left out. It may be called while the
// population trains: a line that is just being written is left out.
func ReadWorkspace(dir string) ([]Event, error) {
	journals, damage := ReadAll(dir)
	if damage != nil {
		return nil, damage
	}
	if len(journals) == 0 {
		return nil, fmt.Errorf("pbt: no member has a journal in %s; give the folder that holds 000, 001 and so on", dir)
	}
	return Merge(journals...)
}

// ReadAll reads the journals in a workspace, one a member. damage joins the errors of those that cannot be read; the others
// are returned all the same.
func ReadAll(dir string) (journals [][]Event, damage error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !memberFolder.MatchString(e.Name()) {
			continue
		}
		events, err := Read(filepath.Join(dir, e.Name(), File))
		switch {
		case err == nil:
			journals = append(journals, events)
		case !errors.Is(err, fs.ErrNotExist):
			damage = errors.Join(damage, err)
		}
	}
	return journals, damage
}

// Merge makes one journal of those of a population's members: the line that describes the population first, then all
// events by iteration and, within one, by member, each member's in their order. The journals must be of the same
// population; empty ones are left out. Equal journals give the same result in any order.
func Merge(journals ...[]Event) ([]Event, error) {
	var merged []Event
	for i, events := range journals {
		if len(events) == 0 {
			continue
		}
		run := events[0].Run
		switch {
		case run == nil:
			return nil, fmt.Errorf("pbt: journal %d does not begin with the event that describes the population; give whole journals", i)
		case merged == nil:
			merged = append(merged, events[0])
		case !run.samePopulation(merged[0].Run):
			return nil, fmt.Errorf("pbt: journal %d is of another population than the first: %+v, not %+v", i, *run, *merged[0].Run)
		}
		merged = append(merged, events[1:]...)
	}
	if merged != nil {
		slices.SortStableFunc(merged[1:], func(a, b Event) int {
			return cmp.Or(cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Member, b.Member))
		})
	}
	return merged, nil
}

// samePopulation compares everything but Strategy and Tuned, which are for people to read.
func (r *RunInfo) samePopulation(other *RunInfo) bool {
	a, b := *r, *other
	a.Strategy, a.Tuned, b.Strategy, b.Tuned = "", nil, "", nil
	return reflect.DeepEqual(a, b)
}
