package cli

import (
	"embed"
	"path"
	"strings"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
)

// examples are configurations to begin with.
//
//go:embed examples/*.yaml
var examples embed.FS

func exampleNames() []string { return namesIn(examples, "examples") }

// namesIn returns the names of the files in an embedded folder, without their extensions.
func namesIn(files embed.FS, folder string) []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err) // they are in the binary
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
	}
	return names
}

func example(name string) ([]byte, error) {
	text, err := examples.ReadFile("examples/" + name + ".yaml")
	if err != nil {
		return nil, unknownExample(name, exampleNames())
	}
	return text, nil
}

// unknownExample returns the error of a name that is none of names.
func unknownExample(name string, names []string) error {
	hint := ""
	if n := config.Nearest(name, names); n != "" {
		hint = "; did you mean " + n + "?"
	}
	return commandline.Usagef("--example %s: want one of %s%s", name, strings.Join(names, ", "), hint)
}
