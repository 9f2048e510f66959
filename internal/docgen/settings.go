// Package docgen makes the tables of settings in docs from the structs that hold them: the keys and limits come from
// the structs' tags, the defaults from a value, the meanings from the comments in the source.
//
//	go test ./internal/docgen -update
//
// writes the tables anew; without -update the test fails where a table has drifted from the code.
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

const module = "github.com/gorl-dev/gorl"

// setting is one key of a configuration.
type setting struct {
	// Key is dotted through sections.
	Key string
	// Default and Allowed are for people.
	Default, Allowed string
	// Meaning is the field's comment on one line, Go names replaced by keys. Of several fields with one comment, and of
	// one field in several sections, the first has it; for the others Same is the first one's key.
	Meaning, Same string
}

// settings lists the keys of a struct that holds its defaults. root is the repository's folder.
func settings(root string, defaults any) ([]setting, error) {
	d := describer{root: root, files: map[string]map[string]*ast.StructType{}, found: map[string]setting{},
		first: map[string]string{}, keys: map[string]string{}}
	if err := d.describe("", reflect.TypeOf(defaults)); err != nil {
		return nil, err
	}
	var list []setting
	for _, k := range config.Keys(defaults) {
		s, ok := d.found[k.Key]
		if !ok {
			return nil, fmt.Errorf("docgen: the key %q of %T was not found in the source", k.Key, defaults)
		}
		if s.Meaning == "" && s.Same == "" {
			return nil, fmt.Errorf("docgen: the key %q of %T has no comment", k.Key, defaults)
		}
		s.Key, s.Default, s.Allowed = k.Key, show(k.Default), k.Short()
		if strings.Contains(s.Meaning, "There is no default.") {
			s.Default, s.Meaning = "none", strings.ReplaceAll(s.Meaning, " There is no default.", "")
		}
		s.Meaning = d.withKeys(s.Meaning, k.Key)
		if s.Default != "none" { // the column says so
			s.Meaning = saysDefault.ReplaceAllString(s.Meaning, "$3")
		}
		list = append(list, s)
	}
	return list, nil
}

// describer reads the comments of a struct's fields.
type describer struct {
	root  string
	files map[string]map[string]*ast.StructType // by package, by type
	found map[string]setting                    // by key
	first map[string]string                     // the first key of a struct's field
	keys  map[string]string                     // key by Go field name, alone and behind its section
}

func (d *describer) describe(prefix string, t reflect.Type) error {
	source, err := d.source(t)
	if err != nil {
		return err
	}
	same := "" // the key whose comment the following fields without one share
	for _, f := range source.Fields.List {
		comment := firstParagraph(f.Doc)
		for _, name := range names(f) {
			sf, ok := t.FieldByName(name)
			if !ok {
				return fmt.Errorf("docgen: %v has no field %s", t, name)
			}
			tag, flags, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
			inner := sf.Type
			switch {
			case tag == "-":
				continue
			case strings.Contains(flags, "inline"):
				if err := d.describe(prefix, inner); err != nil {
					return err
				}
				continue
			case tag == "":
				tag = strings.ToLower(name)
			}
			key := prefix + tag
			if inner.Kind() == reflect.Struct &&
				!reflect.PointerTo(inner).Implements(reflect.TypeFor[config.Setter]()) {
				if err := d.describe(key+".", inner); err != nil {
					return err
				}
				continue
			}
			for _, at := range []string{name, prefix + name} { // the first one, and the one of this section
				if _, taken := d.keys[at]; !taken {
					d.keys[at] = key
				}
			}
			field := t.String() + "." + name
			switch first, again := d.first[field]; {
			case again:
				d.found[key], same = setting{Same: first}, first
			case comment != "":
				d.found[key], same, comment = setting{Meaning: comment}, key, ""
			default:
				d.found[key] = setting{Same: same}
			}
			if d.first[field] == "" {
				d.first[field] = same
			}
		}
	}
	return nil
}

func names(f *ast.Field) []string {
	if len(f.Names) == 0 { // embedded
		switch t := f.Type.(type) {
		case *ast.Ident:
			return []string{t.Name}
		case *ast.SelectorExpr:
			return []string{t.Sel.Name}
		}
	}
	var list []string
	for _, n := range f.Names {
		list = append(list, n.Name)
	}
	return list
}

// source finds the declaration of a struct type.
func (d *describer) source(t reflect.Type) (*ast.StructType, error) {
	path := t.PkgPath()
	if d.files[path] == nil {
		dir := filepath.Join(d.root, filepath.FromSlash(strings.TrimPrefix(path, module+"/")))
		types, err := structs(dir)
		if err != nil {
			return nil, err
		}
		d.files[path] = types
	}
	s := d.files[path][t.Name()]
	if s == nil {
		return nil, fmt.Errorf("docgen: no struct %s in the source of %s", t.Name(), path)
	}
	return s, nil
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

// withKeys replaces the Go names of fields by their keys, outside quotation marks. A name is first looked for in the
// section of the key that the text is about, whose name is then left out.
func (d *describer) withKeys(text, of string) string {
	section := of[:strings.LastIndexByte(of, '.')+1]
	text = word.ReplaceAllStringFunc(text, func(w string) string {
		if key, ok := d.keys[section+w]; ok {
			return "`" + strings.TrimPrefix(key, section) + "`"
		}
		if key, ok := d.keys[w]; ok {
			return "`" + key + "`"
		}
		return w
	})
	return link.ReplaceAllString(text, "`$1`")
}

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
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return show(value.Elem().Interface())
		}
		return "none"
	case reflect.Func:
		return "none"
	case reflect.Map, reflect.String, reflect.Slice, reflect.Array:
		if value.Len() == 0 {
			return "none"
		}
	case reflect.Struct:
		if value.IsZero() {
			return "none"
		}
	}
	switch value.Kind() {
	case reflect.Map:
		var entries []string
		for it := value.MapRange(); it.Next(); {
			entries = append(entries, fmt.Sprintf("%v: %v", it.Key(), it.Value()))
		}
		slices.Sort(entries)
		return "`{" + strings.Join(entries, ", ") + "}`"
	case reflect.Slice, reflect.Array:
		if value.Len() == 1 {
			return show(value.Index(0).Interface())
		}
		return "`[" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(v), "[]")), ", ") + "]`"
	}
	return fmt.Sprintf("`%v`", v)
}

// short writes a duration as a user would: 10m, not 10m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// firstParagraph returns a field's comment up to the first empty line, on one line. What follows it is advice for
// readers of the code, too long for a table.
func firstParagraph(doc *ast.CommentGroup) string {
	first, _, _ := strings.Cut(doc.Text(), "\n\n")
	return strings.Join(strings.Fields(first), " ")
}
