package torchfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// encoder writes a pickle of protocol 2.
type encoder struct {
	b        []byte
	memo     map[string]uint32 // strings and globals written before, under "s…" and "g…"
	storages map[*Storage]storageOf
	order    []*Storage
	err      error
}

// fail keeps the first error. What is written after it does not count.
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
	case *Tensor:
		e.tensor(v)
	case DType:
		if _, ok := elementTypes["torch."+string(v)]; !ok {
			e.fail("%q is no torch.dtype", v)
		}
		e.global("torch", string(v))
	case Device:
		e.global("torch", "device")
		e.text(string(v))
		e.op(opTuple1, opReduce)
	case Size:
		e.global("torch", "Size")
		e.ints(v)
		e.op(opTuple1, opReduce)
	default:
		e.fail("a %T cannot be written; the package's documentation lists what can", v)
	}
}

func (e *encoder) op(ops ...byte) { e.b = append(e.b, ops...) }

func (e *encoder) bool(on bool) {
	if on {
		e.op(opNewTrue)
	} else {
		e.op(opNewFalse)
	}
}

// number appends an instruction and a little-endian number.
func (e *encoder) number(op byte, n uint32) {
	e.b = binary.LittleEndian.AppendUint32(append(e.b, op), n)
}

func (e *encoder) integer(n int64) {
	switch {
	case n >= 0 && n <= math.MaxUint8:
		e.op(opBinInt1, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		e.b = binary.LittleEndian.AppendUint16(append(e.b, opBinInt2), uint16(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		e.number(opBinInt, uint32(int32(n)))
	default:
		e.b = binary.LittleEndian.AppendUint64(append(e.b, opLong1, 8), uint64(n))
	}
}

// text writes a string; one that was written before is only referred to.
func (e *encoder) text(s string) {
	switch {
	case !utf8.ValidString(s):
		e.fail("%.80q is not UTF-8", s)
	case int64(len(s)) > math.MaxUint32:
		e.fail("a string of %d bytes is too long for a pickle", len(s))
	case !e.recall("s" + s):
		e.number(opBinUnicode, uint32(len(s)))
		e.b = append(e.b, s...)
		e.keep("s" + s)
	}
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
		e.number(opLongBinGet, n)
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
		e.number(opLongBinPut, n)
	}
}

// bytes are spelt as text in protocol 2.
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
