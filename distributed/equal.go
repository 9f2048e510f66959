package distributed

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

// longestValue is the largest number of bytes of a value that an error quotes.
const longestValue = 100

// RequireEqual compares values of all ranks by key, in one exchange. Values are compared as fmt prints them. If a value
// differs, every rank returns the same error, which names the key, both values and the ranks.
//
// Before training, agents call it with their settings, spaces and parameters, and trainers with their settings.
func (g *Group) RequireEqual(values map[string]any) error {
	if !g.Several() {
		return nil
	}
	own := map[string]string{}
	config.Walk(values, func(key string, value any) {
		if section, ok := value.(map[string]any); !ok || len(section) > 0 {
			own[key] = fmt.Sprint(value)
		}
	})
	ranks, err := Gather(g, own)
	if err != nil {
		return err
	}
	keys := map[string]bool{}
	for _, of := range ranks {
		for key := range of {
			keys[key] = true
		}
	}
	var differ []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		for r, of := range ranks[1:] {
			if of[key] != ranks[0][key] {
				differ = append(differ, fmt.Sprintf("%q is %s on rank 0 and %s on rank %d", key, quoted(ranks[0], key),
					quoted(of, key), r+1))
				break
			}
		}
	}
	if len(differ) == 0 {
		return nil
	}
	if more := len(differ) - 5; more > 0 {
		differ = append(differ[:5], fmt.Sprintf("and %d more differences", more))
	}
	return fmt.Errorf("distributed: the ranks differ: %s; give all ranks the same program, file and options",
		strings.Join(differ, ", "))
}

// Gather returns the values of all ranks, by rank. Only exported fields of structs are exchanged. Numbers may be NaN.
// Without other ranks Gather returns own as it is.
func Gather[T any](g *Group, own T) ([]T, error) {
	if !g.Several() {
		return []T{own}, nil
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(own); err != nil {
		return nil, fmt.Errorf("distributed: a %T for the other ranks: %w", own, err)
	}
	texts, err := g.GatherBytes(text.Bytes())
	all := make([]T, len(texts))
	for r, text := range texts {
		if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&all[r]); err != nil {
			return nil, fmt.Errorf("distributed: a %T of rank %d: %w", own, r, err)
		}
	}
	return all, err
}

// quoted returns the value of a key as an error quotes it.
func quoted(values map[string]string, key string) string {
	value, ok := values[key]
	switch {
	case !ok:
		return "missing"
	case len(value) > longestValue:
		return value[:longestValue] + "..."
	}
	return value
}

// version returns the program's version, if the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Path + " " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			text += " " + s.Value
		}
	}
	return text
}
