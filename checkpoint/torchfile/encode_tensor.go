package torchfile

import (
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// storageOf is a storage's key and what its elements were first said to be.
type storageOf struct {
	key   int
	dtype checkpoint.DType
}

func (e *encoder) tensor(t *Tensor) {
	if t == nil {
		e.fail("a nil tensor cannot be written")
		return
	}
	if _, err := t.check(); err != nil {
		e.fail("%w", err)
		return
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
	e.storage(t, storage)
	e.integer(t.Offset)
	e.ints(t.Shape)
	e.ints(t.Strides)
	e.bool(t.RequiresGrad && !t.Parameter)
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
		e.bool(t.RequiresGrad)
		e.orderedDict()
		e.op(opTuple3, opReduce)
	}
}

// storage writes the id of a tensor's storage. All tensors of a storage must have one element type, as in PyTorch.
func (e *encoder) storage(t *Tensor, kind string) {
	s, known := e.storages[t.Storage]
	if !known {
		s = storageOf{len(e.order), t.DType}
		e.storages[t.Storage] = s
		e.order = append(e.order, t.Storage)
	}
	if s.dtype != t.DType {
		e.fail("tensors of %s and of %s share one storage; give each its own", s.dtype, t.DType)
		return
	}
	size := t.DType.Size()
	if int64(len(t.Storage.Data))%size != 0 {
		e.fail("a storage of %d bytes holds no whole number of %s", len(t.Storage.Data), t.DType)
		return
	}
	e.op(opMark)
	e.text("storage")
	if kind == "" {
		e.global("torch.storage", "UntypedStorage")
		size = 1
	} else {
		e.global("torch", kind)
	}
	e.text(strconv.Itoa(s.key))
	e.text("cpu")
	e.integer(int64(len(t.Storage.Data)) / size)
	e.op(opTuple, opBinPersID)
}
