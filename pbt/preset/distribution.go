package preset

// This file reads the distributions of Ray Tune's search spaces, from which members begin and from which resampling
// draws. Ray writes them as Python calls; a YAML file gives them as a mapping, a list or the text of the call.

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/explore"
)

// distributions are Ray Tune's that can be drawn from, by name; each takes its arguments or reports false.
var distributions = map[string]func(a []float64) (explore.Parameter, bool){
	"uniform": func(a []float64) (explore.Parameter, bool) {
		return explore.Parameter{Sample: spanOf(a, false)}, len(a) == 2 && a[0] < a[1]
	},
	"loguniform": func(a []float64) (explore.Parameter, bool) {
		return explore.Parameter{Sample: spanOf(a, true)}, len(a) == 2 && 0 < a[0] && a[0] < a[1]
	},
	// without its upper end, as there
	"randint": func(a []float64) (explore.Parameter, bool) { return integers(a, 1, false) },
	"lograndint": func(a []float64) (explore.Parameter, bool) {
		return integers(a, 1, true)
	},
	"qrandint": func(a []float64) (explore.Parameter, bool) { // with its upper end, as there
		if len(a) != 3 || !(a[2] >= 1) || math.Mod(a[0], a[2]) != 0 || math.Mod(a[1], a[2]) != 0 {
			return explore.Parameter{}, false
		}
		return integers([]float64{a[0], a[1] + 1}, a[2], false)
	},
	"choice": func(a []float64) (explore.Parameter, bool) {
		return explore.Parameter{Choices: a}, len(a) > 0 &&
			len(slices.Compact(slices.Sorted(slices.Values(a)))) == len(a)
	},
}

// spanOf is the range of two arguments; of another number of them it is empty, and the caller reports it.
func spanOf(a []float64, log bool) explore.Range {
	if len(a) != 2 {
		return explore.Range{}
	}
	return explore.Range{Low: a[0], High: a[1], Log: log}
}

// integers are the whole numbers from the first argument up to but without the second.
func integers(a []float64, step float64, log bool) (explore.Parameter, bool) {
	if len(a) != 2 || a[0] != math.Trunc(a[0]) || a[1] != math.Trunc(a[1]) || a[0] >= a[1] || log && a[0] <= 0 {
		return explore.Parameter{}, false
	}
	q := explore.Parameter{Rule: explore.Integer, Sample: explore.Range{Low: a[0], High: a[1] - 1, Log: log}}
	if step != 1 {
		q.Step = step
	}
	return q, true
}

// isDistribution reports whether a mapping is {<distribution>: arguments}.
func isDistribution(m map[string]any) bool {
	for name := range m {
		_, ok := distributions[name]
		return ok && len(m) == 1
	}
	return false
}

// distribution reads what a key of hyperparam_mutations is drawn from: a list of choices, {name: arguments}, or
// "name(arguments)" with or without "tune." before the name. Any mistake gives the same error, which shows all forms.
func distribution(spec any) (q explore.Parameter, err error) {
	name, arguments := "choice", spec
	switch v := spec.(type) {
	case map[string]any:
		if isDistribution(v) {
			for name, arguments = range v {
			}
		}
	case string:
		call, list, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(v), "tune."), "(")
		list, closed := strings.CutSuffix(list, ")")
		list = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(list), "["), "]")
		var words []any
		for word := range strings.SplitSeq(list, ",") {
			words = append(words, strings.TrimSpace(word))
		}
		if closed {
			name, arguments = call, words
		}
	}
	numbers, ok := floats(arguments)
	if read, known := distributions[name]; known && ok {
		if q, ok = read(numbers); ok {
			return q, nil
		}
	}
	return q, fmt.Errorf("want a list of numbers, or a distribution such as {uniform: [0.1, 1]} or \"loguniform(1e-5, "+
		"1e-3)\": one of %s", quoted(sorted(distributions)))
}

// floats reads a list of finite numbers.
func floats(v any) ([]float64, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	numbers := make([]float64, len(list))
	for i, e := range list {
		switch x := e.(type) {
		case int:
			numbers[i] = float64(x)
		case float64:
			numbers[i] = x
		case bool:
			if x {
				numbers[i] = 1
			}
		case string:
			f, err := strconv.ParseFloat(x, 64)
			if err != nil {
				return nil, false
			}
			numbers[i] = f
		default:
			return nil, false
		}
		if !number.Finite(numbers[i]) {
			return nil, false
		}
	}
	return numbers, true
}

// keyed makes the seed of a key's first value in a member. It depends on the name, not on the key's place in the
// file, so that adding a key leaves the others' values as they were.
func keyed(key string, member int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64() + uint64(member)
}
