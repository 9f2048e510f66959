package timeline

// This file reads the file in which Ray Tune records what a member took over, so that gorl can train by it.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gorl-dev/gorl/pbt/preset"
)

// maxRayRow is the longest row of a replay file in bytes. A row has two configurations.
const maxRayRow = 16 << 20

// ReadRay reads a replay file of Ray Tune's population based training (pbt_policy_<trial>.txt). The timeline is the one
// that Ray's PopulationBasedTrainingReplay plays, with gorl's names of hyperparameters. It has the rows that lead to
// the member's last weights.
//
// stepsPerIteration is the number of environment steps in one of Ray's training iterations. The file does not say when
// training ended. Steps is therefore the start of the last phase, and [Options.Steps] says where to stop.
//
// A malformed row is an error that names its line. A last row without a line break was cut off by a crash and is
// ignored.
func ReadRay(r io.Reader, stepsPerIteration int64) (Timeline, error) {
	if stepsPerIteration < 1 {
		return Timeline{}, fmt.Errorf("timeline: %d environment steps per iteration; give at least 1",
			stepsPerIteration)
	}
	rows, err := readRayRows(r)
	if err != nil {
		return Timeline{}, err
	}
	if len(rows) == 0 {
		return Timeline{}, errors.New("timeline: the replay file has no rows: the member never took anything over; " +
			"train with its own configuration")
	}
	// In each row, target copied source. The last row made the current weights. The row before belongs to them if its
	// target is the source of the row after, and so on. Rows before the chain breaks belong to discarded weights.
	first := len(rows) - 1
	for first > 0 && rows[first-1].target == rows[first].source {
		first--
	}
	s := Timeline{Phases: []Phase{{Hyperparameters: rows[first].before}}}
	for _, row := range rows[first:] {
		if row.iteration > math.MaxInt64/stepsPerIteration {
			return Timeline{}, fmt.Errorf("timeline: iteration %d of %d environment steps is too great", row.iteration,
				stepsPerIteration)
		}
		s.Steps = row.iteration * stepsPerIteration
		// Nothing was trained with the first of two configurations at the same step.
		if last := len(s.Phases) - 1; s.Phases[last].From == s.Steps {
			s.Phases = s.Phases[:last]
		}
		s.Phases = append(s.Phases, Phase{From: s.Steps, Hyperparameters: row.after})
	}
	return s, s.Validate()
}

// rayRow is a row of the replay file: target copied the weights of source and continued with another configuration.
type rayRow struct {
	target, source string
	iteration      int64              // of the source
	before, after  map[string]float64 // the configuration of the source, and the next one of the target
}

// readRayRows reads all rows. It skips blank lines.
func readRayRows(r io.Reader) ([]rayRow, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, err
	}
	var rows []rayRow
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		row, err := parseRayRow(text)
		switch {
		case err == nil:
			rows = append(rows, row)
		case bytes.HasSuffix(line, []byte("\n")) || len(line) > maxRayRow:
			return nil, fmt.Errorf("timeline: replay file, line %d: %w", n, err)
		}
	}
	return rows, nil
}

// parseRayRow parses a row. Ray writes iterations as integers or as floats.
func parseRayRow(text []byte) (rayRow, error) {
	if len(text) > maxRayRow {
		return rayRow{}, fmt.Errorf("the line is longer than %d bytes", maxRayRow)
	}
	var fields []json.RawMessage
	wrong := errors.New("want [target tag, source tag, target iteration, source iteration, old configuration, " +
		"new configuration]")
	if err := json.Unmarshal(text, &fields); err != nil || len(fields) != 6 {
		return rayRow{}, errors.Join(wrong, err)
	}
	var row rayRow
	var before, after map[string]any
	var iterations [2]float64
	for i, dst := range []any{&row.target, &row.source, &iterations[0], &iterations[1], &before, &after} {
		if err := json.Unmarshal(fields[i], dst); err != nil {
			return rayRow{}, fmt.Errorf("field %d: %w", i+1, errors.Join(wrong, err))
		}
	}
	// Above 2^53 a float64 no longer holds every whole number.
	for _, n := range iterations {
		if !(n >= 0 && n < 1<<53 && n == math.Trunc(n)) {
			return rayRow{}, fmt.Errorf("iteration %v is not a whole number of 0 or more", n)
		}
	}
	row.iteration = int64(iterations[1])
	row.before, row.after = preset.RayConfig(before), preset.RayConfig(after)
	return row, nil
}
