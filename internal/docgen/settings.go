// Package docgen makes the tables of settings in docs from the structs that hold them: the keys and limits come from
// the structs' tags, the defaults from a value, the meanings from the comments in the source.
//
//	go test ./internal/docgen -update
//
// writes meanings.json of package config, from which the tables and the commands have the comments, and the tables.
// Without -update the test fails where either has drifted from the code.
package docgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/config"
)

// setting is one key of a configuration.
type setting struct {
	// Key is dotted through sections.
	Key string
	// Default and Allowed are for people.
	Default, Allowed string
	// Meaning is the field's comment on one line, Go names replaced by keys. Of several fields with one comment the
	// first has it; for the others Same is the first one's key.
	Meaning, Same string
}

// settings lists the keys of a struct that holds its defaults.
func settings(defaults any) ([]setting, error) {
	var list []setting
	first := map[string]string{} // the first key with a meaning
	for _, k := range config.Keys(defaults) {
		s := setting{Key: k.Key, Default: show(k.Default), Allowed: k.Short(), Meaning: k.Meaning,
			Same: first[k.Meaning]}
		switch {
		case s.Meaning == "":
			return nil, fmt.Errorf("docgen: the key %q of %T has no comment", k.Key, defaults)
		case s.Same != "":
			s.Meaning = ""
		default:
			first[s.Meaning] = s.Key
		}
		if strings.Contains(k.Meaning, "There is no default.") {
			s.Default, s.Meaning = "none", strings.ReplaceAll(s.Meaning, " There is no default.", "")
		} else if s.Default != "none" { // the column says so
			s.Meaning = saysDefault.ReplaceAllString(s.Meaning, "$3")
		}
		list = append(list, s)
	}
	return list, nil
}

// structs parses a folder's Go files, tests left out, and returns its struct types.
func structs(dir string) (map[string]*ast.StructType, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("docgen: %w", err)
	}
	all := map[string]*ast.StructType{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("docgen: %w", err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					all[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return all, nil
}

var (
	// saysDefault matches what says no more than the default.
	saysDefault = regexp.MustCompile(`( Default:?( [^ :;(]*[^ :;(.]){1,4}?\.| \(default\))( |$|[.,:;])`)

	word = regexp.MustCompile(`"[^"]*"|\[?\b[A-Z][A-Za-z]+(\.[A-Z][A-Za-z]+)*\b\]?`)
	link = regexp.MustCompile(`\[([A-Za-z][A-Za-z0-9.]*)\]`)
)

// show writes a default value as a user would.
func show(v any) string {
	value := reflect.ValueOf(v)
	switch x := v.(type) {
	case nil:
		return "none"
	case time.Duration:
		return "`" + short(x) + "`"
	case float64:
		return fmt.Sprintf("`%g`", x)
	case yaml.Marshaler:
		if plain, err := x.MarshalYAML(); err == nil {
			return show(plain)
		}
	}
	switch kind := value.Kind(); {
	case kind == reflect.Func,
		slices.Contains([]reflect.Kind{reflect.Pointer, reflect.String, reflect.Struct}, kind) && value.IsZero(),
		slices.Contains([]reflect.Kind{reflect.Map, reflect.Slice, reflect.Array}, kind) && value.Len() == 0:
		return "none"
	case kind == reflect.Pointer:
		return show(value.Elem().Interface())
	case kind == reflect.Map: // fmt sorts its keys: map[a:1 b:2]
		entries := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(v), "map["), "]"))
		return "`{" + strings.ReplaceAll(strings.Join(entries, ", "), ":", ": ") + "}`"
	case kind == reflect.Slice || kind == reflect.Array:
		if value.Len() == 1 {
			return show(value.Index(0).Interface())
		}
		return "`[" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(v), "[]")), ", ") + "]`"
	}
	return fmt.Sprintf("`%v`", v)
}

// short writes a duration as a user would: 10m, not 10m0s.
func short(d time.Duration) string {
	return regexp.MustCompile(`([hm])0[ms](0s)?$`).ReplaceAllString(d.String(), "$1")
}

// firstParagraph returns a field's comment up to the first empty line, on one line. What follows it is advice for
// readers of the code, too long for a table.
func firstParagraph(doc *ast.CommentGroup) string {
	first, _, _ := strings.Cut(doc.Text(), "\n\n")
	return strings.Join(strings.Fields(first), " ")
}
