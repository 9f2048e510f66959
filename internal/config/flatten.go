package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Flatten calls f for every value of nested mappings, in the order of their keys. The key is the path of keys joined by
// dots. A list is one value, a text in JSON, and null is the text "null".
func Flatten(dict map[string]any, f func(key string, value any)) { flatten("", dict, f) }

func flatten(prefix string, dict map[string]any, f func(key string, value any)) {
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		switch v := dict[key].(type) {
		case map[string]any:
			flatten(prefix+key+".", v, f)
		case []any:
			text, err := json.Marshal(v)
			if err != nil { // a number that is not finite
				text = fmt.Append(nil, v)
			}
			f(prefix+key, string(text))
		case nil:
			f(prefix+key, "null")
		default:
			f(prefix+key, v)
		}
	}
}
