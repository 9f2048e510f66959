package main

// #cgo CFLAGS: -O3
// double fma_operations(long rounds);
import "C"

import (
	"errors"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/tensor"
)

// rates are what the machine can do at best with as many threads as tensor has: float32 matrix products by the library
// that gorl multiplies with, and fused multiplications and additions in registers.
func rates() []measure {
	const n, repeats = 2048, 8
	d := compare.Must(tensor.ParseDevice(device))
	gen := compare.Must(tensor.NewGenerator(1, d))
	defer gen.Close()
	s := tensor.NoGrad().On(d)
	defer s.Close()
	x, y := s.Randn(gen, n, n), s.Randn(gen, n, n)
	product := 0.0
	for range repeats {
		begin := time.Now()
		z := s.MatMul(x, y)
		compare.Check(errors.Join(s.Err(), tensor.Synchronize()))
		product = max(product, 2*n*n*n/time.Since(begin).Seconds())
		tensor.Free(s.Keep(z))
	}
	peak := 0.0
	for range repeats {
		begin := time.Now()
		operations := make([]float64, tensor.Threads())
		var wait sync.WaitGroup
		for i := range operations {
			wait.Go(func() { operations[i] = float64(C.fma_operations(2_000_000)) })
		}
		wait.Wait()
		peak = max(peak, float64(len(operations))*operations[0]/time.Since(begin).Seconds())
	}
	return []measure{{"product", product / 1e9}, {"fma_peak", peak / 1e9}}
}
