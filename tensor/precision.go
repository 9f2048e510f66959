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
	switch p {
	case Full:
		return "float32"
	case BFloat16:
		return "bfloat16"
	case Float16:
		return "float16"
	}
	return fmt.Sprintf("Precision(%d)", int32(p))
}

// Layers makes p the type in which the scope's layers compute, linear ones and those built of matrix products like them
// ([Scope.MLP], [Scope.Critic]), and returns the scope. Their inputs and parameters are converted, and their results are
// float32 again; everything else computes in float32, parameters and gradients are float32. PyTorch calls this autocast.
func (s *Scope) Layers(p Precision) *Scope {
	s.layers = p
	return s
}

// codes are libtorch's numbers of the types; -1 is that of none.
var codes = map[Precision]C.int32_t{Full: -1, BFloat16: 15, Float16: 5}

// lower is the type in which layers compute as native operations take it.
func (s *Scope) lower() C.int32_t {
	if s.layers == Full {
		return -1
	}
	return codes[s.layers]
}

// Supported returns why layers cannot compute in p on a device, nil where they can.
func (p Precision) Supported(d Device) error {
	if p == Full {
		return nil
	}
	code, ok := codes[p]
	if !ok {
		return fmt.Errorf("tensor: unknown precision %v", p)
	}
	if msg := C.gorl_can_lower(code, d.code()); msg != nil {
		return failure(p.String(), msg)
	}
	return nil
}
