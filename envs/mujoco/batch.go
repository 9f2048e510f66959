package mujoco

/*
#cgo noescape gm_step
#cgo nocallback gm_step
#cgo noescape gm_reset
#cgo nocallback gm_reset
#include <stdlib.h>
#include "engine.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gorl-dev/gorl/internal/capacity"
)

// Status says what happened to a simulation in its last step, as a set of bits.
type Status uint8

const (
	// Diverged says that a number left the range of sense. The simulation stands where it was before the step.
	Diverged Status = C.GM_DIVERGED
	// ContactsFull says that there were more contacts than the model's nconmax or its memory allow, and some were
	// dropped.
	ContactsFull Status = C.GM_CONTACTS_FULL
	// RowsFull says that there were more constraint rows than the model's njmax (with MuJoCo 3: its memory) allows, and
	// some were dropped.
	RowsFull Status = C.GM_ROWS_FULL
)

// Batch is N simulations of one model that step in parallel. Their positions, velocities and controls are
// contiguous arrays of float64 in C memory, which Go reads and writes without copying. It is used by one goroutine at
// a time, and its slices are gone after Close.
type Batch struct {
	model   *Model
	c       *C.gm_batch
	n       int
	data    []*C.mjData
	qpos    []float64
	qvel    []float64
	ctrl    []float64
	status  []Status
	pool    *pool
	message []*C.char // one a worker
	which   []C.int   // the simulation that Reset is about

	mu        sync.Mutex
	err       error
	substeps  int
	reference bool
	work      func(worker, first, last int)
}

// NewBatch makes n simulations. Workers is the number of goroutines that step them, the caller included; 0 means
// one a CPU. The trajectories do not depend on it. More than fit into memory are an error with the number of bytes.
func NewBatch(m *Model, n, workers int) (*Batch, error) {
	switch {
	case m == nil:
		return nil, errors.New("mujoco: a batch needs a model")
	case n <= 0:
		return nil, fmt.Errorf("mujoco: a batch of %d simulations; there must be at least one", n)
	case workers < 0:
		return nil, fmt.Errorf("mujoco: %d workers; give 0 for one a CPU, or a positive number", workers)
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if err := m.retain(); err != nil {
		return nil, err
	}
	message := newMessage()
	c, err := m.simulations(n, message)
	if err != nil {
		C.free(unsafe.Pointer(message))
		m.release()
		return nil, err
	}
	b := &Batch{
		model: m, c: c, n: n, data: unsafe.Slice(c.d, n),
		qpos: floats(c.qpos, n*m.NQ()), qvel: floats(c.qvel, n*m.NV()), ctrl: floats(c.ctrl, n*m.NU()),
		status:  unsafe.Slice((*Status)(unsafe.Pointer(c.status)), n),
		message: []*C.char{message}, which: make([]C.int, 1),
		pool: newPool(n, workers),
	}
	for len(b.message) < b.pool.workers() {
		b.message = append(b.message, newMessage())
	}
	b.work = func(worker, first, last int) { b.note(b.stepRange(worker, first, last, b.substeps)) }
	return b, nil
}

// simulations makes them. Of more than a few the first one is made by itself, to see how many fit into memory.
func (m *Model) simulations(n int, message *C.char) (*C.gm_batch, error) {
	make := func(n int) (*C.gm_batch, error) {
		c := C.gm_make_batch(m.c, C.int(n), message)
		if c == nil {
			return nil, fmt.Errorf("mujoco: a batch of %d simulations: %s", n, tidy(C.GoString(message)))
		}
		return c, nil
	}
	if n > 1024 {
		one, err := make(1)
		if err != nil {
			return nil, err
		}
		bytes := float64(C.gm_data_bytes(one))
		C.gm_free_batch(one)
		if err := capacity.Check(fmt.Sprintf("mujoco: a batch of %d simulations", n), float64(n)*bytes); err != nil {
			return nil, err
		}
	}
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("mujoco: a batch of %d simulations; there may be %d", n, math.MaxInt32)
	}
	return make(n)
}

// setArena sets how many bytes simulation i has for contacts, constraints and scratch, and returns how many it had.
// Only tests call it.
func (b *Batch) setArena(i, bytes int) int { return int(C.gm_set_arena(b.data[i], C.size_t(bytes))) }

func newMessage() *C.char { return (*C.char)(C.calloc(C.GM_MESSAGE, 1)) }

// Len is the number of simulations.
func (b *Batch) Len() int { return b.n }

// Model is the model that they simulate.
func (b *Batch) Model() *Model { return b.model }

// QPos returns the positions of simulation i, (NQ). Write them before Reset; after Step they are the new ones.
func (b *Batch) QPos(i int) []float64 { return row(b.qpos, i, b.model.NQ()) }

// QVel returns the velocities of simulation i, (NV).
func (b *Batch) QVel(i int) []float64 { return row(b.qvel, i, b.model.NV()) }

// Ctrl returns the controls of simulation i, (NU), which Step applies.
func (b *Batch) Ctrl(i int) []float64 { return row(b.ctrl, i, b.model.NU()) }

// Status returns what happened to simulation i in the last step; zero is all well.
func (b *Batch) Status(i int) Status { return b.status[i] }

func row[T any](s []T, i, w int) []T { return s[i*w : (i+1)*w : (i+1)*w] }

// Step applies the controls for the given number of time steps to every simulation. A simulation that diverges is set
// back (see [Diverged]) and is no error; an error is MuJoCo's own refusal to go on, such as running out
// of the memory that the model's <size> allows.
func (b *Batch) Step(substeps int) error {
	if b.c == nil {
		return errors.New("mujoco: the batch is closed")
	}
	if substeps <= 0 {
		return fmt.Errorf("mujoco: %d substeps; there must be at least one", substeps)
	}
	b.substeps, b.err = substeps, nil
	b.pool.run(b.work)
	return b.err
}

// Reset starts simulation i anew from the positions and velocities in its rows, at time 0.
func (b *Batch) Reset(i int) error {
	if b.c == nil {
		return errors.New("mujoco: the batch is closed")
	}
	if i < 0 || i >= b.n {
		return fmt.Errorf("mujoco: reset of simulation %d of %d", i, b.n)
	}
	b.which[0] = C.int(i)
	return b.resetList(0, b.which)
}

// note keeps the first error of the workers.
func (b *Batch) note(err error) {
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

// stepRange is one call into C for simulations first to last-1.
func (b *Batch) stepRange(worker, first, last, substeps int) error {
	reference := 0
	if b.reference {
		reference = 1
	}
	failed := C.gm_step(b.c, C.int(first), C.int(last), C.int(substeps), C.int(reference), b.message[worker])
	return b.failure("step", worker, int(failed))
}

func (b *Batch) resetList(worker int, which []C.int) error {
	if len(which) == 0 {
		return nil
	}
	failed := C.gm_reset(b.c, &which[0], C.int(len(which)), b.message[worker])
	return b.failure("reset", worker, int(failed))
}

// forward recomputes what depends on positions and velocities, keeping time, activations and warm start.
func (b *Batch) forward(first, last int) error {
	failed := C.gm_forward(b.c, C.int(first), C.int(last), b.message[0])
	return b.failure("restore", 0, int(failed))
}

func (b *Batch) failure(what string, worker, i int) error {
	if i < 0 {
		return nil
	}
	return fmt.Errorf("mujoco: %s of simulation %d: %s", what, i, tidy(C.GoString(b.message[worker])))
}

// Close frees the simulations and ends the workers. It may be called twice.
func (b *Batch) Close() error {
	if b.c == nil {
		return nil
	}
	b.pool.stop()
	C.gm_free_batch(b.c)
	for _, m := range b.message {
		C.free(unsafe.Pointer(m))
	}
	b.c, b.data, b.qpos, b.qvel, b.ctrl, b.status = nil, nil, nil, nil, nil, nil
	b.model.release()
	return nil
}

// live is the number of models and simulations in C memory.
func live() int { return int(C.gm_live()) }
