package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

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

// checkAliases panics where an alias names a key that does not exist, or hides one that does.
func (m *merger) checkAliases(t reflect.Type) {
	for name, a := range m.opts.Aliases {
		if _, ok := find(t, name); ok {
			panic(fmt.Sprintf("config: alias %q is a key of %s", name, t))
		}
		switch {
		case a.Key == "" && a.Convert == nil:
			panic(fmt.Sprintf("config: alias %q has neither Key nor Convert", name))
		case a.Key == "":
			continue
		}
		if _, ok := find(t, a.Key); !ok {
			panic(fmt.Sprintf("config: alias %q stands for %q, which %s does not have", name, a.Key, t))
		}
	}
}

// applyAliases writes the values given under other names: first those that stand for a key, then those that change
// a key's value, each in alphabetical order.
func (m *merger) applyAliases(work reflect.Value) {
	slices.Sort(m.aliases)
	for _, adjust := range []bool{false, true} {
		for _, name := range m.aliases {
			if a := m.opts.Aliases[name]; a.Adjust == adjust {
				m.applyAlias(work, name, a)
			}
		}
	}
}

func (m *merger) applyAlias(work reflect.Value, name string, a Alias) {
	value := m.given[name].value
	for _, other := range a.Excludes {
		if g, ok := m.given[other]; ok && g.name == other {
			m.report(&Error{Path: name, Given: value, Reason: fmt.Sprintf("it cannot be given together with %q (%s); "+
				"give one of them%s", other, show(g.value), note(a))})
			return
		}
	}
	if a.Key == "" {
		whole := work.Addr().Interface()
		if err := a.Convert(value, whole); err != nil {
			m.report(&Error{Path: name, Given: value, Err: err})
		}
		return
	}
	dst, f := reach(work, a.Key)
	converted := reflect.New(f.typ)
	converted.Elem().Set(dst)
	if a.Convert == nil {
		if !m.assign(name, converted.Elem(), value, f.rules) {
			return
		}
	} else if err := a.Convert(value, converted.Interface()); err != nil {
		m.report(&Error{Path: name, Given: value, Err: err})
		return
	} else if !m.check(name, converted.Elem(), value, f.rules) {
		return
	}
	first, taken := m.given[a.Key]
	if taken && !a.Adjust {
		if first.ok && !reflect.DeepEqual(dst.Interface(), converted.Elem().Interface()) {
			m.report(&Error{Path: name, Given: value, Reason: fmt.Sprintf("it means the same as %q, which is %s; give "+
				"one of them%s", first.name, show(first.value), note(a))})
		}
		return
	}
	dst.Set(converted.Elem())
	if !taken {
		m.given[a.Key] = given{name: name, value: value, ok: true}
	}
}

func note(a Alias) string {
	if a.Note == "" {
		return ""
	}
	return " (" + a.Note + ")"
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
