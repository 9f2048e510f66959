package trackers

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// names gives tags names that MLflow takes, each its own.
type names struct {
	byTag map[string]string
	taken map[string]bool
}

func (n *names) of(tag string) string {
	if name, ok := n.byTag[tag]; ok {
		return name
	}
	if n.byTag == nil {
		n.byTag, n.taken = map[string]string{}, map[string]bool{}
	}
	name := mlflowName(tag)
	for i, whole := 2, name; n.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", cut(whole, maxName-12), i)
	}
	n.byTag[tag], n.taken[name] = name, true
	return name
}

// mlflowName is the name that MLflow's server takes for a tag (mlflow/utils/validation.py of 3.17). It reads names as
// paths, too, which must not be written in a longer way than they could be.
func mlflowName(tag string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '(' || r == ')':
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./ :", r):
			return r
		}
		return '_'
	}, tag)
	name = cut(name, maxName)
	if name != path.Clean(name) || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "..") || name == "." {
		name = "_" + cut(strings.ReplaceAll(name, "/", "_"), maxName-1)
	}
	return name
}

// cut returns at most n characters of a text.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	runes := []rune(text)
	return string(runes[:min(n, len(runes))])
}
