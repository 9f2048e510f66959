package journal

import (
	"bytes"
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

// Read reads the journals of a population's folder, or a single journal.
//
// A folder holds one journal for each member, in 000, 001 and so on. Read merges them, see [Merge]; members without a
// journal yet are left out. The population may be training: a line that is just being written is left out. If some
// journals cannot be read, Read returns the events of the others together with the error.
func Read(path string) ([]Event, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return readFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), path)
	}
	return readFolder(os.DirFS(path), path, readFile)
}

// ReadFS is [Read] of the folder of a population as a file system.
func ReadFS(fsys fs.FS) ([]Event, error) { return readFolder(fsys, "the folder", readFile) }

// readFolder reads the journals of a folder that errors call name, each by read.
func readFolder(fsys fs.FS, name string, read func(fsys fs.FS, name, path string) ([]Event, error)) ([]Event, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	var journals [][]Event
	var damage error
	for _, e := range entries {
		if !e.IsDir() || !memberFolder.MatchString(e.Name()) {
			continue
		}
		events, err := read(fsys, e.Name()+"/"+File, filepath.Join(name, e.Name(), File))
		switch {
		case err == nil:
			journals = append(journals, events)
		case !errors.Is(err, fs.ErrNotExist):
			damage = errors.Join(damage, err)
		}
	}
	if len(journals) == 0 && damage == nil {
		return nil, fmt.Errorf("pbt: no member has a journal in %s; give the folder that holds 000, 001 and so on: %w",
			name, fs.ErrNotExist)
	}
	events, err := Merge(journals...)
	return events, errors.Join(damage, err)
}

// memberFolder is the name of a member's folder.
var memberFolder = regexp.MustCompile(`^[0-9]{3,}$`)

// readFile reads one journal, whose path errors show. See [Decode].
func readFile(fsys fs.FS, name, path string) ([]Event, error) {
	file, err := fsys.Open(name)
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
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var events []Event
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break
			}
			return nil, fmt.Errorf("line %d is not an event: %w", n, err)
		}
		if e.Run != nil && e.Run.Schema != Schema {
			return nil, fmt.Errorf("line %d: the journal's format is %d, this program knows %d", n, e.Run.Schema,
				Schema)
		}
		events = append(events, e)
	}
	return events, nil
}

// Merge makes one journal of the journals of a population's members. The event that describes the population comes
// first. The others are sorted by iteration. Within an iteration, members that had failed or diverged by its end come
// first, then decisions, each sorted by member. Events of one member and iteration keep their order. Empty journals
// are left out. It is an error if the journals are of different populations. The order of the arguments makes no
// difference.
func Merge(journals ...[]Event) ([]Event, error) {
	var head []Event
	var rest []ranked
	for i, events := range journals {
		if len(events) == 0 {
			continue
		}
		run := events[0].Run
		switch {
		case run == nil:
			return nil, fmt.Errorf("pbt: journal %d does not begin with the event that describes the population; "+
				"give whole journals", i)
		case head == nil:
			head = append(head, events[0])
		case !run.samePopulation(head[0].Run):
			return nil, fmt.Errorf("pbt: journal %d is of another population than the first: %+v, not %+v", i, *run,
				*head[0].Run)
		}
		troubled := true // no decision in this iteration so far
		for n, e := range events[1:] {
			troubled = (e.Kind == Failed || e.Kind == Diverged) && (troubled || e.Iteration != events[n].Iteration)
			place := ranked{e, 1}
			if troubled {
				place.order = 0
			}
			rest = append(rest, place)
		}
	}
	slices.SortStableFunc(rest, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.order, b.order),
			cmp.Compare(a.Member, b.Member))
	})
	for _, r := range rest {
		head = append(head, r.Event)
	}
	return head, nil
}

// ranked is an event with its place in an iteration: 0 if it says that its member had failed or diverged before any
// decision, else 1.
type ranked struct {
	Event
	order int
}

// samePopulation compares everything but Strategy and Tuned, which are for people to read.
func (r *RunInfo) samePopulation(other *RunInfo) bool {
	a, b := *r, *other
	a.Strategy, a.Tuned, b.Strategy, b.Tuned = "", nil, "", nil
	return reflect.DeepEqual(a, b)
}
