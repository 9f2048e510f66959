package gymnasium

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// The shared memory begins with a header: the magic, the version and the length of the JSON as little-endian uint32,
// and the JSON of a layout, which says where everything else is.
const (
	magic         = "GORLSHM\x00"
	layoutVersion = 1
	headerStart   = 16
	maxHeader     = 1 << 24
	maxMemory     = 1 << 40
	pageSize      = 4096
)

// place is where an array is: its rows one after another, in the machine's byte order.
type place struct {
	Offset int    `json:"offset"`
	DType  string `json:"dtype"` // f4, f8 or u1
	Shape  []int  `json:"shape"`
}

// bytes is the size of an array.
func (p place) bytes() int {
	n := int(p.DType[1] - '0')
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// controlPlace is where the control blocks are.
type controlPlace struct {
	Offset int `json:"offset"`
	Stride int `json:"stride"`
	Count  int `json:"count"`
}

// layout says what the memory holds.
type layout struct {
	Role    string           `json:"role"` // "environments" or "policy"
	Size    int              `json:"size"`
	Futex   int              `json:"futex"` // the number of the system call
	Control controlPlace     `json:"control"`
	Arrays  map[string]place `json:"arrays"`
	Policy  *policyJSON      `json:"policy,omitempty"`
}

// array is one to find a place for; with width 0 it is left out, with width -1 it is one number a row.
type array struct {
	name, dtype string
	width       int
}

// plan finds places for the control blocks and for arrays of n rows. Each begins on a page of its own, so that children
// that write to one do not slow those down that read another.
func plan(role string, blocks, n int, arrays []array) *layout {
	l := &layout{Role: role, Futex: futexNumber, Control: controlPlace{Stride: controlStride, Count: blocks},
		Arrays: map[string]place{}}
	// The header's length is that of its JSON, which holds offsets that depend on it: room for numbers of 13 digits is
	// enough.
	room := headerStart + 1024 + 256*len(arrays)
	l.Control.Offset = pages(room)
	at := pages(l.Control.Offset + blocks*controlStride)
	for _, a := range arrays {
		if a.width == 0 {
			continue
		}
		p := place{Offset: at, DType: a.dtype, Shape: []int{n}}
		if a.width > 0 {
			p.Shape = append(p.Shape, a.width)
		}
		l.Arrays[a.name] = p
		at = pages(at + p.bytes())
	}
	l.Size = at
	return l
}

// pages rounds up to whole pages.
func pages(n int) int { return (n + pageSize - 1) / pageSize * pageSize }

// header is what the memory begins with.
func (l *layout) header() ([]byte, error) {
	b, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("gymnasium: %w", err)
	}
	if headerStart+len(b) > l.Control.Offset {
		// A policy's description has no bound of its own: make room and move everything behind it.
		by := pages(headerStart+len(b)+pageSize) - l.Control.Offset
		l.Control.Offset += by
		l.Size += by
		for name, p := range l.Arrays {
			p.Offset += by
			l.Arrays[name] = p
		}
		return l.header()
	}
	head := make([]byte, headerStart, headerStart+len(b))
	copy(head, magic)
	binary.LittleEndian.PutUint32(head[8:], layoutVersion)
	binary.LittleEndian.PutUint32(head[12:], uint32(len(b)))
	return append(head, b...), nil
}

// parseHeader reads a header from the beginning of a memory and checks that all places lie within it.
func parseHeader(memory []byte) (*layout, error) {
	if len(memory) < headerStart || string(memory[:8]) != magic {
		return nil, fmt.Errorf("it begins with %q; it must be %q", memory[:min(8, len(memory))], magic)
	}
	if v := binary.LittleEndian.Uint32(memory[8:]); v != layoutVersion {
		return nil, fmt.Errorf("it is of version %d; it must be %d", v, layoutVersion)
	}
	n := int(binary.LittleEndian.Uint32(memory[12:]))
	if n > maxHeader || n > len(memory)-headerStart {
		return nil, fmt.Errorf("its header is said to have %d bytes, of %d", n, len(memory))
	}
	decoder := json.NewDecoder(bytes.NewReader(memory[headerStart : headerStart+n]))
	decoder.DisallowUnknownFields()
	var l layout
	if err := decoder.Decode(&l); err != nil {
		return nil, fmt.Errorf("its header: %w", err)
	}
	return &l, l.check(len(memory), headerStart+n)
}

// check verifies that everything is aligned, within size bytes, and does not overlap.
func (l *layout) check(size, header int) error {
	if l.Size != size || int64(size) > maxMemory {
		return fmt.Errorf("its header says %d bytes; there are %d", l.Size, size)
	}
	c := l.Control
	if c.Count < 1 || c.Count > size || c.Stride < controlStride || c.Stride > pageSize || c.Offset < 0 ||
		c.Offset > size {
		return fmt.Errorf("its header has %d control blocks of %d bytes at %d", c.Count, c.Stride, c.Offset)
	}
	spans := []span{{"the header", 0, header}, {"the control blocks", c.Offset, c.Offset + c.Count*c.Stride}}
	for name, p := range l.Arrays {
		n := len(p.Shape)
		if n < 1 || n > 2 || p.DType != "f4" && p.DType != "f8" && p.DType != "u1" || p.Offset < 0 || p.Offset > size ||
			p.Offset%8 != 0 {
			return fmt.Errorf("its header has the array %s of %s, shape %v, at %d", name, p.DType, p.Shape, p.Offset)
		}
		room := size
		for _, d := range p.Shape {
			if d < 1 || d > room {
				return fmt.Errorf("its header has the array %s of shape %v", name, p.Shape)
			}
			room /= d
		}
		spans = append(spans, span{name, p.Offset, p.Offset + p.bytes()})
	}
	if c.Offset%64 != 0 || c.Stride%8 != 0 {
		return fmt.Errorf("its header has control blocks of %d bytes at %d", c.Stride, c.Offset)
	}
	return apart(spans, size)
}

// span is what lies from one byte to another.
type span struct {
	name     string
	from, to int
}

// apart reports spans that overlap or end beyond size.
func apart(spans []span, size int) error {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, strings.Compare(a.name, b.name)) })
	for i, s := range spans {
		if s.to > size {
			return fmt.Errorf("its header has %s end at %d of %d", s.name, s.to, size)
		}
		if i > 0 && spans[i-1].to > s.from {
			return fmt.Errorf("its header has %s overlap %s", spans[i-1].name, s.name)
		}
	}
	return nil
}

// view returns an array of the memory, nil where the layout has none of that name. T must be what its dtype says.
func view[T float32 | float64 | uint8](memory []byte, l *layout, name string) []T {
	p, ok := l.Arrays[name]
	if !ok {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[p.Offset])), p.bytes()/int(unsafe.Sizeof(zero)))
}
