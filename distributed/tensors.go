//go:build cgo

package distributed

import (
	"fmt"

	"github.com/gorl-dev/gorl/tensor"
)

// Sum replaces t by the sum of all ranks' tensors, which must have one shape and type. Every rank gets the same
// numbers, bit for bit. An error is stored in the scope. With a scope that has an error Sum does nothing.
func (g *Group) Sum(s *tensor.Scope, t tensor.Tensor) {
	g.operate(s, t, (*tensor.NCCL).Sum, func(t tensor.Tensor, b []byte) error {
		add, size := adderOf(tensor.TypeOf(t))
		if add == nil {
			return fmt.Errorf("distributed: a sum of %v; want float32, float64, int32 or int64", tensor.TypeOf(t))
		}
		return g.exchange(func() error { return g.sum(b, size, add) })
	})
}

// Broadcast replaces t by the tensor of rank root.
func (g *Group) Broadcast(s *tensor.Scope, t tensor.Tensor, root int) {
	g.operate(s, t, func(n *tensor.NCCL, t tensor.Tensor) error { return n.Broadcast(t, root) },
		func(_ tensor.Tensor, b []byte) error {
			return g.exchange(func() error {
				if g.Rank() == root {
					return g.sendAll(kindBroadcast, func(int) []byte { return b })
				}
				return g.receive(kindBroadcast, root, b)
			})
		})
}

// operate calls gpu for a tensor on CUDA if the ranks have NCCL. Otherwise it calls host with the tensor's memory, or
// with a copy on the host if t is on another device.
func (g *Group) operate(s *tensor.Scope, t tensor.Tensor, gpu func(*tensor.NCCL, tensor.Tensor) error,
	host func(t tensor.Tensor, memory []byte) error) {
	if !g.Several() || s.Err() != nil {
		return
	}
	if g.lost != nil {
		s.Fail(g.lost)
		return
	}
	on, here := tensor.DeviceOf(t), t
	if on != tensor.CPU && g.gpus.nccl != nil {
		if err := g.onGPU(on, func() error { return gpu(g.gpus.nccl, t) }); err != nil {
			s.Fail(err)
		}
		return
	}
	if on != tensor.CPU {
		if here = s.To(t, tensor.TypeOf(t), tensor.CPU); s.Err() != nil {
			return
		}
	}
	memory, err := tensor.Bytes(here)
	if err == nil {
		err = host(here, memory)
	}
	switch {
	case err != nil:
		s.Fail(err)
	case on != tensor.CPU:
		s.Copy(t, here)
	}
}

// adderOf returns the function that adds elements of a type, and their size in bytes.
func adderOf(t tensor.DType) (add func(to, from []byte), size int) {
	switch t {
	case tensor.Float32:
		return addElements[float32], 4
	case tensor.Float64:
		return addElements[float64], 8
	case tensor.Int32:
		return addElements[int32], 4
	case tensor.Int64:
		return addElements[int64], 8
	}
	return nil, 0
}
