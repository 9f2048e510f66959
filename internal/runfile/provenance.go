package runfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
)

// ProvenanceFile is the name of the file in a run's folder that records every start of the run.
const ProvenanceFile = "provenance.yaml"

// Start is one start of a run: what ran where, and which settings it changed.
type Start struct {
	Time time.Time `yaml:"time" json:"time"`
	// Command is the command line, and Folder the folder in which it was given.
	Command []string `yaml:"command,flow" json:"command"`
	Folder  string   `yaml:"folder" json:"folder"`
	// Gorl is the version of the module, and Commit the commit of the program's repository, if the build recorded it.
	// It ends in "+dirty" if the files differed from the commit.
	Gorl     string `yaml:"gorl" json:"gorl"`
	Commit   string `yaml:"commit,omitempty" json:"commit,omitempty"`
	Libtorch string `yaml:"libtorch,omitempty" json:"libtorch"`
	Go       string `yaml:"go" json:"go"`
	Platform string `yaml:"platform" json:"platform"`
	Host     string `yaml:"host" json:"host"`
	Process  int    `yaml:"process" json:"process"`
	// Timestep is the timestep at which the run continued, 0 for a new run. A population has Interval instead.
	Timestep int64 `yaml:"timestep" json:"timestep"`
	Interval int64 `yaml:"interval,omitempty" json:"interval,omitempty"`
	// Changes are the settings that differ from those of the start before.
	Changes []Change `yaml:"changes,omitempty" json:"changes,omitempty"`
	// Ended is the time at which training ended, zero while it goes on and after a crash. Error says why it ended
	// early. Stopped is true if it was asked to end.
	Ended   time.Time `yaml:"ended,omitempty" json:"ended,omitzero"`
	Stopped bool      `yaml:"stopped,omitempty" json:"stopped,omitempty"`
	Error   string    `yaml:"error,omitempty" json:"error,omitempty"`
	// Settings is the configuration of the first start.
	Settings map[string]any `yaml:"settings,omitempty" json:"-"`
}

// Change is a setting that a later start of a run has changed. The key is dotted. Old or New is nil if the setting was
// missing.
type Change struct {
	Key string `yaml:"key" json:"key"`
	Old any    `yaml:"old,flow" json:"old"`
	New any    `yaml:"new,flow" json:"new"`
}

// module is the path of this module in the build information of a program.
const module = "github.com/gorl-dev/gorl"

// Libtorch returns the version of libtorch in this program. It is nil in a program without libtorch.
var Libtorch func() string

// begun is when this process began.
var begun = time.Now().Truncate(time.Second)

// Record appends a start to the file [ProvenanceFile] in dir, unless this process has recorded it already. text is the
// configuration, nil if it is not known. The caller sets the place at which the run continues; Record fills in the
// rest. Earlier entries stay as they are. Passwords in addresses are left out.
func Record(dir string, text []byte, start Start) error {
	start.Time, start.Command = time.Now().UTC().Truncate(time.Second), os.Args
	start.Go, start.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	start.Host, _ = os.Hostname()
	start.Process = os.Getpid()
	start.Folder, _ = os.Getwd()
	start.Gorl, start.Commit = build()
	if Libtorch != nil {
		start.Libtorch = Libtorch()
	}
	list, err := Starts(dir)
	if err != nil || slices.ContainsFunc(list, start.repeats) {
		return err
	}
	if err := start.describe(list, []byte(config.Redact(string(text)))); err != nil {
		return err
	}
	return write(dir, append(list, start))
}

// End records in the latest entry how training ended: nil for its end, stopped if it was asked to end.
func End(dir string, cause error, stopped bool) error {
	list, err := Starts(dir)
	if err != nil || len(list) == 0 {
		return err
	}
	last := &list[len(list)-1]
	last.Ended, last.Stopped, last.Error = time.Now().UTC().Truncate(time.Second), stopped, ""
	if cause != nil {
		last.Error = cause.Error()
	}
	return write(dir, list)
}

// write replaces the file [ProvenanceFile] in dir.
func write(dir string, list []Start) error {
	text, err := yaml.Marshal(list)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, ProvenanceFile), func(w io.Writer) error {
		_, err := io.WriteString(w, config.Redact(string(text)))
		return err
	})
}

// repeats reports whether an earlier entry is of the same start.
func (s *Start) repeats(e Start) bool {
	return e.Process == s.Process && e.Host == s.Host && !e.Time.Before(begun) && e.Timestep == s.Timestep &&
		e.Interval == s.Interval
}

// describe sets Changes or, at the first start whose configuration is known, Settings.
func (s *Start) describe(list []Start, text []byte) error {
	settings, err := Parse(text)
	if err != nil || len(settings) == 0 {
		return err
	}
	known, now := map[string]any{}, map[string]any{}
	for _, e := range list {
		config.Walk(e.Settings, func(key string, value any) { known[key] = value })
		for _, c := range e.Changes {
			if known[c.Key] = c.New; c.New == nil {
				delete(known, c.Key)
			}
		}
	}
	if len(known) == 0 {
		s.Settings = settings
		return nil
	}
	config.Walk(settings, func(key string, value any) { now[key] = value })
	s.Changes = Changes(known, now)
	return nil
}

// Changes returns the settings that differ, by their dotted keys in order.
func Changes(was, is map[string]any) (list []Change) {
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if !reflect.DeepEqual(was[key], is[key]) {
			list = append(list, Change{key, was[key], is[key]})
		}
	}
	return list
}

// Starts reads the file [ProvenanceFile] in dir. It returns nil if there is no such file.
func Starts(dir string) (list []Start, err error) {
	text, err := os.ReadFile(filepath.Join(dir, ProvenanceFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(text)).Decode(&list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, which records the starts of a run: %w; move it away to begin another",
			filepath.Join(dir, ProvenanceFile), err)
	}
	return list, nil
}

// build returns the version of this module and the commit of the program.
func build() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	version = info.Main.Version
	for _, m := range info.Deps { // in a program of a user
		if m.Path == module {
			version = m.Version
		}
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value + commit
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += "+dirty"
		}
	}
	return version, commit
}
