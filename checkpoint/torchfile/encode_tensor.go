package torchfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// storageOf is a storage's key and what its elements were first said to be.
type storageOf struct {
	key   int
	dtype checkpoint.DType
}

func (e *encoder) tensor(t *Tensor) error {
	if t == nil {
		return fmt.Errorf("torchfile: a nil tensor cannot be written")
	}
	if _, err := t.check(); err != nil {
		return fmt.Errorf("torchfile: %w", err)
	}
	if t.Parameter {
		e.global("torch._utils", "_rebuild_parameter")
	}
	storage := ""
	for name, d := range storageTypes {
		if d == t.DType {
			storage = strings.TrimPrefix(name, "torch.")
		}
	}
	if storage == "" {
		e.global("torch._utils", "_rebuild_tensor_v3")
	} else {
		e.global("torch._utils", "_rebuild_tensor_v2")
	}
	e.op(opMark)
	if err := e.storage(t, storage); err != nil {
		return err
	}
	e.integer(t.Offset)
	e.ints(t.Shape)
	e.ints(t.Strides)
	if t.RequiresGrad && !t.Parameter {
		e.op(opNewTrue)
	} else {
		e.op(opNewFalse)
	}
	e.orderedDict()
	if storage == "" {
		for name, d := range elementTypes {
			if d == t.DType {
				e.global("torch", strings.TrimPrefix(name, "torch."))
			}
		}
	}
	e.op(opTuple, opReduce)
	if t.Parameter {
		grad := byte(opNewFalse)
		if t.RequiresGrad {
			grad = opNewTrue
		}
		e.op(grad)
		e.orderedDict()
		e.op(opTuple3, opReduce)
	}
	return nil
}

// storage writes the id of a tensor's storage. All tensors of a storage must have one element type, as in PyTorch.
func (e *encoder) storage(t *Tensor, kind string) error {
	s, known := e.storages[t.Storage]
	if !known {
		s = storageOf{len(e.order), t.DType}
		e.storages[t.Storage] = s
		e.order = append(e.order, t.Storage)
	}
	if s.dtype != t.DType {
		return fmt.Errorf("torchfile: tensors of %s and of %s share one storage; give each its own", s.dtype, t.DType)
	}
	size := t.DType.Size()
	if int64(len(t.Storage.Data))%size != 0 {
		return fmt.Errorf("torchfile: a storage of %d bytes holds no whole number of %s", len(t.Storage.Data), t.DType)
	}
	e.op(opMark)
	if err := e.text("storage"); err != nil {
		return err
	}
	if kind == "" {
		e.global("torch.storage", "UntypedStorage")
		size = 1
	} else {
		e.global("torch", kind)
	}
	if err := e.text(strconv.Itoa(s.key)); err != nil {
		return err
	}
	if err := e.text("cpu"); err != nil {
		return err
	}
	e.integer(int64(len(t.Storage.Data)) / size)
	e.op(opTuple, opBinPersID)
	return nil
}
