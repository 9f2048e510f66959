package preset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Files are the files that the preset's own system would have written about a run, by their paths in its folder: those of
// [RayTuneFiles] or [SampleFactoryFiles]. The Isaac systems write metadata beside their checkpoints only, which a
// population of processes keeps in its folder itself; for them there are none. events are a journal's; see
// [pbt.ReadJournal].
func (s *Settings) Files(events []journal.Event) map[string][]byte {
	switch {
	case s.Name == SampleFactory:
		return SampleFactoryFiles(events)
	case s.Name == RayTune && s.LogConfig:
		return RayTuneFiles(events)
	}
	return map[string][]byte{}
}

// inverse are a system's names by gorl's, the shortest where there are several.
func (n names) inverse() map[string]string {
	back := make(map[string]string)
	for theirs, ours := range n.gorl {
		if old, ok := back[ours]; !ok || len(theirs) < len(old) || len(theirs) == len(old) && theirs < old {
			back[ours] = theirs
		}
	}
	return back
}

// finiteOrText is a value as JSON can hold it.
func finiteOrText(v float64) any {
	if v-v != 0 { // NaN or an infinity
		return fmt.Sprint(v)
	}
	return v
}

// nest turns dotted keys into nested mappings, and those whose keys are 0, 1, 2, … into lists.
func nest(flat map[string]float64) map[string]any {
	tree := make(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(flat)) { // a leaf comes before a branch of its name
		v, at := flat[key], tree
		parts := strings.Split(key, ".")
		for i, part := range parts[:len(parts)-1] {
			sub, ok := at[part].(map[string]any)
			if !ok {
				if _, taken := at[part]; taken { // a leaf and a branch of one name: the rest stays dotted
					at[strings.Join(parts[i:], ".")] = finiteOrText(v)
					at = nil
					break
				}
				sub = make(map[string]any)
				at[part] = sub
			}
			at = sub
		}
		if at != nil {
			at[parts[len(parts)-1]] = finiteOrText(v)
		}
	}
	for key, v := range tree {
		tree[key] = lists(v)
	}
	return tree
}

// lists turns mappings of indices into lists, from the leaves upwards.
func lists(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	list := make([]any, len(m))
	indices := 0
	for key, e := range m {
		m[key] = lists(e)
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(m) && strconv.Itoa(i) == key {
			list[i] = m[key]
			indices++
		}
	}
	if indices == len(m) && indices > 0 {
		return list
	}
	return m
}

// flatten is the reverse of nest. What is neither a number nor a truth value is left out.
func flatten(prefix string, v any, flat map[string]float64) {
	join := func(key string) string {
		if prefix == "" {
			return key
		}
		return prefix + "." + key
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sorted(v) { // of two that mean the same key, the same one every time
			flatten(join(key), v[key], flat)
		}
	case []any:
		for i, e := range v {
			flatten(join(strconv.Itoa(i)), e, flat)
		}
	case float64:
		flat[prefix] = v
	case bool:
		flat[prefix] = 0
		if v {
			flat[prefix] = 1
		}
	case string: // numbers that JSON cannot hold
		if f, err := strconv.ParseFloat(v, 64); err == nil && f-f != 0 {
			flat[prefix] = f
		}
	}
}

// split separates the environment's hyperparameters, without "env.", from the others.
func split(values map[string]float64) (agent, environment map[string]float64) {
	agent, environment = make(map[string]float64), make(map[string]float64)
	for key, v := range values {
		if name, ok := strings.CutPrefix(key, "env."); ok {
			environment[name] = v
		} else {
			agent[key] = v
		}
	}
	return agent, environment
}

// latest are the hyperparameters of every member at the end of a journal.
func latest(events []journal.Event) map[int]map[string]float64 {
	members := make(map[int]map[string]float64)
	for _, e := range events {
		switch {
		case e.Kind == journal.Population:
		case e.After != nil:
			members[e.Member] = maps.Clone(e.After)
		case e.Before != nil:
			members[e.Member] = maps.Clone(e.Before)
		}
	}
	return members
}
