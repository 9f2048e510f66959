package tensor

// #cgo noescape gorl_random
// #cgo nocallback gorl_random
// #include "gorl.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Generator is a source of random numbers with a state of its own, on one device. It is used by one goroutine at a
// time and must be closed.
type Generator struct {
	p      unsafe.Pointer
	device Device
}

// NewGenerator returns a generator on device d. The same seed gives the same numbers on the same kind of device. Any
// seed is allowed; libtorch reads a negative one as the unsigned number of the same 64 bits.
func NewGenerator(seed int64, d Device) (*Generator, error) {
	g := &Generator{device: d}
	if msg := C.gorl_generator_new(C.uint64_t(seed), d.code(), &g.p); msg != nil {
		return nil, failure("NewGenerator", msg)
	}
	return g, nil
}

// source returns the native generator, and panics if there is none: it would be a crash.
func (g *Generator) source(op string) unsafe.Pointer {
	if g == nil || g.p == nil {
		panic("tensor: " + op + ": the generator is closed")
	}
	return g.p
}

// Close releases the generator. It may be called twice.
func (g *Generator) Close() {
	if g.p != nil {
		C.gorl_generator_free(g.p)
		g.p = nil
	}
}

// Seed starts the sequence of the given seed.
func (g *Generator) Seed(seed int64) error {
	return failure("Seed", C.gorl_generator_seed(g.source("Seed"), C.uint64_t(seed)))
}

// State returns the generator's state, for [Generator.SetState] of a generator on the same kind of device.
func (g *Generator) State() ([]byte, error) {
	p := g.source("State")
	s := NoGrad()
	defer s.Close()
	t := s.result("State", func(out *C.gorl_t) C.gorl_err { return C.gorl_generator_get(p, out) })
	if s.err != nil {
		return nil, s.err
	}
	out := make([]byte, Numel(t))
	return out, Read(t, out)
}

// SetState continues the sequence from a state returned by [Generator.State].
func (g *Generator) SetState(state []byte) error {
	p := g.source("SetState")
	if len(state) == 0 {
		return fmt.Errorf("tensor: SetState: the generator's state is empty")
	}
	s := NoGrad()
	defer s.Close()
	t := From(s, state)
	s.effect("SetState", func() C.gorl_err { return C.gorl_generator_set(p, handle("SetState", t)) }, t)
	return s.err
}

func (s *Scope) random(name string, op C.int32_t, g *Generator, a, b float64, shape []int64) Tensor {
	p, n := ints(shape)
	return s.result(name, func(out *C.gorl_t) C.gorl_err {
		return C.gorl_random(op, p, n, C.double(a), C.double(b), g.source(name), g.device.code(), out)
	})
}

// Randn returns standard normal numbers.
func (s *Scope) Randn(g *Generator, shape ...int64) Tensor {
	return s.random("Randn", C.GORL_RANDN, g, 0, 0, shape)
}

// Rand returns numbers uniform in [0, 1).
func (s *Scope) Rand(g *Generator, shape ...int64) Tensor {
	return s.random("Rand", C.GORL_RAND, g, 0, 0, shape)
}

// RandInt returns int64 numbers uniform in [low, high).
func (s *Scope) RandInt(g *Generator, low, high int64, shape ...int64) Tensor {
	const most = 1 << 53 // they are passed on as float64
	if s.err == nil && (low < -most || high > most) {
		s.err = fmt.Errorf("tensor: RandInt: the range [%d, %d) leaves [-2⁵³, 2⁵³]; take a smaller one", low,
			high)
		return Tensor{}
	}
	return s.random("RandInt", C.GORL_RANDINT, g, float64(low), float64(high), shape)
}

// RandPerm returns a random permutation of 0 … n−1 as int64.
func (s *Scope) RandPerm(g *Generator, n int64) Tensor {
	return s.random("RandPerm", C.GORL_RANDPERM, g, 0, 0, []int64{n})
}

// Multinomial draws n indices a row, with replacement, from rows of probabilities (rows, k); the result is (rows, n)
// int64.
func (s *Scope) Multinomial(g *Generator, probabilities Tensor, n int64) Tensor {
	return s.result("Multinomial", func(out *C.gorl_t) C.gorl_err {
		return C.gorl_multinomial(handle("Multinomial", probabilities), C.int64_t(n), g.source("Multinomial"), out)
	}, probabilities)
}
