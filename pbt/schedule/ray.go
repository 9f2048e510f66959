package schedule

// This file reads the files in which Ray Tune records what a member of its population based training took over, so
// that the finding of a population in Ray can be replayed with gorl.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gorl-dev/gorl/pbt/preset"
)

// maxRayRow is the greatest length of a row in Ray Tune's replay file, in bytes. A row holds two configurations.
const maxRayRow = 16 << 20

// ReadRay reads a replay file of Ray Tune's population based training (pbt_policy_<trial>.txt) as a schedule, the same
// that Ray's PopulationBasedTrainingReplay plays. Rows that do not lead to the member's last weights are left out: a
// member that is replaced takes over the history of the one that it copies. Hyperparameters get gorl's names.
//
// Ray counts training iterations; stepsPerIteration is the number of environment steps of one. The file does not say
// how long training went on: Steps is where the last phase begins, and [Options.Steps] says where to stop.
//
// A row that is malformed is an error that names its line. A last line without a line break, which a crash cut off, is
// left out.
func ReadRay(r io.Reader, stepsPerIteration int64) (Schedule, error) {
	if stepsPerIteration < 1 {
		return Schedule{}, fmt.Errorf("schedule: %d environment steps per iteration; give at least 1", stepsPerIteration)
	}
	rows, err := readRayRows(r)
	if err != nil {
		return Schedule{}, err
	}
	if len(rows) == 0 {
		return Schedule{}, errors.New("schedule: the replay file has no rows: the member never took anything over; train with its own configuration")
	}
	// Each row says that target copied source. The present weights came by the last row, those of its source by the row
	// before, if that one's target is this source; and so on. Rows before the chain breaks belong to weights that were
	// given up.
	first := len(rows) - 1
	for first > 0 && rows[first-1].target == rows[first].source {
		first--
	}
	s := Schedule{Phases: []Phase{{Hyperparameters: rows[first].before}}}
	for _, row := range rows[first:] {
		if row.iteration > math.MaxInt64/stepsPerIteration {
			return Schedule{}, fmt.Errorf("schedule: iteration %d of %d environment steps is too great", row.iteration,
				stepsPerIteration)
		}
		s.Steps = row.iteration * stepsPerIteration
		// Of two rows at the same step only the later counts: nothing was trained with the configuration of the
		// earlier.
		if last := len(s.Phases) - 1; s.Phases[last].From == s.Steps {
			s.Phases = s.Phases[:last]
		}
		s.Phases = append(s.Phases, Phase{From: s.Steps, Hyperparameters: row.after})
	}
	return s, s.Validate()
}

// rayRow is a line of the replay file: the member target took over the weights of the member source and went on with
// another configuration.
type rayRow struct {
	target, source string
	iteration      int64              // of the source, after which it was copied
	before, after  map[string]float64 // the source's configuration, and what the target went on with, by gorl's names
}

// readRayRows reads all rows. Blank lines are passed over.
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
		// A malformed line without its line break is the last one, and a crash of Ray cut it off; any other is
		// damage.
		case bytes.HasSuffix(line, []byte("\n")) || len(line) > maxRayRow:
			return nil, fmt.Errorf("schedule: replay file, line %d: %w", n, err)
		}
	}
	return rows, nil
}

// parseRayRow reads one line of JSON. Ray writes iterations as integers or floats, so both are read.
func parseRayRow(text []byte) (rayRow, error) {
	if len(text) > maxRayRow {
		return rayRow{}, fmt.Errorf("the line is longer than %d bytes", maxRayRow)
	}
	var fields []json.RawMessage
	wrong := errors.New("want [target tag, source tag, target iteration, source iteration, old configuration, new configuration]")
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
