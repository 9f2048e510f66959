package rlgames

import (
	"errors"
	"fmt"
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
func truth(x any) bool {
	switch v := x.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int:
		return v != 0
	case float64:
		return v != 0
	}
	return true
}

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

// text resolves the references in a text. A text that is a single reference takes the value and the type of its target.
// Otherwise the values are inserted into the text. One unresolved reference makes the whole text unresolved.
func (r *resolver) text(s string, path []string, depth int) (any, error) {
	var b strings.Builder
	for rest := s; ; {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		end := closing(after)
		if end < 0 {
			return nil, errors.New("a ${ has no }")
		}
		value, err := r.reference(after[:end], path, depth+1)
		rest = after[end+1:]
		// alone: the text is this reference only, so the value keeps its type.
		_, open := value.(unresolved)
		if alone := b.Len() == 0 && rest == ""; err != nil || open || alone {
			return value, err
		}
		fmt.Fprint(&b, value)
	}
}

// closing returns the index in s of the brace that closes one opened before s, or -1. Braces may be nested.
func closing(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// reference resolves the text between ${ and }. It is a call if a colon follows a name, and a path otherwise.
func (r *resolver) reference(s string, path []string, depth int) (any, error) {
	// A brace before the colon means that the colon belongs to a nested reference.
	if name, args, call := strings.Cut(s, ":"); call && !strings.Contains(name, "{") {
		return r.call(name, args, path, depth)
	}
	return r.follow(s, path, depth)
}

// call returns the result of a function. Arguments may contain references. If one of them is unresolved, so is the
// result.
func (r *resolver) call(name, args string, path []string, depth int) (any, error) {
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("there is no function %q; give the value itself by agent.%s=VALUE", name,
			strings.Join(path[1:], "."))
	}
	texts := split(args)
	if len(texts) != f.arguments {
		return nil, fmt.Errorf("%s has %d arguments, want %d", name, len(texts), f.arguments)
	}
	values := make([]any, len(texts))
	for i, t := range texts {
		value, err := r.text(strings.TrimSpace(t), path, depth)
		if err != nil {
			return nil, err
		}
		if open, ok := value.(unresolved); ok {
			return open, nil
		}
		values[i] = literal(value)
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

// split divides arguments at the commas outside braces: commas inside belong to a nested call.
func split(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
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
	if r.followed++; depth > maxDepth || r.followed > maxReferences {
		return nil, errors.New("the reference leads back to itself, or to too many others")
	}
	return r.node(value, at, depth+1)
}
