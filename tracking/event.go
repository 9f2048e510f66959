package tracking

import (
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of the messages in tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto.
const (
	eventWallTime    = 1 // double, seconds since 1970
	eventStep        = 2 // int64
	eventFileVersion = 3 // string, in a file's first event
	eventSummary     = 5 // Summary
	eventSessionLog  = 7 // SessionLog

	summaryValue = 1 // repeated Summary.Value

	valueTag    = 1 // string
	valueSimple = 2 // float

	sessionStatus = 1
	sessionStart  = 1
)

const fileVersion = "brain.Event:2"

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// instant converts seconds since 1970 to a time. 0, NaN, and seconds beyond the years of package time give the zero
// time.
func instant(sec float64) time.Time {
	if sec == 0 || math.IsNaN(sec) || math.Abs(sec) > 1e12 {
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(sec * 1e6)))
}

func appendWallTime(b []byte, t time.Time) []byte { return appendDouble(b, eventWallTime, seconds(t)) }

func appendStep(b []byte, step int64) []byte {
	if step == 0 { // the default is left out
		return b
	}
	return appendNumber(b, eventStep, uint64(step))
}

// appendVersionEvent appends the first event of a file.
func appendVersionEvent(b []byte, t time.Time) []byte {
	return message(appendWallTime(b, t), eventFileVersion, []byte(fileVersion))
}

// appendRestartEvent appends the event that makes TensorBoard discard values of earlier files from step on.
func appendRestartEvent(b []byte, t time.Time, step int64) []byte {
	status := appendNumber(nil, sessionStatus, sessionStart)
	return message(appendStep(appendWallTime(b, t), step), eventSessionLog, status)
}

// appendScalarEvent appends an event with one value. The format holds single precision.
func appendScalarEvent(b []byte, s Scalar) []byte {
	tag := strings.ToValidUTF8(s.Tag, "\uFFFD")
	value := protowire.SizeTag(valueTag) + protowire.SizeBytes(len(tag)) +
		protowire.SizeTag(valueSimple) + protowire.SizeFixed32()
	summary := protowire.SizeTag(summaryValue) + protowire.SizeBytes(value)

	b = appendStep(appendWallTime(b, s.Time), s.Step)
	b = protowire.AppendTag(b, eventSummary, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(summary))
	b = protowire.AppendTag(b, summaryValue, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(value))
	b = protowire.AppendTag(b, valueTag, protowire.BytesType)
	b = protowire.AppendString(b, tag)
	b = protowire.AppendTag(b, valueSimple, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, math.Float32bits(float32(s.Value)))
}

// field is a field of a message. number holds varints and fixed-width values, bytes the others.
type field struct {
	num    protowire.Number
	typ    protowire.Type
	number uint64
	bytes  []byte
}

// is reports whether the field has this number and this encoding. A field with another encoding counts as unknown.
func (f field) is(num protowire.Number, typ protowire.Type) bool { return f.num == num && f.typ == typ }

// fields calls visit for every field of the message b.
func fields(b []byte, visit func(field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		f := field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.number = uint64(v)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// parseEvent appends the scalars of an event to dst. It ignores other values, such as images, graphs, and the tensors
// in which TensorFlow 2 stores scalars.
func parseEvent(dst []Scalar, b []byte) ([]Scalar, error) {
	first := len(dst)
	var at time.Time
	var step int64
	err := fields(b, func(f field) error {
		var err error
		switch {
		case f.is(eventWallTime, protowire.Fixed64Type):
			at = instant(math.Float64frombits(f.number))
		case f.is(eventStep, protowire.VarintType):
			step = int64(f.number)
		case f.is(eventSummary, protowire.BytesType):
			dst, err = parseSummary(dst, f.bytes)
		}
		return err
	})
	if err != nil {
		return dst[:first], fmt.Errorf("no event message: %w", err)
	}
	for i := first; i < len(dst); i++ {
		dst[i].Time, dst[i].Step = at, step
	}
	return dst, nil
}

func parseSummary(dst []Scalar, b []byte) ([]Scalar, error) {
	err := fields(b, func(f field) error {
		if !f.is(summaryValue, protowire.BytesType) {
			return nil
		}
		var s Scalar
		found := false
		err := fields(f.bytes, func(f field) error {
			switch {
			case f.is(valueTag, protowire.BytesType):
				s.Tag = string(f.bytes)
			case f.is(valueSimple, protowire.Fixed32Type):
				s.Value, found = float64(math.Float32frombits(uint32(f.number))), true
			}
			return nil
		})
		if err == nil && found {
			dst = append(dst, s)
		}
		return err
	})
	return dst, err
}
