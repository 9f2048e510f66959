// Package catalog makes environments by name, as YAML files and command lines call them:
//
//	environment:
//	  id: Walker
//	  num_envs: 64
//	  target_speed: 1.0
//
// [New] makes one from such a dictionary; [Names] are the names there are: gorl's own environments, those of Gymnasium
// as "gymnasium:<id>", and those of simulators likewise ("mjlab:<id>"). [Register] adds those of a program.
// docs/reference/environments.md lists the settings of each.
package catalog

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/panics"
)

// Batch are the settings that every environment has. Structs for [Register] embed it:
//
//	type arena struct {
//		catalog.Batch `yaml:",inline"`
//		// Gravity is in m/s².
//		Gravity float64 `yaml:"gravity" config:"gt=0"`
//	}
type Batch struct {
	// NumEnvs is the number of environments that step together.
	NumEnvs int `yaml:"num_envs" config:"min=1,max=1048576"`
	// Seed seeds the environments; a trainer seeds them again with its own seed.
	Seed int64 `yaml:"seed" config:"min=0"`
}

// Defaults returns one environment and the seed 0.
func Defaults() Batch { return Batch{NumEnvs: 1} }

// entry is a registered environment. Its functions hide the type of its settings.
type entry struct {
	// with is true if the id may go on after a colon, as in gymnasium:CartPole-v1.
	with bool
	// settings reads a dictionary over the defaults and returns the struct. prefix begins its errors.
	settings func(prefix string, dict map[string]any) (any, error)
	// make makes the environment from such a struct. id is the part after the colon.
	make func(settings any, id string) (envs.Env, error)
}

var (
	// mu guards entries, which Register may add to at any time.
	mu      sync.RWMutex
	entries = map[string]entry{}
)

// Register adds an environment under a name. defaults is a struct with the default settings; make receives such a
// struct with the settings of a file in it. The tag yaml:"key" names a field's key, and config:"..." says what is
// allowed (min=, max=, gt=, lt= for numbers, oneof=a|b for texts, minlen=, maxlen= for lists). The struct should
// embed [Batch].
//
// A name that is taken, empty or has a colon in it, and defaults that are no struct, are programming errors and
// panic. Register is meant for init functions. Several goroutines may call it.
func Register[S any](name string, defaults S, make func(settings S) (envs.Env, error)) {
	if make == nil {
		panic("catalog: Register of " + name + " without a function that makes it")
	}
	add(name, defaults, false, func(s S, _ string) (envs.Env, error) { return make(s) })
}

// add is Register for an environment that may have an id behind a colon (with).
func add[S any](name string, defaults S, with bool, make func(settings S, id string) (envs.Env, error)) {
	if name == "" || strings.Contains(name, ":") {
		panic(fmt.Sprintf("catalog: %q cannot name an environment; it must not be empty or have a colon", name))
	}
	// Keys panics if defaults is no struct, or has malformed tags.
	config.Keys(defaults)
	mu.Lock()
	defer mu.Unlock()
	if _, taken := entries[name]; taken {
		panic(fmt.Sprintf("catalog: an environment %q is there already", name))
	}
	called := name
	if with {
		called += ":<id>"
	}
	config.Declare("environments", called, defaults)
	entries[name] = entry{
		with: with,
		settings: func(prefix string, dict map[string]any) (any, error) {
			s := defaults
			err := config.Merge(&s, dict, config.Options{Prefix: prefix})
			return s, err
		},
		make: func(settings any, id string) (envs.Env, error) { return make(settings.(S), id) },
	}
}

// Names are the names of all environments, sorted. "gymnasium" stands for all of Gymnasium's: the id is
// "gymnasium:CartPole-v1", or "gymnasium" with the setting factory. The names of simulators, such as "mjlab", stand for
// theirs.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(entries))
}

// New makes the environment that a dictionary describes: its id, the settings of that environment (num_envs and seed
// among them), and a list of wrappers. The dictionary is not changed. Unknown names and keys, and values that are not
// allowed, are errors. Such an error names key and value, what is allowed, and the nearest valid name. All errors in
// a dictionary are reported together.
func New(dict map[string]any) (envs.Env, error) {
	d, err := parse(dict)
	if err != nil {
		return nil, err
	}
	var env envs.Env
	err = panics.Guard("its constructor", func() (err error) { env, err = d.entry.make(d.settings, d.id); return err })
	if err != nil {
		return nil, fmt.Errorf("catalog: %s: %w", d.name, err)
	}
	for i, w := range d.wrappers {
		wrapped, err := w.wrap(env)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("catalog: wrappers[%d] (%s): %w", i, w.name, err), env.Close())
		}
		env = wrapped
	}
	return env, nil
}

// Settings returns the dictionary completed by the defaults of the settings that it lacks. [New] makes the same
// environment from the result. Settings makes no environment, so a setting may still prove unusable later.
func Settings(dict map[string]any) (map[string]any, error) {
	d, err := parse(dict)
	if err != nil {
		return nil, err
	}
	full := config.Dict(d.settings)
	full["id"] = dict["id"]
	if len(d.wrappers) > 0 {
		list := make([]any, len(d.wrappers))
		for i, w := range d.wrappers {
			list[i] = map[string]any{w.name: config.Dict(w.settings)}
		}
		full["wrappers"] = list
	}
	return full, nil
}

// InProcess reports whether the environment of an id runs in this process. Those of Gymnasium and of simulators are
// processes of their own.
func InProcess(id string) bool {
	name, _, _ := strings.Cut(id, ":")
	mu.RLock()
	defer mu.RUnlock()
	return !entries[name].with
}

// described is a dictionary that has been read and checked.
type described struct {
	// name is the registered name, id the part after its colon.
	name, id string
	// entry is what is registered under name, settings the struct that it reads.
	entry    entry
	settings any
	// wrappers are in the order of the file: the first is the innermost.
	wrappers []wrapper
}

// gymnasiumID matches ids that look like Gymnasium's. An unknown id of that form gets the hint to put "gymnasium:" in
// front.
var gymnasiumID = regexp.MustCompile(`-v[0-9]+$`)

// parse reads a dictionary: the entry for its id, the settings, the wrappers. It makes nothing.
func parse(dict map[string]any) (described, error) {
	names := Names()
	id, ok := dict["id"].(string)
	if !ok || id == "" {
		return described{}, &config.Error{Prefix: "catalog", Path: "id", Given: dict["id"],
			Reason: "want the name of an environment: " + list(names)}
	}
	d := described{}
	var with bool
	d.name, d.id, with = strings.Cut(id, ":")
	mu.RLock()
	d.entry, ok = entries[d.name]
	mu.RUnlock()
	if !ok || with && !d.entry.with {
		e := &config.Error{Prefix: "catalog", Path: "id", Given: id,
			Reason: "there is no such environment; there are " + list(names), Nearest: config.Nearest(d.name, names)}
		if !ok && !with && gymnasiumID.MatchString(id) {
			e.Nearest = "gymnasium:" + id
		}
		return d, e
	}
	own := maps.Clone(dict)
	delete(own, "id")
	delete(own, "wrappers")
	var err, wrong error
	d.settings, err = d.entry.settings("catalog: "+d.name, own)
	d.wrappers, wrong = parseWrappers(dict["wrappers"])
	return d, errors.Join(err, wrong)
}

// list returns names for an error, with ":<id>" behind those that take one.
func list(names []string) string {
	mu.RLock()
	defer mu.RUnlock()
	shown := slices.Clone(names)
	for i, n := range shown {
		if entries[n].with {
			shown[i] = n + ":<id>"
		}
	}
	return strings.Join(shown, ", ")
}
