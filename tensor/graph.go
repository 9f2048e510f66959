package tensor

// #include "gorl.h"
import "C"

import (
	"cmp"
	"errors"
	"runtime"
	"unsafe"
)

// Graph is a passage of work for a device that is recorded once and then replayed as a whole. The host asks for it with
// one launch instead of one for each operation (CUDA graphs). A replay does the same operations on the same memory, so
// whatever changes between replays is in tensors that were there before the capture: what they hold then counts, not
// what they held in the capture. Random numbers go on from replay to replay as they would without a graph.
//
//	g, err := tensor.NewGraph(device, generator)
//	err = g.WarmUp(s, f)  // done as usual: libraries of the device make what they need for the first time
//	err = g.Capture(s, f) // recorded, not done
//	err = g.Replay()      // done
//
// On the CPU a replay saves what is not arithmetic: tensors, libtorch's autograd, and calls between Go and C++. Only
// gorl's own engine records, so that a capture does what it records, which counts as the first replay. Where autograd
// follows an operation that the engine leaves to libtorch, where the host reads or writes, and where the passage takes
// more than 4 MB of memory, so that arithmetic is nearly all of its time, nothing is recorded, and Recorded reports
// false.
//
// What a passage cannot do: read from the device ([Read], [Item]) or write to it ([From], [Write]), both of which fail
// in the capture; depend on numbers of the host, which stay what they were in the capture; release tensors of before
// that it uses. An [Optimizer] steps by [Optimizer.Advance].
//
// Graphs of CUDA devices want a [Stream] of their own (Stream.Do around all of it). They have passed their tests on
// emulated devices, not yet on a GPU. A Graph is used by one goroutine at a time and must be closed.
type Graph struct {
	native     unsafe.Pointer
	generators []*Generator
	recorded   bool
}

// NewGraph returns an empty graph of device d, for passages that draw random numbers from these generators. It is an
// error for a CUDA device where gorl's library was built without CUDA's headers.
func NewGraph(d Device, generators ...*Generator) (*Graph, error) {
	g := &Graph{generators: generators}
	if msg := C.gorl_graph_new(d.code(), &g.native); msg != nil {
		return nil, failure("NewGraph", msg)
	}
	return g, nil
}

// WarmUp calls f, which computes in scope s, and returns its error, or else that of s. It is done as it would be
// without the graph, but that optimizers step as in a capture.
func (g *Graph) WarmUp(s *Scope, f func() error) error {
	s.captured = true
	defer func() { s.captured = false }()
	if err := f(); err != nil {
		return err
	}
	return s.err
}

// Capture records what f asks of the device in scope s, in the place of what was recorded before. It returns f's error,
// or else that of s, or that of the capture, and nothing is recorded then. Results of f have memory of their own, which
// holds nothing before the first replay and belongs to the graph until it is dropped, also where the scope is closed.
func (g *Graph) Capture(s *Scope, f func() error) (err error) {
	g.recorded = false
	runtime.LockOSThread() // to which the capture belongs
	defer runtime.UnlockOSThread()
	sources := make([]unsafe.Pointer, len(g.generators))
	for i, x := range g.generators {
		sources[i] = x.source("Capture")
	}
	if msg := C.gorl_graph_begin(g.native, unsafe.SliceData(sources), C.int32_t(len(sources))); msg != nil {
		return failure("Capture", msg)
	}
	complete, whole := false, C.int(0)
	defer func() {
		err = cmp.Or(err, failure("Capture", C.gorl_graph_end(g.native, flag(complete), &whole)))
		g.recorded = complete && whole != 0 && err == nil
	}()
	err = g.WarmUp(s, f)
	complete = err == nil
	return err
}

// Recorded reports whether there is something to replay.
func (g *Graph) Recorded() bool { return g.recorded }

// Replay does what was recorded. It does not wait for the device.
func (g *Graph) Replay() error {
	if !g.recorded {
		return errors.New("tensor: Replay: nothing is recorded; call Capture first")
	}
	return failure("Replay", C.gorl_graph_replay(g.native))
}

// Drop forgets what was recorded. The memory stays with the graph for the next capture.
func (g *Graph) Drop() error {
	g.recorded = false
	return failure("Drop", C.gorl_graph_drop(g.native))
}

// Close releases the graph. It may be called twice.
func (g *Graph) Close() {
	if g.native != nil {
		C.gorl_graph_free(g.native)
		g.native = nil
	}
}
