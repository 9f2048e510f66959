package envs

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

const (
	// maxShapingDepth bounds the nesting of a tree, which may come from a file or from Python.
	maxShapingDepth = 64
	// maxExactInteger is the largest integer up to which every integer has a float64 of its own.
	maxExactInteger = 1 << 53
)

// FlattenShaping returns the numbers of a tree of reward parameters (see [RewardShaper]) by dotted keys: {"scale": 2,
// "delta": [0.1, 0.2]} has "scale", "delta.0" and "delta.1". Booleans are 0 and 1; texts and nil values have no key.
// Maps, slices and arrays may be of any element type.
//
// It is an error if a number is not finite, or an integer lies beyond ±2⁵³. It is also an error if a map's key is
// empty or has a dot, or if a value is of another type.
func FlattenShaping(values map[string]any) (map[string]float64, error) {
	flat := make(map[string]float64, len(values))
	_, err := walkShaping(reflect.ValueOf(values), "", 0, func(key string, v reflect.Value) (reflect.Value, error) {
		x, err := numberOf(key, v)
		flat[key] = x
		return v, err
	})
	if err != nil {
		return nil, err
	}
	return flat, nil
}

// UnflattenShaping returns a copy of a tree with the numbers of flat in the places that their keys name. Each takes
// the type that the tree has there: an integer becomes the nearest integer, a boolean is true from 0.5 on. Numbers of
// the tree without a key in flat stay as they are. It is an error if flat has a key that the tree lacks, or a number
// that is not finite or does not fit the type.
func UnflattenShaping(tree map[string]any, flat map[string]float64) (map[string]any, error) {
	known := make(map[string]bool)
	copied, err := walkShaping(reflect.ValueOf(tree), "", 0, func(key string, v reflect.Value) (reflect.Value, error) {
		known[key] = true
		if x, ok := flat[key]; ok {
			return numberAs(key, x, v.Type())
		}
		_, err := numberOf(key, v)
		return v, err
	})
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		if !known[key] {
			return nil, fmt.Errorf("envs: there is no reward parameter %q: %s", key,
				config.Among(key, slices.Sorted(maps.Keys(known))))
		}
	}
	return copied.Interface().(map[string]any), nil
}

// walkShaping returns a copy of a tree in which leaf has replaced every number and boolean. It visits them in the
// order of keys and indices. path is the dotted key of v, depth how deep v is nested.
func walkShaping(v reflect.Value, path string, depth int,
	leaf func(key string, v reflect.Value) (reflect.Value, error)) (reflect.Value, error) {
	if depth > maxShapingDepth {
		return v, fmt.Errorf("envs: reward parameter %.80q…: it is nested more than %d deep", path, maxShapingDepth)
	}
	// element walks an element, and sets the copy unless there is an error.
	element := func(name string, v reflect.Value, set func(copied reflect.Value)) error {
		copied, err := walkShaping(v, strings.TrimPrefix(path+"."+name, "."), depth+1, leaf)
		if err == nil {
			set(copied)
		}
		return err
	}
	switch kind := v.Kind(); {
	case kind == reflect.Interface && !v.IsNil():
		return walkShaping(v.Elem(), path, depth, leaf)
	case kind == reflect.String,
		(kind == reflect.Interface || kind == reflect.Map || kind == reflect.Slice) && v.IsNil():
		return v, nil
	case kind == reflect.Bool || v.CanInt() || v.CanUint() || v.CanFloat():
		return leaf(path, v)
	case kind == reflect.Map && v.Type().Key().Kind() == reflect.String:
		copied := reflect.MakeMapWithSize(v.Type(), v.Len())
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			name := key.String()
			if name == "" || strings.Contains(name, ".") {
				return v, fmt.Errorf("envs: reward parameter %q: the key %q is empty or has a dot, which separates "+
					"keys", path, name)
			}
			if err := element(name, v.MapIndex(key), func(e reflect.Value) { copied.SetMapIndex(key, e) }); err != nil {
				return v, err
			}
		}
		return copied, nil
	case kind == reflect.Slice || kind == reflect.Array:
		copied := reflect.New(v.Type()).Elem()
		if kind == reflect.Slice {
			copied.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			if err := element(strconv.Itoa(i), v.Index(i), copied.Index(i).Set); err != nil {
				return v, err
			}
		}
		return copied, nil
	}
	return v, fmt.Errorf("envs: reward parameter %q is of type %v; want a number, a boolean, a text, a list or a "+
		"map with text keys", path, v.Type())
}

// numberOf returns a number or boolean as a float64. key is its dotted key, for errors.
func numberOf(key string, v reflect.Value) (float64, error) {
	switch {
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			return 1, nil
		}
		return 0, nil
	case v.CanInt():
		if x := v.Int(); x >= -maxExactInteger && x <= maxExactInteger {
			return float64(x), nil
		}
	case v.CanUint():
		if x := v.Uint(); x <= maxExactInteger {
			return float64(x), nil
		}
	default:
		if x := v.Float(); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x, nil
		}
		return 0, fmt.Errorf("envs: reward parameter %q is %v; it must be finite", key, v)
	}
	return 0, fmt.Errorf("envs: reward parameter %q is %v; an integer must lie within ±2⁵³", key, v)
}

// numberAs returns x as a value of type t, rounded if t is an integer. key is its dotted key, for errors.
func numberAs(key string, x float64, t reflect.Type) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return v, fmt.Errorf("envs: reward parameter %q cannot be %v; it must be finite", key, x)
	}
	n := math.Round(x)
	switch {
	case t.Kind() == reflect.Bool:
		v.SetBool(x >= 0.5)
		return v, nil
	case v.CanInt():
		if math.Abs(n) <= maxExactInteger && !v.OverflowInt(int64(n)) {
			v.SetInt(int64(n))
			return v, nil
		}
	case v.CanUint():
		if n >= 0 && n <= maxExactInteger && !v.OverflowUint(uint64(n)) {
			v.SetUint(uint64(n))
			return v, nil
		}
	case !v.OverflowFloat(x):
		v.SetFloat(x)
		return v, nil
	}
	return v, fmt.Errorf("envs: reward parameter %q cannot be %v: that is out of the range of its type %v", key, x, t)
}
