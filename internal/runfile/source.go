package runfile

import (
	"errors"
	"fmt"
	"io"
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

// Give records that an argument has set the key at a path, for example "--set agent.learning_rate=-1".
func (s *Source) Give(path, argument string) { s.given[path] = argument }

// where returns the place at which a path or the nearest section above it was given. exact is true if the path itself
// was given.
func (s *Source) where(path string) (place string, exact bool) {
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

// find returns the full path of a key that an error names, and whether the key was given. section is the section that
// the error is about, or "". A key without a section is found if only one section has it.
func (s *Source) find(section, key string) (path string, given bool) {
	if section != "" {
		path = section + "." + key
		_, given = s.where(path)
		return path, given
	}
	if _, given = s.where(key); given || Has(head(key)) {
		return key, given
	}
	for known := range s.lines {
		if strings.HasSuffix(known, "."+key) {
			if given {
				return key, false
			}
			path, given = known, true
		}
	}
	if given {
		return path, true
	}
	return key, false
}

// head returns the first part of a path.
func head(path string) string {
	first, _, _ := strings.Cut(path, ".")
	first, _, _ = strings.Cut(first, "[")
	return first
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
	packages = []string{"amp", "catalog", "config", "distributed", "evolution", "launch", "mlflow", "models", "pbt",
		"ppo", "preprocessors", "preset", "schedulers", "tensor", "trackers", "trainers", "wandb"}
)

// explainText explains an error that has no path of its own: the first word of its text that is a key of the run.
func (s *Source) explainText(err error) error {
	text, section, own := err.Error(), "", false
	for {
		m := firstWord.FindStringSubmatch(text)
		switch {
		case m == nil:
		case section == "" && own && Has(head(m[1])):
			section, text = m[1], text[len(m[0]):]
			continue
		case slices.Contains(packages, m[1]):
			own, text = true, text[len(m[0]):]
			continue
		}
		break
	}
	if !own {
		return err
	}
	for _, at := range word.FindAllStringIndex(text, -1) {
		key := strings.Trim(text[at[0]:at[1]], `"`)
		path, given := s.find(section, key)
		begins := at[0] == 0 && (text[0] == '"' || strings.HasPrefix(text[at[1]:], ": "))
		if !given && !begins {
			continue
		}
		place, _ := s.where(path)
		if at[0] == 0 {
			text = path + text[at[1]:]
		}
		return &explained{place + ": " + text, err}
	}
	place, _ := s.where(section)
	if section != "" {
		text = section + ": " + text
	}
	return &explained{place + ": " + text, err}
}

// explained is an error with the text of [Source.Explain].
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.err }
