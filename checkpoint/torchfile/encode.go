package torchfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gorl-dev/gorl/checkpoint"
)

// encoder writes a pickle of protocol 2.
type encoder struct {
	b        []byte
	memo     map[string]uint32 // strings and globals written before, under "s…" and "g…"
	storages map[*Storage]storageOf
	order    []*Storage
}

func (e *encoder) value(v any, depth int) error {
	if depth > maxDepth {
		return tooDeep()
	}
	switch v := v.(type) {
	case nil:
		e.op(opNone)
	case bool:
		if v {
			e.op(opNewTrue)
		} else {
			e.op(opNewFalse)
		}
	case int:
		e.integer(int64(v))
	case int64:
		e.integer(v)
	case float64:
		e.b = binary.BigEndian.AppendUint64(append(e.b, opBinFloat), math.Float64bits(v))
	case string:
		return e.text(v)
	case []byte:
		return e.bytes(v)
	case Tuple:
		return e.tuple(v, depth)
	case *List:
		return e.list(v, depth)
	case *Dict:
		return e.dict(v, depth)
	case *Tensor:
		return e.tensor(v)
	case DType:
		if _, ok := elementTypes["torch."+string(v)]; !ok {
			return fmt.Errorf("torchfile: %q is no torch.dtype", v)
		}
		e.global("torch", string(v))
	case Device:
		e.global("torch", "device")
		if err := e.text(string(v)); err != nil {
			return err
		}
		e.op(opTuple1, opReduce)
	case Size:
		e.global("torch", "Size")
		e.ints(v)
		e.op(opTuple1, opReduce)
	default:
		return fmt.Errorf("torchfile: a %T cannot be written; the package's documentation lists what can", v)
	}
	return nil
}

func tooDeep() error {
	return fmt.Errorf("torchfile: the value is nested more than %d deep, or contains itself", maxDepth)
}

func (e *encoder) op(ops ...byte) { e.b = append(e.b, ops...) }

func (e *encoder) integer(n int64) {
	switch {
	case n >= 0 && n <= math.MaxUint8:
		e.op(opBinInt1, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		e.b = binary.LittleEndian.AppendUint16(append(e.b, opBinInt2), uint16(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		e.b = appendUint32(e.b, opBinInt, uint32(int32(n)))
	default:
		e.b = appendLong(e.b, n)
	}
}

// text writes a string; one that was written before is only referred to.
func (e *encoder) text(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("torchfile: %.80q is not UTF-8", s)
	}
	if e.recall("s" + s) {
		return nil
	}
	if int64(len(s)) > math.MaxUint32 {
		return fmt.Errorf("torchfile: a string of %d bytes is too long for a pickle", len(s))
	}
	e.b = append(appendUint32(e.b, opBinUnicode, uint32(len(s))), s...)
	e.keep("s" + s)
	return nil
}

func (e *encoder) global(module, attribute string) {
	if e.recall("g" + module + " " + attribute) {
		return
	}
	e.b = append(e.b, "c"+module+"\n"+attribute+"\n"...)
	e.keep("g" + module + " " + attribute)
}

// recall refers to what the memo holds under a key, if it does.
func (e *encoder) recall(key string) bool {
	n, ok := e.memo[key]
	switch {
	case ok && n <= math.MaxUint8:
		e.op(opBinGet, byte(n))
	case ok:
		e.b = appendUint32(e.b, opLongBinGet, n)
	}
	return ok
}

// keep puts what was written last into the memo.
func (e *encoder) keep(key string) {
	n := uint32(len(e.memo))
	e.memo[key] = n
	if n <= math.MaxUint8 {
		e.op(opBinPut, byte(n))
	} else {
		e.b = appendUint32(e.b, opLongBinPut, n)
	}
}

// bytes are spelt as text in protocol 2.
func (e *encoder) bytes(b []byte) error {
	e.global("_codecs", "encode")
	runes := make([]rune, len(b))
	for i, x := range b {
		runes[i] = rune(x)
	}
	if err := e.text(string(runes)); err != nil {
		return err
	}
	if err := e.text("latin1"); err != nil {
		return err
	}
	e.op(opTuple2, opReduce)
	return nil
}

func (e *encoder) list(v *List, depth int) error {
	if v == nil {
		return fmt.Errorf("torchfile: a nil list cannot be written")
	}
	e.op(opEmptyList)
	if len(v.Items) == 0 {
		return nil
	}
	e.op(opMark)
	for _, x := range v.Items {
		if err := e.value(x, depth+1); err != nil {
			return err
		}
	}
	e.op(opAppends)
	return nil
}

func (e *encoder) tuple(v Tuple, depth int) error {
	if len(v) == 0 {
		e.op(opEmptyTuple)
		return nil
	}
	if len(v) > 3 {
		e.op(opMark)
	}
	for _, x := range v {
		if err := e.value(x, depth+1); err != nil {
			return err
		}
	}
	if len(v) > 3 {
		e.op(opTuple)
	} else {
		e.op(opTuple1 + byte(len(v)) - 1)
	}
	return nil
}

func (e *encoder) ints(v []int64) {
	t := make(Tuple, len(v))
	for i, n := range v {
		t[i] = n
	}
	_ = e.tuple(t, 0) // whole numbers can always be written
}

func (e *encoder) dict(d *Dict, depth int) error {
	if d == nil {
		return fmt.Errorf("torchfile: a nil dict cannot be written")
	}
	if depth > maxDepth {
		return tooDeep()
	}
	if d.Ordered {
		e.orderedDict()
	} else {
		e.op(opEmptyDict)
	}
	if d.Len() > 0 {
		e.op(opMark)
		for k, x := range d.All() {
			if err := e.value(k, depth+1); err != nil {
				return err
			}
			if err := e.value(x, depth+1); err != nil {
				return err
			}
		}
		e.op(opSetItems)
	}
	if d.Attributes == nil {
		return nil
	}
	if !d.Ordered {
		return fmt.Errorf("torchfile: a plain dict has no Attributes; only an OrderedDict does")
	}
	if err := e.dict(d.Attributes, depth+1); err != nil {
		return err
	}
	e.op(opBuild)
	return nil
}

func (e *encoder) orderedDict() {
	e.global("collections", "OrderedDict")
	e.op(opEmptyTuple, opReduce)
}

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
