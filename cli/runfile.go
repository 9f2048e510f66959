package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/preset"
)

// runFile is the name of a run's complete configuration in its folder.
const runFile = "run.yaml"

// readConfiguration reads a YAML file, or the standard input if the path is "-". Its errors are wrong uses.
func readConfiguration(path string, stdin io.Reader) (runfile.Sections, error) {
	if err := refuseTensors(path); err != nil {
		return nil, err
	}
	c, _, err := runfile.ReadWithSource(path, stdin)
	return c, wrong(err)
}

// refuseTensors returns an error if a configuration's path is that of a file of tensors.
func refuseTensors(path string) error {
	if isKind(path, ".pt", ".pth", ".safetensors", ".npz", ".onnx") {
		return commandline.Usagef("%s is no configuration but a file of tensors; want a YAML file. --resume RUN goes "+
			"on with a run, and %s eval plays a checkpoint", path, program)
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

// place returns the folder and the name of a run: those of the command line, or else of the configuration. Without a
// name it makes one of the time.
func (f *trainFlags) place(directory, name, class string, resume bool) (string, string, error) {
	if f.resume != "" {
		directory, name := split(f.resume)
		return directory, name, storable(directory, name)
	}
	directory = cmp.Or(f.out, directory, "runs")
	if err := storable(directory, cmp.Or(f.name, name)); err != nil {
		return "", "", err
	}
	switch dir := filepath.Join(directory, f.name); {
	case f.name != "" && !resume && holdsRun(dir):
		return "", "", commandline.Usagef("there is a run in %s already; go on with it (%s train --resume %s), or "+
			"give another --name", dir, program, process.QuoteWord(dir))
	case f.name != "":
		return directory, f.name, nil
	case name == "":
		name = time.Now().Format("06-01-02_15-04-05") + "_" + class
	}
	free := name
	for n := 2; !resume && holdsRun(filepath.Join(directory, free)); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return directory, free, nil
}

// split returns the folder in which a run's folder lies, and the run's name, also for "." and "..".
func split(run string) (directory, name string) {
	run = filepath.Clean(run)
	if name = filepath.Base(run); name == "." || name == ".." {
		run, _ = filepath.Abs(run) // storable refuses what has no name
	}
	return filepath.Dir(run), filepath.Base(run)
}

// storable refuses a folder that run.yaml could not name, and the folder of all runs or one above it as the folder of a
// run.
func storable(directory, name string) error {
	if path := filepath.Join(directory, name); !utf8.ValidString(path) ||
		strings.ContainsFunc(path, unicode.IsControl) {
		return commandline.Usagef("the run's folder would be %q; want a name in UTF-8, without control characters",
			path)
	}
	if err := durable.CheckName(filepath.Join(directory, name)); err != nil {
		return commandline.Usagef("the run's folder: %w", err)
	}
	if base := filepath.Base(name); name != "" && (base == "." || base == "..") {
		return commandline.Usagef("the run's name is %q; want that of a folder of its own", name)
	}
	return nil
}

// stopped returns the error of a run that a signal has ended.
func (f *trainFlags) stopped(dir, where string) error {
	return &commandline.StoppedError{Err: fmt.Errorf("stopped %s; the run is saved in %s. Go on with: %s", where, dir,
		f.goOn(dir))}
}

// goOn returns the command that continues a run.
func (f *trainFlags) goOn(dir string) string {
	several := ""
	if f.ranks.nproc > 0 {
		several = fmt.Sprintf("--nproc %d ", f.ranks.nproc)
	}
	return fmt.Sprintf("%s train %s--resume %s", program, several, process.QuoteWord(dir))
}
