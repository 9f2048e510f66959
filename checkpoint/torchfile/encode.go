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
