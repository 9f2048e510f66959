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

// field is a field of a message, with its encoded value.
type field struct {
	num protowire.Number
	typ protowire.Type
	raw []byte
}

// is reports whether the field has this number and this encoding. A field with another encoding counts as unknown.
func (f field) is(num protowire.Number, typ protowire.Type) bool { return f.num == num && f.typ == typ }

// bytes returns the value of a field of the type BytesType.
func (f field) bytes() []byte {
	b, _ := protowire.ConsumeBytes(f.raw)
	return b
}

// fields calls visit for every field of the message b.
func fields(b []byte, visit func(field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		_, _, tag := protowire.ConsumeTag(b)
		if err := visit(field{num, typ, b[tag:n]}); err != nil {
			return err
		}
		b = b[n:]
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
			v, _ := protowire.ConsumeFixed64(f.raw)
			at = instant(math.Float64frombits(v))
		case f.is(eventStep, protowire.VarintType):
			v, _ := protowire.ConsumeVarint(f.raw)
			step = int64(v)
		case f.is(eventSummary, protowire.BytesType):
			dst, err = parseSummary(dst, f.bytes())
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
		err := fields(f.bytes(), func(f field) error {
			switch {
			case f.is(valueTag, protowire.BytesType):
				s.Tag = string(f.bytes())
			case f.is(valueSimple, protowire.Fixed32Type):
				v, _ := protowire.ConsumeFixed32(f.raw)
				s.Value, found = float64(math.Float32frombits(v)), true
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
