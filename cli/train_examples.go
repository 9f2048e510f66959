package cli

import (
	"embed"
	"strings"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
)

// examples are configurations to begin with.
//
//go:embed examples/*.yaml
var examples embed.FS

func exampleNames() []string {
	entries, err := examples.ReadDir("examples")
	if err != nil {
		panic(err) // they are in the binary
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

func example(name string) ([]byte, error) {
	text, err := examples.ReadFile("examples/" + name + ".yaml")
	if err != nil {
		hint := ""
		if n := config.Nearest(name, exampleNames()); n != "" {
			hint = "; did you mean " + n + "?"
		}
		return nil, commandline.Usagef("--example %s: want one of %s%s", name, strings.Join(exampleNames(), ", "), hint)
	}
	return text, nil
}
