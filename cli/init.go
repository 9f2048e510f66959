package cli

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/process"
)

// project are the files of a new project, as templates.
//
//go:embed project/*.tmpl
var project embed.FS

// gorlModule is the path of gorl's module.
const gorlModule = "github.com/gorl-dev/gorl"

// begun is the data of a new project's templates.
type begun struct {
	Module, Program string
	Go              string // the version of the language, e.g. 1.26
	Version         string // of gorl
	Replace         string // the checkout of gorl in its place, "" for none
	Ready           bool   // gorl is found without another step
}

func initCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "begin a Go module with your own environment",
		Long: `
Writes a Go module into DIR, or into the current folder: an environment of your own
with its settings, a program that is gorl with that environment, a YAML file that
trains it, a test and a README. Existing files are never replaced: if one would be,
nothing is written.

The module requires the version of gorl that built this command. If that was a
checkout, --replace gives it.`,
		Example: `
gorl init walker
gorl init walker --module example.com/walker
gorl init walker --replace ../gorl`,
		Args: commandline.Arguments(0, 1, "one folder"),
	}
	module := c.Flags().String("module", "", "module `path` (default: the folder's name)")
	replace := c.Flags().String("replace", "",
		"`folder` of a checkout of gorl to build with, instead of a published version")
	c.RunE = func(c *cobra.Command, args []string) error {
		dir := "."
		if len(args) == 1 {
			dir = args[0]
		}
		info, _ := debug.ReadBuildInfo()
		b, err := begin(dir, *module, *replace, info)
		if err != nil {
			return err
		}
		names, err := b.write(dir)
		if err != nil {
			return err
		}
		return b.next(c.OutOrStdout(), dir, names)
	}
	return c
}

// modulePath is a module's path: elements of letters, digits and some signs.
var modulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)

// begin collects the data of the templates.
func begin(dir, module, replace string, info *debug.BuildInfo) (*begun, error) {
	if module == "" {
		module = folderName(dir)
	}
	if !modulePath.MatchString(module) {
		return nil, commandline.Usagef(
			"the module's path would be %q; give one of letters, digits, \".\", \"_\", \"-\" and \"/\" with --module",
			module)
	}
	release, _, _ := strings.Cut(runtime.Version(), " ") // after which experiments and vendors may be named
	language := version.Lang(release)
	if language == "" {
		return nil, fmt.Errorf("the version of Go is %q, which is no release", runtime.Version())
	}
	b := &begun{Module: module, Program: path.Base(module), Go: strings.TrimPrefix(language, "go")}
	b.Version, b.Ready = published(info)
	if replace != "" {
		full, err := filepath.Abs(replace)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(filepath.Join(full, "go.mod"))
		if err != nil || !bytes.HasPrefix(text, []byte("module "+gorlModule+"\n")) {
			return nil, commandline.Usagef("--replace %s: it is no checkout of gorl, which has a go.mod of the "+
				"module %s", replace, gorlModule)
		}
		if b.Replace, b.Ready = full, true; strings.ContainsAny(full, " \t\"'`()[]{},;") {
			b.Replace = strconv.Quote(full)
		}
	}
	return b, nil
}

// published returns the version of gorl that a program was built with, and whether it can be downloaded as a module:
// the toolchain has recorded its sum then. Otherwise the version is v0.0.0, which a replace directive must replace.
func published(info *debug.BuildInfo) (version string, ok bool) {
	if info != nil {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == gorlModule && m.Replace == nil && m.Sum != "" {
				return m.Version, true
			}
		}
	}
	return "v0.0.0", false
}

// write writes all files, or none if one of them exists, and returns their names.
func (b *begun) write(dir string) (names []string, err error) {
	files, err := template.ParseFS(project, "project/*.tmpl")
	if err != nil {
		return nil, err
	}
	names = namesIn(project, "project")
	var taken []string
	texts := map[string][]byte{}
	for _, name := range names {
		var text bytes.Buffer
		if err := files.ExecuteTemplate(&text, name+".tmpl", b); err != nil {
			return nil, err
		}
		texts[name] = text.Bytes()
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			taken = append(taken, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, commandline.Usagef("%w", err)
		}
	}
	if len(taken) > 0 {
		return nil, commandline.Usagef("%s has %s already, and nothing is replaced; give another folder",
			dir, strings.Join(taken, ", "))
	}
	for _, name := range names {
		if err := writeFile(filepath.Join(dir, name), texts[name]); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// next prints what to do next.
func (b *begun) next(out io.Writer, dir string, names []string) error {
	var steps []string
	if filepath.Clean(dir) != "." {
		steps = append(steps, "cd "+process.QuoteWord(dir))
	}
	if !b.Ready {
		steps = append(steps, "go mod edit -replace "+gorlModule+"=PATH   # PATH is your checkout of gorl, "+
			"of which this command was built")
	}
	steps = append(steps, "go mod tidy   # needs the network, or Go's module cache", "go test ./...", "go build",
		"./"+b.Program+" train --config train.yaml")
	_, err := fmt.Fprintf(out, "Wrote %s. Next:\n\n  %s\n\nThe README says more.\n",
		strings.Join(names, ", "), strings.Join(steps, "\n  "))
	return err
}
