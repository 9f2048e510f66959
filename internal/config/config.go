// Package config merges dictionaries, as written in Go or read from YAML, over Go structs that hold the defaults.
//
// A struct is described by its tags and nothing else:
//
//	type Config struct {
//		LearningRate float64        `yaml:"learning_rate" config:"gt=0"`
//		MiniBatches  int            `yaml:"mini_batches" config:"min=1"`
//		Loss         string         `yaml:"loss" config:"oneof=bce|lsgan|wasserstein"`
//		Kwargs       map[string]any `yaml:"kwargs"`
//		Experiment   Experiment     `yaml:"experiment"` // a section: its keys are "experiment.directory", ...
//		Shared       `yaml:",inline"` // its keys stand beside the others
//	}
//
// The yaml tag gives the key ("-" leaves a field out; without a tag the key is the lower-cased field name, as in
// yaml.v3). The config tag gives the rules, separated by commas: min=, max=, gt=, lt= for numbers, oneof=a|b|c,
// minlen=, maxlen= for lists, and inf, without which infinities are refused. NaN is always refused, and so are numbers
// that float32 does not have. The rules of a list field hold for every element.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Options say how Merge reads a dictionary.
type Options struct {
	// Prefix opens every message: the package whose configuration this is, e.g. "amp".
	Prefix string
	// Aliases are other names for keys, by the name that may be given. Names and keys of nested sections are
	// dotted: "experiment.directory".
	Aliases map[string]Alias
	// Hints says of names that are no keys what they are elsewhere, such as in other libraries: it stands in the error
	// about the unknown key, in place of the nearest one. Names of nested sections are dotted.
	Hints map[string]string
}

// Alias is another, usually older, name of a setting.
type Alias struct {
	// Key is the setting the name stands for.
	Key string
	// Factor says that the name does not stand for Key, which must be a float64, but for a factor of its value: what is
	// given replaces this factor in the default. It cannot be given together with Key. 0: the name stands for Key.
	Factor float64
	// Note says in a few words how the name relates to Key; it is added to errors about the name.
	Note string
}

// Setter is implemented by (pointers to) field types that read values of more than one type themselves, such as
// an interval that is a number or the word "auto". The error says what is allowed: "want ...".
type Setter interface {
	SetConfig(value any) error
}

// Merge writes the values of dict over the fields of the struct that dst points to.
//
// Keys are compared exactly, case included. Values are read with these conversions and no others: integers where
// numbers are wanted; numbers without a fraction where integers are wanted; decimal numbers in strings ("1e-4", "32"),
// for every numeric setting alike; "yes", "no", "on" and "off" in strings for booleans; durations as strings
// ("1m30s"); one value where a list is wanted; null, which resets a field to its zero value. Maps and lists are
// copied. Function and interface fields take any value of a fitting type.
//
// Where anything is wrong, dst is left exactly as it was and the error joins one *Error for every problem, sorted by
// path. A malformed struct, tag or alias table is a programming error and panics.
func Merge(dst any, dict map[string]any, opts Options) error {
	target := structOf(dst, "Merge")
	work := reflect.New(target.Type()).Elem()
	work.Set(target)

	m := merger{opts: opts, given: map[string]given{}}
	m.checkAliases(work.Type())
	m.section("", work, dict)
	slices.Sort(m.aliases)
	for _, name := range m.aliases {
		m.applyAlias(work, name)
	}
	if len(m.problems) > 0 {
		return join(m.problems)
	}
	target.Set(work)
	return nil
}

// merger is one call of Merge.
type merger struct {
	opts     Options
	problems []*Error
	// given records every key that was given, by dotted path, and aliases the other names that were.
	given   map[string]given
	aliases []string
}

// given is what a key was given, and whether it was well.
type given struct {
	name  string // the one in the dictionary: the key itself or an alias
	value any
	ok    bool
}

func (m *merger) report(e *Error) {
	e.Prefix = m.opts.Prefix
	m.problems = append(m.problems, e)
}

