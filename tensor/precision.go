package tensor

// #include "gorl.h"
import "C"

import "fmt"

// Precision is the type in which layers compute. The zero value is float32.
type Precision int32

const (
	// Full is float32.
	Full Precision = iota
	// BFloat16 has float32's range with 8 bits of precision: no loss needs scaling.
	BFloat16
	// Float16 has 11 bits of precision, and a range so small that gradients vanish unless the loss is scaled up first.
	Float16
)

// String returns libtorch's name of the type.
func (p Precision) String() string {
	if p < Full || p > Float16 {
		return fmt.Sprintf("Precision(%d)", int32(p))
	}
	return [...]string{"float32", "bfloat16", "float16"}[p]
}

// Layers makes p the type in which the scope's linear layers and convolutions compute ([Scope.Linear], [Scope.MLP],
// [Scope.Critic], [Scope.Conv2d]), and returns the scope. Their inputs and parameters are converted, and their results
// are float32 again; everything else computes in float32, [Scope.Recurrent] too, and parameters and gradients are
// float32. PyTorch calls this autocast.
func (s *Scope) Layers(p Precision) *Scope {
	s.layers = p
	return s
}

// lower is the type in which layers compute as native operations take it: libtorch's number of it, -1 for float32.
func (s *Scope) lower() C.int32_t { return s.layers.code() }

func (p Precision) code() C.int32_t {
	switch p {
	case BFloat16:
		return 15
	case Float16:
		return 5
	}
	return -1
}

// Supported returns why layers cannot compute in p on a device, nil where they can.
func (p Precision) Supported(d Device) error {
	if p == Full {
		return nil
	}
	if p.code() < 0 {
		return fmt.Errorf("tensor: unknown precision %v", p)
	}
	return failure(p.String(), C.gorl_can_lower(p.code(), d.code()))
}
