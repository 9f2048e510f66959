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
	"uniform":    func(a []float64) (explore.Parameter, bool) { return numbers(a, false) },
	"loguniform": func(a []float64) (explore.Parameter, bool) { return numbers(a, true) },
	// without its upper end, as there
	"randint":    func(a []float64) (explore.Parameter, bool) { return integers(a, 0, false) },
	"lograndint": func(a []float64) (explore.Parameter, bool) { return integers(a, 0, true) },
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

// numbers are those from the first of two arguments to the second.
func numbers(a []float64, log bool) (explore.Parameter, bool) {
	if len(a) != 2 || a[0] >= a[1] || log && a[0] <= 0 {
		return explore.Parameter{}, false
	}
	return explore.Parameter{Sample: explore.Range{Low: a[0], High: a[1], Log: log}}, true
}

// integers are the whole numbers from the first argument up to but without the second.
func integers(a []float64, step float64, log bool) (explore.Parameter, bool) {
	q, ok := numbers(a, log)
	if !ok || a[0] != math.Trunc(a[0]) || a[1] != math.Trunc(a[1]) {
		return q, false
	}
	q.Rule, q.Step = explore.Integer, step
	q.Sample.High--
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
	list, ok := floats(arguments)
	if read, known := distributions[name]; known && ok {
		if q, ok = read(list); ok {
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
	var all []float64
	for _, e := range list {
		if on, ok := e.(bool); ok {
			e = map[bool]int{true: 1}[on]
		}
		x, err := strconv.ParseFloat(fmt.Sprint(e), 64)
		if err != nil || !number.Finite(x) {
			return nil, false
		}
		all = append(all, x)
	}
	return all, true
}

// keyed makes the seed of a key's first value in a member. It depends on the name, not on the key's place in the
// file, so that adding a key leaves the others' values as they were.
func keyed(key string, member int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64() + uint64(member)
}
