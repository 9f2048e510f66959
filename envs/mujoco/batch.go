package mujoco

/*
#cgo noescape gm_step
#cgo nocallback gm_step
#cgo noescape gm_reset
#cgo nocallback gm_reset
#cgo noescape gm_forward
#cgo nocallback gm_forward
#include <stdlib.h>
#include "engine.h"
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gorl-dev/gorl/internal/capacity"
)

// Status is a set of bits that describe the last step of a simulation.
type Status uint8

const (
	// Diverged means that a position, velocity or acceleration was NaN or beyond MuJoCo's limit (mjMAXVAL, 1e10). The
	// simulation is back in its state before the step.
	Diverged Status = C.GM_DIVERGED
	// ContactsFull means that MuJoCo dropped contacts, because there were more than the model's nconmax or its memory
	// allows.
	ContactsFull Status = C.GM_CONTACTS_FULL
	// RowsFull means that MuJoCo dropped constraint rows, because there were more than the model's njmax (in MuJoCo 3:
	// its memory) allows.
	RowsFull Status = C.GM_ROWS_FULL
)

// Batch is N simulations of one model that step in parallel. Their positions, velocities and controls are
// contiguous arrays of float64 in C memory, which Go reads and writes without copying. Only one goroutine may use a
// Batch at a time. Its slices are invalid after Close.
type Batch struct {
	model *Model
	// c is the C side. It is nil after Close.
	c *C.gm_batch
	// n is the number of simulations.
	n int
	// data (n), qpos (n, NQ), qvel (n, NV), ctrl (n, NU) and status (n) are views of C memory.
	data   []*C.mjData
	qpos   []float64
	qvel   []float64
	ctrl   []float64
	status []Status
	pool   *pool
	// message has one buffer per worker, in C memory, for the text of a MuJoCo error.
	message []*C.char
	// which (1) is the list of simulations that Reset passes to C, kept to avoid an allocation.
	which []C.int

	// mu guards err while workers run.
	mu sync.Mutex
	// err is the first error that a worker met in the running call.
	err error
	// substeps is the number of time steps of the running Step.
	substeps int
	// reference makes every step use MuJoCo's own mj_step. Tests set it, to compare the fast integrator with MuJoCo's.
	reference bool
	// work is the pool's function of Step, made once so that a step does not allocate.
	work func(worker, first, last int)
}

// NewBatch makes n simulations. Workers is the number of goroutines that step them, including the caller. Zero means
// one per CPU. The trajectories do not depend on it. If the simulations do not fit into memory, the error says how many
// bytes they need.
func NewBatch(m *Model, n, workers int) (*Batch, error) {
	switch {
	case m == nil:
		return nil, errors.New("mujoco: a batch needs a model")
	case n <= 0:
		return nil, fmt.Errorf("mujoco: a batch of %d simulations; there must be at least one", n)
	case workers < 0:
		return nil, fmt.Errorf("mujoco: %d workers; give 0 for one a CPU, or a positive number", workers)
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
		pool: newPool(n, cmp.Or(workers, runtime.GOMAXPROCS(0))),
	}
	for len(b.message) < b.pool.workers() {
		b.message = append(b.message, newMessage())
	}
	b.work = func(worker, first, last int) { b.note(b.stepRange(worker, first, last, b.substeps)) }
	return b, nil
}

// simulations allocates n simulations in C. For a large n it first makes a single one to measure its size. Without that
// check, the kernel may kill a process that allocates more memory than the machine has.
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

// newMessage returns an empty buffer in C memory for the text of a MuJoCo error. The caller frees it.
func newMessage() *C.char { return (*C.char)(C.calloc(C.GM_MESSAGE, 1)) }

// Len is the number of simulations.
func (b *Batch) Len() int { return b.n }

// Model returns the simulated model.
func (b *Batch) Model() *Model { return b.model }

// QPos returns the positions of simulation i, (NQ). Reset starts from them, and Step overwrites them.
func (b *Batch) QPos(i int) []float64 { return row(b.qpos, i, b.model.NQ()) }

// QVel returns the velocities of simulation i, (NV).
func (b *Batch) QVel(i int) []float64 { return row(b.qvel, i, b.model.NV()) }

// Ctrl returns the controls of simulation i, (NU), which Step applies.
func (b *Batch) Ctrl(i int) []float64 { return row(b.ctrl, i, b.model.NU()) }

// Status describes the last step of simulation i. Zero means that nothing went wrong.
func (b *Batch) Status(i int) Status { return b.status[i] }

// row returns row i of a table of width w. Its capacity ends with the row, so that append cannot write into the next.
func row[T any](s []T, i, w int) []T { return s[i*w : (i+1)*w : (i+1)*w] }

// Step applies the controls for the given number of time steps to every simulation. A simulation that diverges returns
// to its state before the step (see [Diverged]), without an error. An error means that MuJoCo itself cannot continue,
// for example because it exceeds the memory that the model's <size> allows.
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

// Reset restarts simulation i from the positions and velocities in its rows, at time 0. All other state is cleared.
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

// note keeps the first error of the workers. Workers call it concurrently.
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

// stepRange steps simulations first to last-1 by a single call into C, because each call has a fixed cost.
func (b *Batch) stepRange(worker, first, last, substeps int) error {
	reference := 0
	if b.reference {
		reference = 1
	}
	failed := C.gm_step(b.c, C.int(worker), C.int(first), C.int(last), C.int(substeps), C.int(reference),
		b.message[worker])
	return b.failure("step", worker, int(failed))
}

// resetList restarts the listed simulations from their rows. It uses the worker's message buffer.
func (b *Batch) resetList(worker int, which []C.int) error {
	if len(which) == 0 {
		return nil
	}
	failed := C.gm_reset(b.c, C.int(worker), &which[0], C.int(len(which)), b.message[worker])
	return b.failure("reset", worker, int(failed))
}

// forward takes positions and velocities of simulations first to last-1 from their rows and recomputes what depends on
// them, on a worker. It keeps time, activations and warm start.
func (b *Batch) forward(worker, first, last int) error {
	failed := C.gm_forward(b.c, C.int(worker), C.int(first), C.int(last), b.message[worker])
	return b.failure("restore", worker, int(failed))
}

// failure returns the error of a C call that returned i: the index of the failed simulation, or negative for success.
// what is the operation, for the message.
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

// live is the number of models and simulations in C memory. Tests use it to find leaks.
func live() int { return int(C.gm_live()) }
