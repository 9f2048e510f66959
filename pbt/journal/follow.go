package journal

import (
	"bytes"
	"hash/maphash"
	"io/fs"
)

// Follower reads the journals of a population's folder again and again, for programs that show it while it trains: it
// decodes only what was added since. The zero value has read nothing. It is used by one goroutine at a time, and holds
// all events.
type Follower struct{ read map[string]followed }

// followed is what was read of a journal: its whole lines, by their length and a hash, and their events.
type followed struct {
	length int
	hash   uint64
	events []Event
}

var seed = maphash.MakeSeed()

// ReadFS returns what [ReadFS] returns.
func (f *Follower) ReadFS(fsys fs.FS) ([]Event, error) {
	if f.read == nil {
		f.read = make(map[string]followed)
	}
	return readFolder(fsys, "the folder", f.readFile)
}

// readFile reads one journal. A journal that was truncated is decoded from the start: a member that continues truncates
// its journal.
func (f *Follower) readFile(fsys fs.FS, name, path string) ([]Event, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return readFile(fsys, name, path)
	}
	known := f.read[name]
	if len(text) < known.length || maphash.Bytes(seed, text[:known.length]) != known.hash {
		known = followed{}
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	added, err := Decode(bytes.NewReader(text[known.length:end]))
	if err != nil { // read as a whole it has the line's number
		return readFile(fsys, name, path)
	}
	if len(added) > 0 {
		known = followed{end, maphash.Bytes(seed, text[:end]), append(known.events, added...)}
		f.read[name] = known
	}
	last, err := Decode(bytes.NewReader(text[end:])) // without its line feed it may change
	return append(known.events[:len(known.events):len(known.events)], last...), err
}
