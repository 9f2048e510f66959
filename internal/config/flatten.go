package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Walk calls f for every value of nested mappings, in the order of their keys. The key is the path of keys joined by
// dots. An empty mapping is a value.
func Walk(dict map[string]any, f func(key string, value any)) {
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		if inner, ok := dict[key].(map[string]any); ok && len(inner) > 0 {
			Walk(inner, func(below string, value any) { f(key+"."+below, value) })
			continue
		}
		f(key, dict[key])
	}
}

// Flatten calls f as [Walk] does, but not for empty mappings. A list is a text in JSON, and null is the text "null".
func Flatten(dict map[string]any, f func(key string, value any)) {
	Walk(dict, func(key string, value any) {
		switch v := value.(type) {
		case map[string]any:
		case []any:
			text, err := json.Marshal(v)
			if err != nil { // a number that is not finite
				text = fmt.Append(nil, v)
			}
			f(key, string(text))
		case nil:
			f(key, "null")
		default:
			f(key, v)
		}
	})
}
