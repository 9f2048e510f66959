package gymnasium

import (
	"sync/atomic"
	"unsafe"
)

// A command that a child, or the asker of a policy, is given.
type command = uint32

const (
	commandStep command = 1 + iota
	commandReset
	commandCall
	commandClose
)

// The bits of the status of a command that is done.
const (
	statusMessage = 1 << iota // a message is in the pipe
	statusFailed              // the message says what went wrong
)

// control is the block of words by which two processes hand commands to each other. The two halves are written by one
// side each and lie in cache lines of their own.
type control struct {
	sequence uint32 // one more for every command; written last
	command  uint32
	from, to uint32 // of a policy: the process that asks, and the number of rows
	seed     int64  // of a reset; negative for none
	_        [40]byte

	done   uint32 // follows sequence
	status uint32
	server uint32 // of a policy: the process that answers
	_      [52]byte

	guard [64]byte // is never written
}

const controlStride = int(unsafe.Sizeof(control{}))

// guardByte fills the guards: what strays from a neighbour's place changes it.
const guardByte = 0xa5

// block returns the i-th control block of a memory.
func (l *layout) block(memory []byte, i int) *control {
	return (*control)(unsafe.Pointer(&memory[l.Control.Offset+i*l.Control.Stride]))
}

// prepare makes a block that of a new child.
func (c *control) prepare() {
	*c = control{seed: -1}
	for i := range c.guard {
		c.guard[i] = guardByte
	}
}

// intact reports whether the guard still has its bytes: no child has written over it.
func (c *control) intact() bool {
	for _, b := range c.guard {
		if b != guardByte {
			return false
		}
	}
	return true
}

// start gives a command, all of which has been written before.
func (c *control) start(what command, sequence uint32) {
	c.command = what
	atomic.StoreUint32(&c.sequence, sequence)
	futexWake(&c.sequence)
}