// section writes dict over a struct; prefix is "" or the section's path with a dot.
func (m *merger) section(prefix string, dst reflect.Value, dict map[string]any) {
	fields := map[string]field{}
	for _, f := range fieldsOf(dst.Type()) {
		fields[f.key] = f
	}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		path := prefix + key
		if f, ok := fields[key]; ok {
			ok := m.assign(path, dst.FieldByIndex(f.index), dict[key], f.rules)
			m.given[path] = given{name: path, value: dict[key], ok: ok}
			continue
		}
		if _, ok := m.opts.Aliases[path]; ok {
			m.given[path] = given{name: path, value: dict[key], ok: true}
			m.aliases = append(m.aliases, path)
			continue
		}
		e := &Error{Path: path, Given: dict[key], Unknown: true, Reason: m.opts.Hints[path]}
		if e.Reason == "" {
			e.Nearest = m.nearest(prefix, key, fields)
		}
		m.report(e)
	}
}

// nearest looks among the keys beside the unknown one, then for its like in other aliases.
func (m *merger) nearest(prefix, key string, fields map[string]field) string {
	names := slices.Sorted(maps.Keys(fields))
	for _, alias := range slices.Sorted(maps.Keys(m.opts.Aliases)) {
		if rest, ok := strings.CutPrefix(alias, prefix); ok && !strings.Contains(rest, ".") {
			names = append(names, rest)
		}
	}
	if n := Nearest(key, names); n != "" {
		return prefix + n
	}
	return ""
}

// check reports where a value read by other means breaks the field's rules; the message shows what was given.
func (m *merger) check(path string, v reflect.Value, value any, r rules) bool {
	c := checker{prefix: m.opts.Prefix}
	c.value(path, v, r)
	for _, p := range c.problems {
		if p.Path == path {
			p.Given = value
		}
	}
	m.problems = append(m.problems, c.problems...)
	return len(c.problems) == 0
}

// checkAliases panics where an alias names a key that does not exist, or hides one that does.
func (m *merger) checkAliases(t reflect.Type) {
	for name, a := range m.opts.Aliases {
		if _, ok := find(t, name); ok {
			panic(fmt.Sprintf("config: alias %q is a key of %s", name, t))
		}
		if _, ok := find(t, a.Key); !ok {
			panic(fmt.Sprintf("config: alias %q stands for %q, which %s does not have", name, a.Key, t))
		}
	}
}

// applyAlias writes the value that was given under another name.
func (m *merger) applyAlias(work reflect.Value, name string) {
	a, value := m.opts.Aliases[name], m.given[name].value
	first, taken := m.given[a.Key]
	if taken && a.Factor != 0 {
		m.report(&Error{Path: name, Given: value, Reason: fmt.Sprintf("it cannot be given together with %q (%s); "+
			"give one of them%s", first.name, show(first.value), note(a))})
		return
	}
	f, _ := find(work.Type(), a.Key)
	dst := work.FieldByIndex(f.index)
	read := reflect.New(f.typ).Elem()
	read.Set(dst)
	if !m.assign(name, read, value, f.rules) {
		return
	}
	if a.Factor != 0 {
		read.SetFloat(dst.Float() * read.Float() / a.Factor)
		if m.check(name, read, value, f.rules) {
			dst.Set(read)
		}
		return
	}
	if taken {
		if first.ok && !reflect.DeepEqual(dst.Interface(), read.Interface()) {
			m.report(&Error{Path: name, Given: value, Reason: fmt.Sprintf("it means the same as %q, which is %s; give "+
				"one of them%s", first.name, show(first.value), note(a))})
		}
		return
	}
	dst.Set(read)
	m.given[a.Key] = given{name: name, value: value, ok: true}
}

func note(a Alias) string {
	if a.Note == "" {
		return ""
	}
	return " (" + a.Note + ")"
}

// Check verifies every field of the struct v (or pointer to one) against its rules: NaN, infinities, ranges, choices.
// The error joins one *Error for every field that breaks them, with prefix as in Options.
func Check(v any, prefix string) error {
	c := checker{prefix: prefix}
	c.section("", structOf(v, "Check"))
	return join(c.problems)
}

// structOf returns a struct, or the one that a pointer points to. from names the function in a panic.
func structOf(v any, from string) reflect.Value {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: %s: got %T, want a struct or a pointer to one", from, v))
	}
	return value
}

func join(problems []*Error) error {
	slices.SortStableFunc(problems, func(a, b *Error) int { return cmp.Compare(a.Path, b.Path) })
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}
