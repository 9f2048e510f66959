package config

import (
	"reflect"
	"slices"
)

// The patterns of numbers and other values that are written as texts.
const (
	numberText   = `^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`
	infinityText = `^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|\.?[iI][nN][fF])$`
	boolText     = `^([yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF])$`
	autoText     = `^([aA][uU][tT][oO]|[0-9]+\.?0*([eE]\+?[0-9]+)?)$`
	durationText = `^[-+]?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`
)

// automatic are types that read an integer or "auto".
var automatic = map[string]bool{"agents.Interval": true, "schedulers.Iterations": true}

// Schema returns the JSON schema (draft 2020-12) of a dictionary that [Merge] reads over the defaults: types, limits,
// choices, defaults, and the comments in gorl's source as descriptions. The other keys take any value.
func (d Declaration) Schema() map[string]any {
	s := schemaOfStruct(reflect.Indirect(reflect.ValueOf(d.Defaults)))
	for _, key := range d.Others {
		s["properties"].(map[string]any)[key] = map[string]any{"deprecated": true}
	}
	return s
}

func schemaOfStruct(v reflect.Value) map[string]any {
	properties := map[string]any{}
	for _, f := range fieldsOf(v.Type()) {
		at := v.FieldByIndex(f.index)
		p := schemaOf(f.typ, f.rules)
		if section(f.typ) {
			p = schemaOfStruct(at)
			p["type"] = []any{"object", "null"}
		} else if plain, ok := plainValue(at); ok && plain != nil && !empty(at) {
			p["default"] = plain
		}
		if text := meaning(v.Type(), f.index, f.key); text != "" {
			p["description"] = text
		}
		properties[f.key] = p
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// empty reports whether a value is a list, map or string without content, which says nothing as a default.
func empty(v reflect.Value) bool {
	return slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.String}, v.Kind()) && v.Len() == 0
}

// schemaOf returns the schema of a value of type t that keeps the rules. null is allowed if the zero value keeps them.
func schemaOf(t reflect.Type, r rules) map[string]any {
	s := map[string]any{}
	nullable := r.holds(reflect.Zero(t))
	switch k := t.Kind(); {
	case automatic[t.String()]:
		s["type"], s["minimum"], s["pattern"] = []any{"integer", "string"}, 0, autoText
	case readsItself(t) || k == reflect.Interface || k == reflect.Func:
		return s
	case k == reflect.Pointer:
		s, nullable = schemaOf(t.Elem(), r), true
	case len(r.oneof) > 0 && k != reflect.Slice && k != reflect.Array && k != reflect.Map:
		s["enum"] = choicesOf(t, r)
	case t.String() == "time.Duration":
		s["type"], s["pattern"] = []any{"string"}, durationText
	case k == reflect.Bool:
		s["type"], s["pattern"] = []any{"boolean", "string"}, boolText
	case k == reflect.String:
		s["type"] = []any{"string"}
	case k == reflect.Slice || k == reflect.Array:
		return schemaOfList(t, r)
	case k == reflect.Map:
		s["type"], s["additionalProperties"] = []any{"object"}, schemaOf(t.Elem(), r.element())
	case k == reflect.Struct:
		s = schemaOfStruct(reflect.Zero(t))
		s["type"] = []any{"object"}
	case isNumber(k):
		s["type"], s["pattern"] = []any{"number", "string"}, numberText
		if r.inf {
			s["pattern"] = infinityText
		}
		if t.Kind() != reflect.Float32 && t.Kind() != reflect.Float64 {
			s["type"] = []any{"integer", "string"}
		}
		for name, limit := range map[string]*float64{"minimum": r.min, "maximum": r.max, "exclusiveMinimum": r.gt,
			"exclusiveMaximum": r.lt} {
			if limit != nil {
				s[name] = *limit
			}
		}
	}
	if !nullable {
		return s
	}
	if types, ok := s["type"].([]any); ok && !slices.Contains(types, any("null")) {
		s["type"] = append(types, "null")
	}
	if choices, ok := s["enum"].([]any); ok && !slices.Contains(choices, nil) {
		s["enum"] = append(choices, nil)
	}
	return s
}

func choicesOf(t reflect.Type, r rules) (choices []any) {
	for _, c := range r.oneof {
		if value := reflect.New(t).Elem(); isNumber(t.Kind()) && setNumber(value, reflect.ValueOf(c)) {
			choices = append(choices, value.Interface())
		}
		choices = append(choices, c)
	}
	return choices
}

// schemaOfList returns the schema of a list. One value stands for a list of one, unless t is an array.
func schemaOfList(t reflect.Type, r rules) map[string]any {
	one := schemaOf(t.Elem(), r.element())
	list := map[string]any{"type": "array", "items": one}
	if r.minLen != nil {
		list["minItems"] = *r.minLen
	}
	if r.maxLen != nil {
		list["maxItems"] = *r.maxLen
	}
	if t.Kind() == reflect.Array {
		list["minItems"], list["maxItems"] = t.Len(), t.Len()
	}
	options := []any{list}
	if r.holdsLength(1) && t.Kind() == reflect.Slice {
		options = append(options, one)
	}
	if r.minLen == nil || *r.minLen == 0 {
		options = append(options, map[string]any{"type": "null"})
	}
	return map[string]any{"anyOf": options}
}
