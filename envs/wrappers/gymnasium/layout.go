package gymnasium

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unsafe"
)

// The shared memory begins with a header: the magic, the version and the length of the JSON as little-endian uint32,
// and the JSON of a layout, which says where everything else is.
const (
	// magic is in the first 8 bytes, layoutVersion in the next 4, the length of the JSON in the 4 after them.
	magic         = "GORLSHM\x00"
	layoutVersion = 1
	headerStart   = 16
	// pageSize is that of most processors, in bytes. Larger pages only make arrays share one.
	pageSize = 4096
)

// place says where an array is in the memory: its rows one after another, in the machine's byte order.
type place struct {
	// Offset is in bytes from the beginning of the memory, a multiple of 8.
	Offset int `json:"offset"`
	// DType is NumPy's name of the numbers: f4 (float32), f8 (float64) or u1 (uint8).
	DType string `json:"dtype"`
	// Shape is (rows) or (rows, width).
	Shape []int `json:"shape"`
}

// bytes returns the size of the array in bytes. The second character of DType is the size of a number.
func (p place) bytes() int {
	n := int(p.DType[1] - '0')
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// controlPlace says where the control blocks are: Count of them, Stride bytes apart, the first at Offset. There is a
// block a child, or one for a policy.
type controlPlace struct {
	Offset int `json:"offset"`
	Stride int `json:"stride"`
	Count  int `json:"count"`
}

// layout says what the memory holds. Its JSON is in the header, from which child.py and gorl_client.py learn where
// everything is.
type layout struct {
	// Role is "environments" (of an [Env]) or "policy" (of [Serve]).
	Role string `json:"role"`
	// Size is that of the whole memory in bytes.
	Size int `json:"size"`
	// Futex is the number of the system call futex, which differs between processors and which Python has no name
	// for.
	Futex   int              `json:"futex"`
	Control controlPlace     `json:"control"`
	Arrays  map[string]place `json:"arrays"`
	// Policy describes the policy that is served; nil for environments.
	Policy *policyJSON `json:"policy,omitempty"`
}

// array is an array to find a place for. width is the number of columns: 0 leaves the array out, -1 makes it one
// number a row.
type array struct {
	name, dtype string
	width       int
}

// plan returns a layout with so many control blocks and the arrays, each of n rows. Each array begins on a page of
// its own, so that children that write to one do not slow those down that read another. policy is the description of
// a served policy, otherwise nil.
func plan(role string, blocks, n int, arrays []array, policy *policyJSON) *layout {
	l := &layout{Role: role, Futex: futexNumber, Control: controlPlace{Stride: controlStride, Count: blocks},
		Arrays: map[string]place{}, Policy: policy}
	described, _ := json.Marshal(policy) // a description has no bound of its own
	// The header's length is that of its JSON, which holds offsets that depend on it: room for numbers of 13 digits is
	// enough.
	l.Control.Offset = pages(headerStart + 1024 + 256*len(arrays) + len(described))
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

// header returns the first bytes of the memory: magic, version, length and JSON. They lie before the control blocks.
func (l *layout) header() []byte {
	b, _ := json.Marshal(l)
	if headerStart+len(b) > l.Control.Offset {
		panic(fmt.Sprintf("gymnasium: a header of %d bytes has room for %d", headerStart+len(b), l.Control.Offset))
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), layoutVersion)
	return append(binary.LittleEndian.AppendUint32(head, uint32(len(b))), b...)
}

// parseHeader reads a header from the beginning of a memory, and checks that control block 0 lies within it. vacant
// reads no other part of a file that may be anybody's.
func parseHeader(memory []byte) (*layout, error) {
	if len(memory) < headerStart || string(memory[:8]) != magic {
		return nil, fmt.Errorf("it begins with %q; it must be %q", memory[:min(8, len(memory))], magic)
	}
	if v := binary.LittleEndian.Uint32(memory[8:]); v != layoutVersion {
		return nil, fmt.Errorf("it is of version %d; it must be %d", v, layoutVersion)
	}
	n := int(binary.LittleEndian.Uint32(memory[12:]))
	if n > len(memory)-headerStart {
		return nil, fmt.Errorf("its header is said to have %d bytes, of %d", n, len(memory))
	}
	var l layout
	if err := json.Unmarshal(memory[headerStart:headerStart+n], &l); err != nil {
		return nil, fmt.Errorf("its header: %w", err)
	}
	if at := l.Control.Offset; at < headerStart || at > len(memory)-controlStride || at%64 != 0 {
		return nil, fmt.Errorf("its header has the control blocks at %d of %d bytes", at, len(memory))
	}
	return &l, nil
}

// view returns an array of the memory as a slice that shares it, or nil if the layout has none of that name. T must
// be what the array's DType says. The slice must not be used after unmap.
func view[T float32 | float64 | uint8](memory []byte, l *layout, name string) []T {
	p, ok := l.Arrays[name]
	if !ok {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[p.Offset])), p.bytes()/int(unsafe.Sizeof(zero)))
}
