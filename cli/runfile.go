package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/preset"
)

// runFile is the name of a run's complete configuration in its folder.
const runFile = "run.yaml"

// readConfiguration reads a YAML file, or the standard input if the path is "-". Its errors are wrong uses.
func readConfiguration(path string, stdin io.Reader) (runfile.Sections, error) {
	c, _, err := readWithSource(path, stdin)
	return c, err
}

// readWithSource is [readConfiguration] that also returns where the settings are given. It refuses a file of tensors.
func readWithSource(path string, stdin io.Reader) (runfile.Sections, *runfile.Source, error) {
	if isKind(path, ".pt", ".pth", ".safetensors", ".npz", ".onnx") {
		return nil, nil, commandline.Usagef("%s is no configuration but a file of tensors; want a YAML file. --resume "+
			"RUN goes on with a run, and %s eval plays a checkpoint", path, program)
	}
	c, source, err := runfile.ReadWithSource(path, stdin)
	return c, source, wrong(err)
}

// values are the sections that are not mappings.
var values = []string{"seed", "preset", "strict"}

// check refuses sections that nothing reads, and reports missing sections.
func check(c runfile.Sections) error {
	readers := runfile.Environments | runfile.Trainers
	switch c.Kind() {
	case runfile.Single:
		readers |= runfile.Ranks
	case runfile.Population:
		readers |= runfile.Populations | runfile.Launchers
		launcher, _ := c["launcher"].(map[string]any)
		if n, _ := launcher["ranks_per_member"].(int); n > 1 {
			readers |= runfile.Ranks
		}
	case runfile.Evolution:
		readers = runfile.Environments | runfile.Agents | runfile.Evolutions
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		err := runfile.Sections{name: c[name]}.Check("", readers)
		if _, ok := c[name].(map[string]any); !ok && c[name] != nil && !slices.Contains(values, name) && err == nil {
			err = &config.Error{Path: name, Given: c[name], Reason: "want a section of keys"}
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	environment, _ := c["environment"].(map[string]any)
	switch {
	case environment["id"] == nil:
		return errors.New("environment.id is missing: give --env ID, Isaac Lab's --task TASK, or the section " +
			"environment: {id: CartPole, num_envs: 16}")
	case c["agent"] == nil:
		return errors.New("the section agent is missing; want for instance agent: {class: PPO}, and its settings")
	}
	return nil
}

// textOf returns a value of a configuration as a text, or "" if it is none.
func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// inProcess reports whether the environment of a configuration is of this process.
func inProcess(c runfile.Sections) bool {
	return catalog.InProcess(textOf(c.Section("environment")["id"]))
}

// makeEnvironment makes the environment of a configuration. Only errors of settings are wrong uses.
func makeEnvironment(c runfile.Sections) (envs.Env, error) {
	c = preset.WithSelfPlay(c)
	settings, err := catalog.Settings(c.Section("environment"))
	if err != nil {
		return nil, wrong(err)
	}
	return catalog.New(settings)
}

// writeRunFile writes the complete configuration into a run's folder, which it creates. Before it replaces an earlier
// configuration, it records this start of the run and the differences.
func writeRunFile(dir string, text []byte, start runfile.Start) error {
	if err := durable.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := runfile.Record(dir, text, start); err != nil {
		return fmt.Errorf("recording the start of the run: %w", err)
	}
	path := filepath.Join(dir, runFile)
	return writeFile(path, fmt.Appendf(nil, "# Written by %[1]s train. To do the same again: %[1]s train --config "+
		"%[2]s\n\n%[3]s", program, process.QuoteWord(path), text))
}

// holdsRun reports whether a folder holds a run.
func holdsRun(dir string) bool {
	holds := runfile.In(dir)
	_, err := os.Lstat(filepath.Join(dir, runFile))
	return err == nil || holds.Run || holds.Population || exists(dir, runfile.Batch)
}
