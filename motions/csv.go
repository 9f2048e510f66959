package motions

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// CSVConfig says what a file of numbers does not.
type CSVConfig struct {
	// Rate is the number of rows a second. Zero: 30.
	Rate float64
	// WFirst says that the root's quaternion is w, x, y, z. Without it the order is x, y, z, w, as in the rows that
	// Unitree made of LAFAN1.
	WFirst bool
	// Skeleton is what the rows move. Nil: the joints are hinges, named by the file's header or "joint_0" and so on,
	// and where bodies are is not known.
	Skeleton *Skeleton
	// Loop says what happens after the last row.
	Loop Loop
}

// LoadCSV reads the file at path with [ReadCSV]. The clip is named after the file.
func LoadCSV(path string, cfg CSVConfig) (*Clip, error) {
	return loadWith(path, func(data []byte, name string) (*Clip, error) { return csvClip(data, name, cfg) })
}

// ReadCSV reads rows of the root's position (3, metres, z up), its quaternion (4) and the joints' angles in radians,
// separated by commas, one row a frame. A first row that is no number is a header: names of all columns. Velocities are
// central differences. The name is the clip's, and errors begin with it; they name the line.
func ReadCSV(r io.Reader, name string, cfg CSVConfig) (*Clip, error) {
	return readWith(r, name, func(data []byte, name string) (*Clip, error) { return csvClip(data, name, cfg) })
}

// isCSV tells rows of at least eight numbers, with or without a header, from other text.
func isCSV(data []byte) bool {
	r := csv.NewReader(bytes.NewReader(data))
	for range 2 {
		row, err := r.Read()
		if err != nil || len(row) < 8 {
			return false
		}
		if _, err := strconv.ParseFloat(strings.TrimSpace(row[0]), 64); err == nil {
			return true
		}
	}
	return false
}

func csvClip(data []byte, name string, cfg CSVConfig) (*Clip, error) {
	rate := cfg.Rate
	if rate == 0 {
		rate = 30
	}
	if !(rate > 0) || !finite(1/rate) {
		return nil, fmt.Errorf("CSVConfig.Rate must be positive and finite, and is %g", cfg.Rate)
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	r.ReuseRecord, r.TrimLeadingSpace, r.FieldsPerRecord = true, true, -1
	clip := ClipConfig{Name: name, Loop: cfg.Loop}
	var header []string
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err // which names the line
		}
		line, _ := r.FieldPos(0)
		if len(clip.Frames) == 0 && header == nil {
			if _, err := strconv.ParseFloat(strings.TrimSpace(fields[0]), 64); err != nil {
				header = append([]string{}, fields...)
				continue
			}
		}
		row := make([]float64, len(fields))
		for i, f := range fields {
			if row[i], err = strconv.ParseFloat(strings.TrimSpace(f), 64); err != nil || infinite(row[i]) {
				return nil, fmt.Errorf("line %d: column %d is %.30q; want a finite number", line, i+1, f)
			}
		}
		switch {
		case len(row) < 7:
			return nil, fmt.Errorf("line %d: it has %d columns; want the root's position (3) and quaternion (4), then the joints", line,
				len(row))
		case header != nil && len(header) != len(row):
			return nil, fmt.Errorf("line %d: it has %d columns, the header %d", line, len(row), len(header))
		case len(clip.Frames) > 0 && len(clip.Frames[0]) != len(row):
			return nil, fmt.Errorf("line %d: it has %d columns, the first row %d", line, len(row), len(clip.Frames[0]))
		}
		clip.Frames, clip.Durations = append(clip.Frames, row), append(clip.Durations, 1/rate)
	}
	if len(clip.Frames) == 0 {
		return nil, errors.New("there are no rows of numbers")
	}
	width := len(clip.Frames[0])
	if cfg.Skeleton == nil {
		clip.Description = &Description{RotationsWLast: !cfg.WFirst, Columns: freeRoot()}
		clip.Description.hinges(width - 7)
		for i, col := range header[min(7, len(header)):] {
			clip.Description.Columns[4+i].Name = strings.TrimSpace(col)
		}
		return newClip(clip)
	}
	if want := cfg.Skeleton.Width(); want != width {
		return nil, fmt.Errorf("there are %d columns; the skeleton %s has %d positions", width, cfg.Skeleton.Name, want)
	}
	for _, row := range clip.Frames {
		if !cfg.WFirst {
			row[3], row[4], row[5], row[6] = row[6], row[3], row[4], row[5]
		}
	}
	clip.Skeleton = cfg.Skeleton
	return newClip(clip)
}
