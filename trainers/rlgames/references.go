package rlgames

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// This file resolves Hydra's references, as IsaacGymEnvs' files have them:
//
//	${.name}                                      a key of the same section; each further dot goes up one section
//	${task.env.numEnvs}                           a path from the top of Hydra's configuration
//	${resolve_default:5000,${....max_iterations}} a call of a function with arguments

// unresolved is a reference to something that the file does not have, without ${ and }. It stays in the result as a
// value. It is an error only if gorl reads the key that it is in (conversion.value).
type unresolved string

// leftOpen returns the first unresolved reference in a value and its sections and lists. ok is false if there is none.
func leftOpen(value any) (unresolved, bool) {
	switch v := value.(type) {
	case unresolved:
		return v, true
	case map[string]any:
		for _, x := range v {
			if reference, ok := leftOpen(x); ok {
				return reference, true
			}
		}
	case []any:
		for _, x := range v {
			if reference, ok := leftOpen(x); ok {
				return reference, true
			}
		}
	}
	return "", false
}

// maxDepth limits chains of references, in which each reference counts twice. Files have short chains; a long one leads
// back to itself.
const maxDepth = 32

// maxReferences limits the references followed in a file. It stops a file whose references each name two others, which
// would take exponential time within maxDepth.
const maxReferences = 10_000

// functions are the functions that IsaacGymEnvs registers with Hydra, with their numbers of arguments. Arguments have
// the types of YAML (literal).
var functions = map[string]struct {
	arguments int
	call      func(args []any) any
}{
	"resolve_default": {2, func(a []any) any {
		if a[1] == "" || a[1] == nil {
			return a[0]
		}
		return a[1]
	}},
	"if": {3, func(a []any) any {
		if truth(a[0]) {
			return a[1]
		}
		return a[2]
	}},
	"eq":       {2, func(a []any) any { return strings.EqualFold(fmt.Sprint(a[0]), fmt.Sprint(a[1])) }},
	"contains": {2, func(a []any) any { return strings.Contains(lower(a[1]), lower(a[0])) }},
}

// lower returns the text of a value in lower case. IsaacGymEnvs compares texts without regard to case.
func lower(x any) string { return strings.ToLower(fmt.Sprint(x)) }

// truth returns Python's truth of a value: null, false, 0 and the empty text are false.
func truth(x any) bool { return !slices.Contains([]any{nil, false, "", 0, 0.0}, x) }

// resolver resolves the references of one file. root is Hydra's configuration, in which the file is the section
// "train". followed counts references, for maxReferences.
type resolver struct {
	root     map[string]any
	followed int
}

// resolve returns a copy of file without references, apart from unresolved ones. References that lead out of the file
// find the defaults of IsaacGymEnvs' command line (its config.yaml), and numEnvs, if it is above 0, as
// task.env.numEnvs.
func resolve(file map[string]any, numEnvs int) (map[string]any, error) {
	r := &resolver{root: map[string]any{
		"seed": 42, "experiment": "", "checkpoint": "", "max_iterations": "", "sigma": "", "multi_gpu": false,
		"test":     false,
		"num_envs": "", "task_name": "", "rl_device": "cuda:0", "sim_device": "cuda:0",
		"pbt":   map[string]any{"enabled": false},
		"train": file,
	}}
	if numEnvs > 0 {
		r.root["task"] = map[string]any{"env": map[string]any{"numEnvs": numEnvs}}
	}
	whole, err := r.node(file, []string{"train"}, 0)
	if err != nil {
		return nil, fmt.Errorf("rlgames: %w", err)
	}
	return whole.(map[string]any), nil
}

// node returns a copy of value with its references resolved. path is its place in root, to which relative references
// refer. depth grows with every reference that led here, for maxDepth.
func (r *resolver) node(value any, path []string, depth int) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			// The full slice expression makes append copy, so that the paths of siblings do not share memory.
			var err error
			if out[key], err = r.node(x, append(path[:len(path):len(path)], key), depth); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			var err error
			if out[i], err = r.node(x, append(path[:len(path):len(path)], strconv.Itoa(i)), depth); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string:
		if !strings.Contains(v, "${") {
			return v, nil
		}
		x, err := r.text(v, path, depth)
		if err != nil {
			return nil, fmt.Errorf("%q is %q: %w", strings.Join(path[1:], "."), v, err)
		}
		return x, nil
	}
	return value, nil
}

