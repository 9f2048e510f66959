package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// DecodeRay reads a policy file of Ray Tune's PopulationBasedTraining, pbt_policy_<trial>.txt: one JSON array a line,
// [target, source, the target's iteration, the source's iteration, the source's config, the new config]. As Ray's
// PopulationBasedTrainingReplay does, it follows the lines back as long as each was taken over by the next, and
// changes the hyperparameters at the source's iterations. Ray counts training iterations: stepsPerIteration is the
// number of environment steps of one.
//
// Numbers within nested objects get keys with dots. What is not a number is not a hyperparameter here; ignored names
// it, sorted. The file does not say how long training went on: Steps is where the last phase begins, and
// [Options.Steps] says where to stop.
func DecodeRay(r io.Reader, stepsPerIteration int64) (s Schedule, ignored []string, err error) {
	if stepsPerIteration < 1 {
		return Schedule{}, nil, fmt.Errorf("schedule: %d steps per iteration; give at least 1", stepsPerIteration)
	}
	data, err := readAll(r)
	if err != nil {
		return Schedule{}, nil, err
	}
	var rows []rayRow
	for n, text := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		row, err := decodeRayRow(text)
		if err != nil {
			return Schedule{}, nil, fmt.Errorf("schedule: line %d of Ray's policy file: %w", n+1, err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return Schedule{}, nil, fmt.Errorf("schedule: Ray's policy file has no lines: the trial never took anything over; train with its own configuration")
	}
	first := len(rows) - 1
	for first > 0 && rows[first-1].target == rows[first].source {
		first--
	}
	left := make(map[string]bool)
	s.Phases = []Phase{{Hyperparameters: flatten(rows[first].before, left)}}
	for _, row := range rows[first:] {
		if row.iteration > math.MaxInt64/stepsPerIteration {
			return Schedule{}, nil, fmt.Errorf("schedule: Ray's policy file: iteration %d of %d steps is too great", row.iteration, stepsPerIteration)
		}
		p := Phase{From: row.iteration * stepsPerIteration, Hyperparameters: flatten(row.after, left)}
		if s.Phases[len(s.Phases)-1].From == p.From {
			s.Phases = s.Phases[:len(s.Phases)-1]
		}
		s.Phases = append(s.Phases, p)
	}
	s.Steps = s.Phases[len(s.Phases)-1].From
	return s, slices.Sorted(maps.Keys(left)), s.Validate()
}

type rayRow struct {
	target, source string
	iteration      int64 // the source's
	before, after  map[string]any
}

func decodeRayRow(text []byte) (row rayRow, err error) {
	var fields []json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return row, fmt.Errorf("not a JSON array: %w", err)
	}
	if len(fields) != 6 {
		return row, fmt.Errorf("%d values; want target, source, two iterations, the old and the new configuration", len(fields))
	}
	for i, to := range []any{&row.target, &row.source, nil, &row.iteration, &row.before, &row.after} {
		if to == nil {
			continue
		}
		if err := json.Unmarshal(fields[i], to); err != nil {
			return row, fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	if row.iteration < 0 {
		return row, fmt.Errorf("iteration %d is below 0", row.iteration)
	}
	return row, nil
}

// flatten collects the numbers of a configuration, and names what is none.
func flatten(config map[string]any, left map[string]bool) map[string]float64 {
	values := make(map[string]float64)
	var walk func(prefix string, config map[string]any)
	walk = func(prefix string, config map[string]any) {
		for key, v := range config {
			switch v := v.(type) {
			case float64:
				values[prefix+key] = v
			case map[string]any:
				walk(prefix+key+".", v)
			default:
				left[prefix+key] = true
			}
		}
	}
	walk("", config)
	return values
}
