package preset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// PolicyRow is one line of Ray Tune's policy files: a trial took over another's weights and went on with a new
// configuration.
type PolicyRow struct {
	// Target and Source are the trials' tags: the one that was replaced, and the one that it copied. gorl writes the
	// members' numbers.
	Target, Source string
	// TargetIteration and SourceIteration are the training iterations at which they stood; gorl counts intervals.
	TargetIteration, SourceIteration int64
	// Old is the source's configuration, New what the target went on with: numbers and truth values (0 and 1) by gorl's
	// names. Whatever else a configuration holds is left out.
	Old, New map[string]float64
}

// RayTuneFiles are Ray Tune's pbt_global.txt, with a row for every replacement in a journal, and pbt_policy_<member>.txt for
// every member that was ever replaced: the rows by which its present weights and hyperparameters came about, those of
// the members it copied before its own. Hyperparameters have RLlib's names where it has any, those of the environment
// are under env_config.
func RayTuneFiles(events []journal.Event) map[string][]byte {
	var global []byte
	policies := make(map[int][]byte)
	present := make(map[int]map[string]float64)
	for i := 0; i < len(events); {
		// Of one interval's replacements, all sources are as they were before it.
		before, copied := maps.Clone(present), maps.Clone(policies)
		end := i
		for ; end < len(events) && events[end].Iteration == events[i].Iteration; end++ {
			e := events[end]
			if e.Kind == journal.Population {
				continue
			}
			if e.Before != nil {
				before[e.Member] = e.Before
			}
		}
		for _, e := range events[i:end] {
			if e.Kind == journal.Replace {
				row := PolicyRow{Target: strconv.Itoa(e.Member), Source: strconv.Itoa(e.Parent), TargetIteration: e.Iteration, SourceIteration: e.Iteration, Old: before[e.Parent], New: e.After}
				line := row.line()
				global = append(global, line...)
				own := copied[e.Member] // kept where the source has no history
				if h, ok := copied[e.Parent]; ok {
					own = h
				}
				policies[e.Member] = slices.Concat(own, line)
			}
			if e.Kind != journal.Population && e.After != nil {
				present[e.Member] = e.After
			}
		}
		i = end
	}
	files := map[string][]byte{}
	if len(global) > 0 {
		files["pbt_global.txt"] = global
	}
	for member, rows := range policies {
		files[fmt.Sprintf("pbt_policy_%d.txt", member)] = rows
	}
	return files
}

// line is a row as Ray Tune writes it.
func (r PolicyRow) line() []byte {
	return encode([]any{r.Target, r.Source, r.TargetIteration, r.SourceIteration, rayConfig(r.Old), rayConfig(r.New)})
}

func rayConfig(values map[string]float64) map[string]any {
	agent, environment := split(values)
	back := rllib.inverse()
	config := make(map[string]any, len(agent))
	for key, v := range agent {
		if theirs, ok := back[key]; ok {
			key = theirs
		}
		config[key] = finiteOrText(v)
	}
	if len(environment) > 0 {
		config["env_config"] = nest(environment)
	}
	return config
}

const maxPolicyLine = 16 << 20

// ReadPolicy reads a policy file of Ray Tune or of [RayTuneFiles]. A row that is none is an error that names its line; a
// line that a crash cut off at the end of the file is left out.
func ReadPolicy(r io.Reader) ([]PolicyRow, error) {
	var rows []PolicyRow
	reader := bufio.NewReader(io.LimitReader(r, 1<<30))
	for n := 1; ; n++ {
		line, err := readLine(reader)
		complete := err == nil
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("preset: policy file, line %d: %w", n, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			row, err := parseRow(text)
			switch {
			case err == nil:
				rows = append(rows, row)
			case complete:
				return nil, fmt.Errorf("preset: policy file, line %d: %w", n, err)
			}
		}
		if !complete {
			return rows, nil
		}
	}
}

// readLine reads up to a line's end, and no more than a line may be long.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxPolicyLine {
			return nil, fmt.Errorf("the line is longer than %d bytes", maxPolicyLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func parseRow(text []byte) (PolicyRow, error) {
	var fields []json.RawMessage
	wrong := errors.New("want [target tag, source tag, target iteration, source iteration, old configuration, new configuration]")
	if err := json.Unmarshal(text, &fields); err != nil || len(fields) != 6 {
		return PolicyRow{}, errors.Join(wrong, err)
	}
	var row PolicyRow
	var old, changed map[string]any
	var iterations [2]float64
	for i, dst := range []any{&row.Target, &row.Source, &iterations[0], &iterations[1], &old, &changed} {
		if err := json.Unmarshal(fields[i], dst); err != nil {
			return PolicyRow{}, fmt.Errorf("field %d: %w", i+1, errors.Join(wrong, err))
		}
	}
	for _, n := range iterations {
		if !(n >= 0 && n < 1<<53 && n == math.Trunc(n)) {
			return PolicyRow{}, fmt.Errorf("iteration %v is not a whole number of 0 or more", n)
		}
	}
	row.TargetIteration, row.SourceIteration = int64(iterations[0]), int64(iterations[1])
	row.Old, row.New = gorlConfig(old), gorlConfig(changed)
	return row, nil
}

func gorlConfig(config map[string]any) map[string]float64 {
	flat := make(map[string]float64)
	flatten("", config, flat)
	values := make(map[string]float64, len(flat))
	for _, key := range sorted(flat) {
		v := flat[key]
		if name, ok := strings.CutPrefix(key, "env_config."); ok {
			key = "env." + name
		} else if ours, ok := rllib.gorl[key]; ok {
			key = ours
		}
		values[key] = v
	}
	return values
}

// Schedule is the schedule of hyperparameters that a policy file holds, as Ray Tune replays it: what training began with,
// and what it went on with from which iteration. Rows that were overwritten later, since the trial was replaced by one with
// another history, are left out. No rows have no schedule: initial is nil.
func Schedule(rows []PolicyRow) (initial map[string]float64, changes []Change) {
	for i := len(rows) - 1; i >= 0; i-- {
		row := rows[i]
		if i < len(rows)-1 && row.Target != rows[i+1].Source {
			break
		}
		initial = row.Old
		changes = append(changes, Change{Iteration: row.SourceIteration, Hyperparameters: row.New})
	}
	slices.Reverse(changes)
	return initial, changes
}

// Change is a step of a Schedule.
type Change struct {
	// Iteration is the training iteration after which the hyperparameters were in effect.
	Iteration int64
	// Hyperparameters are by gorl's names.
	Hyperparameters map[string]float64
}
