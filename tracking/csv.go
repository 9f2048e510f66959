package tracking

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const csvHeader = "step,tag,value\n"

var csvFormat = &lineFormat{name: "CSV", header: csvHeader, encode: appendCSV, decode: parseCSV}

// NewCSV returns a writer to w of comma-separated values in long form: the columns step, tag and value, one scalar a
// line after a header. Line breaks in tags become spaces. Values keep double precision; NaN, +Inf and -Inf are written
// so. Close flushes and leaves w open.
func NewCSV(w io.Writer, opt Options) Sink { return csvFormat.begin(w, opt) }

// OpenCSV is [NewCSV] for the file at path, which it makes where it is missing and appends to otherwise. A last line
// that an interrupted run left half-written is removed, and so is everything beyond opt.ResumeStep where that is set.
func OpenCSV(path string, opt Options) (Sink, error) { return csvFormat.open(path, opt) }

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

func appendCSV(b []byte, s Scalar) []byte {
	b = strconv.AppendInt(b, s.Step, 10)
	b = append(b, ',')
	tag := s.Tag
	if strings.ContainsAny(tag, "\r\n") {
		tag = lineBreaks.Replace(tag)
	}
	if tag == "" || strings.ContainsAny(tag, `",`) || tag[0] == ' ' {
		tag = `"` + strings.ReplaceAll(tag, `"`, `""`) + `"`
	}
	b = append(b, tag...)
	b = append(b, ',')
	b = strconv.AppendFloat(b, s.Value, 'g', -1, 64)
	return append(b, '\n')
}

func parseCSV(line []byte) (Scalar, error) {
	r := csv.NewReader(bytes.NewReader(line))
	r.FieldsPerRecord = 3
	record, err := r.Read()
	if err != nil {
		return Scalar{}, err
	}
	step, err := strconv.ParseInt(record[0], 10, 64)
	if err != nil {
		return Scalar{}, fmt.Errorf("step: %w", err)
	}
	value, err := strconv.ParseFloat(record[2], 64)
	if err != nil {
		return Scalar{}, fmt.Errorf("value: %w", err)
	}
	return Scalar{Step: step, Tag: record[1], Value: value}, nil
}
