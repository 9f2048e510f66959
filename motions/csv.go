package motions

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CSVConfig says what a file of numbers does not.
type CSVConfig struct {
	// Rate is the number of rows a second. Zero: 30.
	Rate float64
	// WFirst says that the root's quaternion is w, x, y, z. The default order is x, y, z, w, as in Unitree's rows of
	// LAFAN1.
	WFirst bool
}

// LoadCSV reads the file at path: rows of the root's position (3, metres, z up), its quaternion (4) and the joints'
// angles in radians, separated by commas, one row a frame. A first row that is no number is a header with the names of
// all columns; without a header the joints are named "joint_0" and so on. The clip does not loop.
func LoadCSV(path string, cfg CSVConfig) (*Clip, error) {
	return loadWith(path, func(data []byte, name string) (*Clip, error) { return parseCSV(data, name, cfg) })
}

// isCSV reports whether a text begins with a row of at least eight numbers, with or without a header.
func isCSV(data []byte) bool {
	r := csv.NewReader(bytes.NewReader(data))
	for range 2 {
		row, err := r.Read()
		if err != nil || len(row) < 8 {
			return false
		}
		if isNumber(row[0]) {
			return true
		}
	}
	return false
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil
}

func parseCSV(data []byte, name string, cfg CSVConfig) (*Clip, error) {
	rate := cmp.Or(cfg.Rate, 30)
	if !(rate > 0) || infinite(1/rate) {
		return nil, fmt.Errorf("CSVConfig.Rate must be positive and finite, and is %g", cfg.Rate)
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte(byteOrderMark))))
	r.TrimLeadingSpace, r.FieldsPerRecord = true, 0 // all rows are as long as the first
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err // which names the line
	}
	var header []string
	if len(rows) > 0 && !isNumber(rows[0][0]) {
		header, rows = rows[0], rows[1:]
	}
	if len(rows) == 0 || len(rows[0]) < 7 {
		return nil, errors.New("want rows of numbers: the root's position (3) and quaternion (4), then the joints")
	}
	clip := ClipConfig{Name: name}
	for k, fields := range rows {
		row := make([]float64, len(fields))
		for i, f := range fields {
			if row[i], err = strconv.ParseFloat(strings.TrimSpace(f), 64); err != nil || infinite(row[i]) {
				return nil, fmt.Errorf("row %d of numbers: column %d is %.30q; want a finite number", k+1, i+1, f)
			}
		}
		clip.Frames = append(clip.Frames, row)
	}
	clip.Durations = evenly(len(clip.Frames), 1/rate)
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
	}
	clip.Description = rootAndHinges(len(clip.Frames[0])-7, header[min(7, len(header)):]...)
	clip.Description.RotationsWLast = !cfg.WFirst
	return newClip(clip)
}
