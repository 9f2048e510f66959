package launch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Vars are names and texts, as in an environment. In YAML whole numbers and booleans may stand without quotes.
type Vars map[string]string

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// SetConfig reads a mapping from YAML.
func (v *Vars) SetConfig(value any) error {
	if vars, ok := value.(Vars); ok {
		*v = maps.Clone(vars)
		return nil
	}
	dict, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("want names and texts, {NAME: text}")
	}
	vars := make(Vars, len(dict))
	for _, name := range slices.Sorted(maps.Keys(dict)) {
		switch x := dict[name].(type) {
		case string:
			vars[name] = x
		case int:
			vars[name] = strconv.Itoa(x)
		case bool:
			vars[name] = strconv.FormatBool(x)
		default:
			return fmt.Errorf("%s is %v: want a text; put it in quotes", name, x)
		}
	}
	*v = vars
	return nil
}

// checkNames refuses what cannot be an environment, and what the launcher sets itself.
func (v Vars) checkNames(key string) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch {
		case !variableName.MatchString(name):
			return fmt.Errorf("launch: %q has %q: want a name of letters, digits and _", key, name)
		case strings.HasPrefix(name, "GORL_PBT_"):
			return fmt.Errorf("launch: %q has %q, which the launcher sets itself; leave it out", key, name)
		case strings.ContainsAny(v[name], "\x00"):
			return fmt.Errorf("launch: %q: %s holds a zero byte", key, name)
		}
	}
	return nil
}

// list are the variables as NAME=text, sorted.
func (v Vars) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = append(list, name+"="+v[name])
	}
	return list
}
