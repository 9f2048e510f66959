package tracking

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

const csvHeader = "step,tag,value\n"

var csvFormat = &lineFormat{name: "CSV", header: csvHeader, encode: appendCSV, decode: parseCSV}

// OpenCSV returns a sink that appends comma-separated values to the file at path: the columns step, tag and value, one
// scalar per line after a header. It creates the file if necessary. Line breaks in tags become spaces. Values keep
// double precision; NaN, +Inf and -Inf are written so. An incomplete last line is removed, and so are the lines beyond
// opt.ResumeStep if that is set.
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
