package runfile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
)

// Source says where every setting of a run was given: in which line of its file, or by which argument of the command
// line. [Source.Explain] puts the place in front of errors.
type Source struct {
	name  string            // the file's
	lines map[string]int    // of the file's keys, by path
	given map[string]string // arguments by the path that they set
}

// ReadWithSource is [Read] that also returns the Source. The path "-" reads the standard input. Its errors begin with
// the file and the line.
func ReadWithSource(path string, stdin io.Reader) (Sections, *Source, error) {
	s := &Source{name: path, given: map[string]string{}}
	if path == "-" {
		s.name = "standard input"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, s, err
		}
		defer file.Close()
		stdin = file
	}
	data, err := readAll(stdin)
	if err != nil {
		return nil, s, fmt.Errorf("%s: %w", s.name, err)
	}
	var dict Sections
	dict, s.lines, err = config.FromYAMLWithLines(data)
	return dict, s, s.Explain(err)
}

// readAll reads at most maxBytes.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("there are more than %d bytes, which no configuration needs", maxBytes)
	}
	return data, err
}

// maxBytes is more than any run's file needs. It keeps a mistyped path, say of a video, from filling the memory.
const maxBytes = 16 << 20

// Set records the assignment KEY=VALUE, which flag precedes. Long values and addresses, which may have passwords, are
// not repeated in errors.
func (s *Source) Set(flag, assignment string) {
	key, value, _ := strings.Cut(assignment, "=")
	if len(value) > 60 || strings.Contains(value, "://") {
		value = "..."
	}
	s.Give(key, flag+key+"="+value)
}

// Give records that an argument has set the key at a path, for example "--set agent.learning_rate=-1".
func (s *Source) Give(path, argument string) { s.given[path] = argument }

// where returns the place at which a path or the nearest section above it was given. exact is true if the path itself
// was given.
func (s *Source) where(path string) (place string, exact bool) {
	for below, argument := range s.given { // which has made the section
		if _, own := s.lines[path]; !own && strings.HasPrefix(below, path+".") {
			return argument, false
		}
	}
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if argument, ok := s.given[at]; ok {
			return argument, at == path
		}
		if line, ok := s.lines[at]; ok {
			return fmt.Sprintf("%s:%d", s.name, line), at == path
		}
	}
	return s.name, false
}

// olderNames are skrl's other names of settings, by the path that errors name.
var olderNames = map[string]string{"agent.gae_lambda": "agent.lambda",
	"agent.observation_preprocessor":        "agent.state_preprocessor",
	"agent.observation_preprocessor_kwargs": "agent.state_preprocessor_kwargs"}

// find returns the full path of a key that an error names, and whether the key was given. section is the section that
// the error is about, or "". If there is no such key in the section, a key deeper in the section is found, if only one
// has the name.
func (s *Source) find(section, key string) (path string, given bool) {
	path = key
	if section != "" {
		path = section + "." + key
	}
	for _, name := range []string{path, olderNames[path]} {
		if _, given = s.where(name); given {
			return name, true
		}
	}
	if section == "" && Has(head(key)) {
		return path, false
	}
	var deeper []string
	for _, known := range slices.Concat(slices.Collect(maps.Keys(s.lines)), slices.Collect(maps.Keys(s.given))) {
		if strings.HasPrefix(known, section) && strings.HasSuffix(known, "."+key) {
			deeper = append(deeper, known)
		}
	}
	if len(deeper) == 1 {
		return deeper[0], true
	}
	return path, false
}

// head returns the first part of a path.
func head(path string) string {
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end]
	}
	return path
}

// Explain returns the errors of a configuration with the place of the setting in front of each, in place of the names
// of packages: "cartpole.yaml:12: agent.learning_rate is -1; want a number > 0". An error that names no setting begins
// with the file. Errors that are not about the configuration stay as they are.
func (s *Source) Explain(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *explained:
		return e
	case *config.Error:
		own := *e
		own.Path, _ = s.find("", e.Path)
		if own.Unknown && own.Nearest != "" && own.Path != e.Path {
			own.Nearest = strings.TrimSuffix(own.Path, e.Path) + own.Nearest
		}
		place, _ := s.where(own.Path)
		return &explained{place + ": " + own.Plain(), err}
	case interface{ Unwrap() []error }:
		var errs []error
		for _, one := range e.Unwrap() {
			errs = append(errs, s.Explain(one))
		}
		return errors.Join(errs...)
	}
	if inner := errors.Unwrap(err); inner != nil {
		if text := inner.Error(); err.Error() == text || err.Error() == s.name+": "+text {
			return s.Explain(inner)
		}
	}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return &explained{fmt.Sprintf("%s:%s: %s", s.name, m[1], m[2]), err}
	}
	return s.explainText(err)
}

var (
	yamlLine = regexp.MustCompile(`(?s)^(?:config: )?yaml: (?:unmarshal errors:\s+)?line (\d+): (.*)`)
	// firstWord matches the word and colon that an error begins with: a package or a section.
	firstWord = regexp.MustCompile(`^([a-z_][\w.\[\]]*): `)
	// word matches what may be a key in a text.
	word = regexp.MustCompile(`"?\b[A-Za-z_][\w]*(?:\.\w+|\[\d+\])*\b\]?"?`)
	// packages are those whose names errors begin with.
	packages = []string{"amp", "catalog", "config", "evolution", "launch", "mlflow", "models", "pbt",
		"ppo", "preprocessors", "preset", "rlgames", "schedulers", "tensor", "trackers", "trainers", "wandb"}
)

// explainText explains an error that has no path of its own: the first word of its text that is a key of the run.
func (s *Source) explainText(err error) error {
	text, section, own := err.Error(), "", false
	for m := firstWord.FindStringSubmatch(text); m != nil; m = firstWord.FindStringSubmatch(text) {
		if own && Has(head(m[1])) && (section == "" || strings.HasPrefix(m[1], "models.")) {
			section = m[1]
		} else if !slices.Contains(packages, m[1]) {
			break
		}
		own, text = true, text[len(m[0]):]
	}
	if !own {
		return err
	}
	path, end := section, 0 // end is that of the key with which the text begins
	for _, at := range word.FindAllStringIndex(text, -1) {
		found, given := s.find(section, strings.Trim(text[at[0]:at[1]], `"`))
		if text[at[0]] != '"' && at[0] > 0 && !strings.HasSuffix(section+"."+text[at[0]:at[1]], found) {
			given = false // a common word, which is also a key deeper in the section
		}
		if at[0] == 0 && (given || text[0] == '"' || strings.HasPrefix(text[at[1]:], ": ")) {
			path, end = found, at[1]
		}
		if given {
			if at[0] > 0 {
				path, end = found, 0
			}
			break
		}
	}
	place, _ := s.where(path)
	if text = text[end:]; end == 0 && path != "" {
		text = ": " + text
	}
	return &explained{place + ": " + path + text, err}
}

// explained is an error with the text of [Source.Explain].
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.err }
