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

// encoder writes a pickle of protocol 2. It writes a string again each time, without a memo.
type encoder struct {
	b        []byte
	storages [][]byte // by key
	err      error
}

// fail keeps the first error.
func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("torchfile: "+format, args...)
	}
}

func (e *encoder) value(v any, depth int) {
	if depth > maxDepth {
		e.fail("the value is nested more than %d deep, or contains itself", maxDepth)
	}
	if e.err != nil {
		return
	}
	switch v := v.(type) {
	case nil:
		e.op(opNone)
	case bool:
		e.bool(v)
	case int:
		e.integer(int64(v))
	case int64:
		e.integer(v)
	case float64:
		e.b = binary.BigEndian.AppendUint64(append(e.b, opBinFloat), math.Float64bits(v))
	case string:
		e.text(v)
	case []byte:
		e.bytes(v)
	case Tuple:
		e.tuple(v, depth)
	case *List:
		e.list(v, depth)
	case *Dict:
		e.dict(v, depth)
	case checkpoint.Array:
		e.tensor(v)
	default:
		e.fail("a %T cannot be written; the package's documentation lists what can", v)
	}
}

func (e *encoder) op(ops ...byte) { e.b = append(e.b, ops...) }

func (e *encoder) bool(on bool) { e.op(map[bool]byte{false: opNewFalse, true: opNewTrue}[on]) }

// number appends an instruction and a little-endian number.
func (e *encoder) number(op byte, n uint32) {
	e.b = binary.LittleEndian.AppendUint32(append(e.b, op), n)
}

func (e *encoder) integer(n int64) {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		e.number(opBinInt, uint32(int32(n)))
	} else {
		e.b = binary.LittleEndian.AppendUint64(append(e.b, opLong1, 8), uint64(n))
	}
}

func (e *encoder) text(s string) {
	switch {
	case !utf8.ValidString(s):
		e.fail("%.80q is not UTF-8", s)
	case int64(len(s)) > math.MaxUint32:
		e.fail("a string of %d bytes is too long for a pickle", len(s))
	default:
		e.number(opBinUnicode, uint32(len(s)))
		e.b = append(e.b, s...)
	}
}

func (e *encoder) global(module, attribute string) {
	e.b = append(e.b, "c"+module+"\n"+attribute+"\n"...)
}

// bytes writes bytes as text, as protocol 2 does.
func (e *encoder) bytes(b []byte) {
	e.global("_codecs", "encode")
	runes := make([]rune, len(b))
	for i, x := range b {
		runes[i] = rune(x)
	}
	e.text(string(runes))
	e.text("latin1")
	e.op(opTuple2, opReduce)
}

func (e *encoder) list(v *List, depth int) {
	if v == nil {
		e.fail("a nil list cannot be written")
		return
	}
	e.op(opEmptyList, opMark)
	for _, x := range v.Items {
		e.value(x, depth+1)
	}
	e.op(opAppends)
}

func (e *encoder) tuple(v Tuple, depth int) {
	e.op(opMark)
	for _, x := range v {
		e.value(x, depth+1)
	}
	e.op(opTuple)
}

func (e *encoder) ints(v []int64) {
	t := make(Tuple, len(v))
	for i, n := range v {
		t[i] = n
	}
	e.tuple(t, 0)
}

func (e *encoder) dict(d *Dict, depth int) {
	if d == nil {
		e.fail("a nil dict cannot be written")
		return
	}
	if d.Ordered {
		e.orderedDict()
	} else {
		e.op(opEmptyDict)
	}
	e.op(opMark)
	for k, x := range d.All() {
		e.value(k, depth+1)
		e.value(x, depth+1)
	}
	e.op(opSetItems)
}

func (e *encoder) orderedDict() {
	e.global("collections", "OrderedDict")
	e.op(opEmptyTuple, opReduce)
}

// tensor writes a tensor with its own storage.
func (e *encoder) tensor(a checkpoint.Array) {
	kind := ""
	for name, d := range storageTypes {
		if d == a.DType {
			kind = strings.TrimPrefix(name, "torch.")
		}
	}
	if kind == "" {
		e.fail("a tensor of %s cannot be written; convert it to another type first", a.DType)
		return
	}
	if err := a.Validate(); err != nil {
		e.fail("%w", err)
		return
	}
	e.global("torch._utils", "_rebuild_tensor_v2")
	e.op(opMark)
	e.op(opMark)
	e.text("storage")
	e.global("torch", kind)
	e.text(strconv.Itoa(len(e.storages)))
	e.text("cpu")
	e.integer(a.Len())
	e.op(opTuple, opBinPersID)
	e.integer(0)
	e.ints(a.Shape)
	e.ints(rowMajor(a.Shape))
	e.bool(false)
	e.orderedDict()
	e.op(opTuple, opReduce)
	e.storages = append(e.storages, a.Data)
}
