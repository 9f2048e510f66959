package gymnasium

import (
	"bytes"
	"sync/atomic"
	"unsafe"
)

// command is what a child is asked to do through its control block.
type command = uint32

const (
	// commandStep steps every environment with the actions in the shared memory.
	commandStep command = 1 + iota
	// commandReset resets every environment, with the seed in the block.
	commandReset
	// commandCall reads what to do from the pipe: pictures, reward parameters, curricula, reference motion.
	commandCall
	// commandClose closes the environments and ends the process.
	commandClose
)

// The bits of the status of a command that is done.
const (
	// statusMessage: a message is in the pipe of replies.
	statusMessage = 1 << iota
	// statusFailed: the command failed, and the message says why.
	statusFailed
)

// control is the block of words by which two processes hand commands to each other. Each side writes one half, in a
// cache line (64 bytes) of its own: two processors that write to one line would take it from each other at every
// command. child.py and gorl_client.py read the words by their index, so the order and the sizes are fixed.
type control struct {
	// sequence is the number of the last command. It is written last, and the other side sleeps on it.
	sequence uint32
	// command says what to do. The server of a policy ignores it, because there is only one thing to ask.
	command uint32
	// from and to belong to the asker of a policy: its process number, and the number of rows (N) it asks about.
	from, to uint32
	// seed is that of a reset: negative for none, otherwise environment i gets seed + i.
	seed int64
	_    [40]byte

	// done is the number of the last command that is finished. The side that gave the command sleeps on it.
	done uint32
	// status is made of the status bits, for the command numbered done.
	status uint32
	// server is the process number of the process that serves a policy, 0 when it has ended.
	server uint32
	_      [52]byte

	// guard is never written. A change shows that a write ran over from a neighbouring block, see intact.
	guard [64]byte
}

// controlStride is the distance in bytes from one block to the next.
const controlStride = int(unsafe.Sizeof(control{}))

// guard fills the guards with a byte that zeros and small numbers do not contain.
var guard = [64]byte(bytes.Repeat([]byte{0xa5}, 64))

// block returns control block i. A child has the block of its index, a policy block 0.
func (l *layout) block(memory []byte, i int) *control {
	return (*control)(unsafe.Pointer(&memory[l.Control.Offset+i*l.Control.Stride]))
}

// prepare clears a block for a new child. A block of a replaced child may hold anything.
func (c *control) prepare() { *c = control{seed: -1, guard: guard} }

// intact reports whether the guard still has its bytes. wait checks it after every command.
func (c *control) intact() bool { return c.guard == guard }

// start gives a command. Everything that belongs to it, such as seed and actions, must be in memory before: the
// atomic store of sequence makes all of it visible to the other process.
func (c *control) start(what command, sequence uint32) {
	c.command = what
	atomic.StoreUint32(&c.sequence, sequence)
	futexWake(&c.sequence)
}