// innermost is a reference without another one in it.
var innermost = regexp.MustCompile(`\$\{([^{}]*)\}`)

// mark stands in a text for the value of the first reference in it, mark+1 for that of the second, and so on. The runes
// are of a private plane of Unicode.
const mark = '\U000F0000'

// text resolves the references in a text, inner ones first. A text that is a single reference takes the value and the
// type of its target. Otherwise the values are inserted into the text. One unresolved reference makes the whole text
// unresolved.
func (r *resolver) text(s string, path []string, depth int) (any, error) {
	var values []any
	fill := func(s string) any {
		var b strings.Builder
		for _, x := range s {
			switch i := int(x - mark); {
			case i < 0 || i >= len(values):
				b.WriteRune(x)
			case s == string(x): // the text is this reference only, so the value keeps its type
				return values[i]
			default:
				fmt.Fprint(&b, values[i])
			}
		}
		return b.String()
	}
	for at := innermost.FindStringSubmatchIndex(s); at != nil; at = innermost.FindStringSubmatchIndex(s) {
		if r.followed++; depth >= maxDepth || r.followed > maxReferences {
			return nil, errors.New("the reference leads back to itself, or to too many others")
		}
		value, err := r.reference(s[at[2]:at[3]], fill, path, depth+1)
		if _, open := value.(unresolved); err != nil || open {
			return value, err
		}
		s = s[:at[0]] + string(mark+rune(len(values))) + s[at[1]:]
		values = append(values, value)
	}
	if strings.Contains(s, "${") {
		return nil, errors.New("a ${ has no }")
	}
	return fill(s), nil
}

// reference resolves the text between ${ and }. It is a call if it has a colon, and a path otherwise. fill inserts the
// values of the references that were in it.
func (r *resolver) reference(s string, fill func(string) any, path []string, depth int) (any, error) {
	name, args, call := strings.Cut(s, ":")
	if !call {
		return r.follow(fmt.Sprint(fill(s)), path, depth)
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("there is no function %q; give the value itself by agent.%s=VALUE", name,
			strings.Join(path[1:], "."))
	}
	texts := strings.Split(args, ",")
	if len(texts) != f.arguments {
		return nil, fmt.Errorf("%s has %d arguments, want %d", name, len(texts), f.arguments)
	}
	values := make([]any, len(texts))
	for i, t := range texts {
		values[i] = literal(fill(strings.TrimSpace(t)))
	}
	return f.call(values), nil
}

// literal converts the text of an argument to the type that YAML gives it: "5000" is a number. Texts that are not a
// number or a boolean remain texts.
func literal(value any) any {
	s, ok := value.(string)
	if !ok || s == "" {
		return value
	}
	var v any
	if err := yaml.Unmarshal([]byte(s), &v); err != nil {
		return s
	}
	switch v.(type) {
	case bool, int, float64:
		return v
	}
	return s
}

// follow returns the value at a dotted path, with its own references resolved. The path begins at the top, or with
// leading dots at the section of the key that refers to it. A missing key gives unresolved, not an error.
func (r *resolver) follow(s string, path []string, depth int) (any, error) {
	keys := strings.TrimLeft(s, ".")
	dots := len(s) - len(keys)
	var at []string
	// One dot is the section that has the key, which is the path without its last element.
	if dots > 0 {
		if dots > len(path) {
			return nil, fmt.Errorf("${%s} climbs above the top", s)
		}
		at = append(at, path[:len(path)-dots]...)
	}
	at = append(at, strings.Split(keys, ".")...)
	var value any = r.root
	for _, key := range at {
		section, ok := value.(map[string]any)
		if !ok {
			return unresolved(s), nil
		}
		if value, ok = section[key]; !ok {
			return unresolved(s), nil
		}
	}
	return r.node(value, at, depth+1)
}
