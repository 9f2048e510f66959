package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// A disk replays recorded calls, and knows of each file and folder what is certain to survive a power cut: what was
// synced. From it come the folders that a computer may find after the power is back.

// file is the contents of a file; several names may lead to it.
type file struct {
	data   []byte
	synced []byte // nil if never
}

// folder is the names in a folder.
type folder struct {
	now, synced map[string]any // *file or *folder
	pending     []change       // since the last sync
}

// change is one change of a folder: to is what the name leads to from then on, nil for nothing.
type change struct {
	from, name string // from is the name that a rename takes away
	to         any
}

func newFolder() *folder { return &folder{now: map[string]any{}, synced: map[string]any{}} }

func (f *folder) change(c change) {
	f.pending = append(f.pending, c)
	c.apply(f.now)
}

func (c change) apply(names map[string]any) {
	if c.from != "" {
		delete(names, c.from)
	}
	if c.to == nil {
		delete(names, c.name)
	} else {
		names[c.name] = c.to
	}
}

// disk is a file system below one folder.
type disk struct {
	root    string
	top     *folder
	folders map[string]*folder
}

func newDisk(root string) *disk {
	top := newFolder()
	return &disk{root, top, map[string]*folder{root: top}}
}

// apply makes a call that has succeeded.
func (d *disk) apply(c call) error {
	if c.a == d.root && c.op == "mkdir" || c.op == "lock" {
		return nil
	}
	if f := d.folders[c.a]; f != nil && c.op == "fsync" {
		f.synced, f.pending = maps.Clone(f.now), nil
		return nil
	}
	parent, name := d.folders[filepath.Dir(c.a)], filepath.Base(c.a)
	if parent == nil {
		return fmt.Errorf("%s of %s, whose folder is not known", c.op, c.a)
	}
	f, _ := parent.now[name].(*file)
	switch {
	case c.op == "mkdir":
		if parent.now[name] == nil {
			d.folders[c.a] = newFolder()
			parent.change(change{name: name, to: d.folders[c.a]})
		}
	case c.op == "open" && f == nil:
		if c.flags&unix.O_CREAT != 0 {
			parent.change(change{name: name, to: &file{}})
		}
	case c.op == "open":
		if c.flags&unix.O_TRUNC != 0 {
			f.data = nil
		}
	case c.op == "unlink":
		if parent.now[name] != nil {
			parent.change(change{name: name})
		}
	case f == nil:
		return fmt.Errorf("%s of %s, which is not known", c.op, c.a)
	case c.op == "write":
		end := c.pos + int64(len(c.data))
		if c.pos < 0 {
			f.data = append(slices.Clip(f.data), c.data...)
			break
		}
		f.data = slices.Clone(f.data)
		if grow := end - int64(len(f.data)); grow > 0 {
			f.data = append(f.data, make([]byte, grow)...)
		}
		copy(f.data[c.pos:], c.data)
	case c.op == "truncate":
		f.data = slices.Clone(f.data[:c.flags])
	case c.op == "fsync":
		f.synced = append([]byte{}, f.data...)
	case c.op == "rename":
		if filepath.Dir(c.a) != filepath.Dir(c.b) {
			return fmt.Errorf("%s moves to another folder, %s", c.a, c.b)
		}
		parent.change(change{from: name, name: filepath.Base(c.b), to: f})
	case c.op == "link":
		if other := d.folders[filepath.Dir(c.b)]; other != nil && other.now[filepath.Base(c.b)] == nil {
			other.change(change{name: filepath.Base(c.b), to: f})
		}
	default:
		return fmt.Errorf("%s of %s cannot be replayed", c.op, c.a)
	}
	return nil
}

// loss is what a power cut makes of everything that was not synced.
type loss string

const (
	lost      loss = "lost"      // names and data
	empty     loss = "empty"     // the data; names are kept
	zeroed    loss = "zeroed"    // the data: zeros in its place
	halved    loss = "halved"    // the second half of the data
	holed     loss = "holed"     // the first half of the data: zeros in its place
	reordered loss = "reordered" // names and data, some of them, whatever their order
	ordered   loss = "ordered"   // names after some moment, and the data of some files
)

// build makes the folder that is found after a power cut.
func (f *folder) build(path string, l loss, rng *rand.Rand) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	names := f.names(l, rng)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		below := filepath.Join(path, name)
		if sub, ok := names[name].(*folder); ok {
			if err := sub.build(below, l, rng); err != nil {
				return err
			}
		} else if err := os.WriteFile(below, names[name].(*file).content(l, rng), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names in a folder after a power cut.
func (f *folder) names(l loss, rng *rand.Rand) map[string]any {
	pending := f.pending
	switch l {
	case lost:
		return f.synced
	case reordered:
		pending = slices.DeleteFunc(slices.Clone(pending), func(change) bool { return rng.IntN(2) == 0 })
	case ordered:
		pending = pending[:rng.IntN(len(pending)+1)]
	default:
		return f.now
	}
	names := maps.Clone(f.synced)
	for _, c := range pending {
		c.apply(names)
	}
	return names
}

// content returns what is in a file after a power cut.
func (f *file) content(l loss, rng *rand.Rand) []byte {
	kept := f.synced
	if len(kept) > len(f.data) || string(f.data[:len(kept)]) != string(kept) {
		kept = nil // it was truncated, or written over, since
	}
	rest := f.data[len(kept):]
	with := func(rest []byte) []byte { return append(slices.Clip(kept), rest...) }
	switch l {
	case reordered, ordered:
		if rng.IntN(2) == 0 {
			return f.data
		}
		return f.content([]loss{empty, zeroed, halved, holed}[rng.IntN(4)], rng)
	case zeroed:
		return with(make([]byte, len(rest)))
	case halved:
		return with(rest[:len(rest)/2])
	case holed:
		return with(append(make([]byte, len(rest)/2), rest[len(rest)/2:]...))
	}
	return kept
}
