package journal

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
)

// maxLine is the longest line in bytes that a reader accepts: it bounds what a damaged journal makes the reader
// allocate.
const maxLine = 16 << 20

// Read reads the journal that a population wrote into its directory. See [Decode].
func Read(path string) ([]Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	defer file.Close()
	events, err := Decode(file)
	if err != nil {
		return nil, fmt.Errorf("pbt: %s: %w", path, err)
	}
	return events, nil
}

// Decode reads events, one JSON object a line. A last line without an end that is not a whole event was torn
// by a crash and is left out; anything else that is not an event is an error that names the line.
func Decode(r io.Reader) ([]Event, error) {
	var events []Event
	reader := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		text, ended, err := readLine(reader)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(text) == 0 && !ended {
			return events, nil
		}
		var e Event
		if err := json.Unmarshal(text, &e); err != nil {
			if !ended {
				return events, nil
			}
			return nil, fmt.Errorf("line %d is not an event: %w", n, err)
		}
		if e.Run != nil && e.Run.Schema != Schema {
			return nil, fmt.Errorf("line %d: the journal's format is %d, this program knows %d", n, e.Run.Schema, Schema)
		}
		events = append(events, e)
		if !ended {
			return events, nil
		}
	}
}

// readLine returns a line without its line feed, and whether it had one: a line without is the last, perhaps torn.
func readLine(r *bufio.Reader) (text []byte, ended bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			return nil, false, fmt.Errorf("longer than %d bytes", maxLine)
		}
		switch {
		case err == nil:
			return text[:len(text)-1], true, nil
		case errors.Is(err, io.EOF):
			return text, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

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

// ReadAll reads the journals in a workspace, one a member. damage joins the errors of those that cannot be read; the
// others are returned all the same.
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
			return nil, fmt.Errorf("pbt: journal %d is of another population than the first: %+v, not %+v", i, *run,
				*merged[0].Run)
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
