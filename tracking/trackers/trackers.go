// Package trackers sends tracked values to programs outside this process: Weights & Biases and MLflow by name, and any
// other [tracking.Sink] as a [Tracker] of one's own.
//
//	trainer:
//	  trackers: [wandb, {mlflow: {tracking_uri: "http://localhost:5000", experiment_name: walker}}]
//
// A tracker never stops or slows training. [Start] gives each a queue and a goroutine: values wait while the tracker is
// away, and the oldest are dropped where more than 65 536 wait. What fails is tried again, later each time up to five
// minutes. The first failure is told, once; the files in the run's folder have every value in any case.
package trackers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tracking"
)

// ErrFinal is wrapped by errors of a tracker that no second attempt can mend, such as a refused password. What is sent
// to such a tracker is dropped from then on.
var ErrFinal = errors.New("it is not tried again")

// Run is what a tracker is told of the run whose values it takes.
type Run struct {
	// Name is the name of the run's folder, and Dir its path. The folder exists.
	Name, Dir string
	// Group is the name of the population whose member the run is, empty for other runs.
	Group string
	// Config is the run's configuration as plain values: mappings, lists, texts, numbers.
	Config map[string]any
	// Resumed says that the folder's run goes on. A tracker then goes on with what it began for it, if it did.
	Resumed bool
}

// Tracker is a named way to open a sink for a run. [WandB], [MLflow] and YAML make some; one's own is
// Tracker{Name: "mine", Open: ...}.
type Tracker struct {
	// Name is what messages call it. A run's trackers have different names.
	Name string
	// Open returns the sink of a run. Open and the sink's methods are called by one goroutine, which is not the
	// trainer's. After an error of Open or Flush the same method is called again later, unless the error wraps
	// [ErrFinal]; a sink keeps until then what it has not delivered. Close is called once, at the end.
	//
	// The context is done when the trainer waits no longer for the tracker. What blocks should return then.
	Open func(ctx context.Context, run Run) (tracking.Sink, error)

	settings any // the struct that it was made of, nil for one's own
}

// Finisher is implemented by a sink that records how its run ended. Finish is called before Close: with nil for a run
// that came to its end, with an error that wraps context.Canceled for one that was stopped, and otherwise with the
// error that ended it.
type Finisher interface{ Finish(err error) }

// read makes a tracker of its settings in YAML.
type read func(prefix string, dict map[string]any) (Tracker, error)

var (
	mu         sync.RWMutex
	registered = map[string]read{}
)

func init() {
	Register("wandb", DefaultWandB(), openWandB)
	Register("mlflow", DefaultMLflow(), openMLflow)
}

// Register adds a tracker under the name that YAML calls it by. defaults is a struct that holds the defaults of its
// settings, and open is given it with the settings of YAML in it: the tag yaml:"key" names a field's key, and
// config:"..." says what is allowed (min=, max=, gt=, lt= for numbers, oneof=a|b for texts, minlen=, maxlen= for lists).
// A method Validate() error of the struct is called before training. For open see [Tracker]. A name that is taken or
// empty, and defaults that are no struct, are programming errors and panic. Register is meant for init functions, and
// may be called from several goroutines.
func Register[S any](name string, defaults S, open func(ctx context.Context, run Run, settings S) (tracking.Sink, error)) {
	if name == "" || open == nil {
		panic("trackers: Register needs a name and a function that opens the tracker")
	}
	config.Keys(defaults) // panics where it is no struct, or a malformed one
	mu.Lock()
	defer mu.Unlock()
	if _, taken := registered[name]; taken {
		panic(fmt.Sprintf("trackers: a tracker %q is there already", name))
	}
	registered[name] = func(prefix string, dict map[string]any) (Tracker, error) {
		s := defaults
		if err := config.Merge(&s, dict, config.Options{Prefix: prefix}); err != nil {
			return Tracker{}, err
		}
		return of(name, s, open)
	}
}

// of makes a tracker of its settings.
func of[S any](name string, s S, open func(ctx context.Context, run Run, settings S) (tracking.Sink, error)) (Tracker, error) {
	err := config.Check(s, "trackers: "+name)
	if v, ok := any(s).(interface{ Validate() error }); ok && err == nil {
		err = v.Validate()
	}
	if err != nil {
		return Tracker{}, err
	}
	return Tracker{Name: name, settings: s, Open: func(ctx context.Context, run Run) (tracking.Sink, error) { return open(ctx, run, s) }}, nil
}

// Names are the names of all registered trackers, sorted.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(registered))
}

// New returns the registered tracker of a name with some of its settings. Unknown names and keys, and values that do
// not fit, are errors that name them, say what is allowed, and the nearest name there is.
func New(name string, settings map[string]any) (Tracker, error) {
	mu.RLock()
	read, ok := registered[name]
	mu.RUnlock()
	if !ok {
		return Tracker{}, fmt.Errorf("want a tracker's name or {name: {setting: value}}; the names are %s%s", list(Names()), config.Hint(name, Names()))
	}
	return read("trackers: "+name, settings)
}

// SetConfig reads a name, or a mapping of one name to its settings.
func (t *Tracker) SetConfig(value any) error {
	name, settings := "", map[string]any{}
	switch v := value.(type) {
	case Tracker:
		*t = v
		return nil
	case string:
		name = v
	case map[string]any:
		if len(v) != 1 {
			return fmt.Errorf("want one tracker, a name or {name: {setting: value}}; the names are %s", list(Names()))
		}
		for name = range v {
		}
		given, ok := v[name].(map[string]any)
		if !ok && v[name] != nil {
			return fmt.Errorf("want the settings of %s: {%s: {setting: value}}", name, name)
		}
		settings = given
	}
	made, err := New(name, settings)
	if err == nil {
		*t = made
	}
	return err
}

// Settings returns the settings that the tracker was made of, all of them, by their names in YAML. One's own tracker,
// which YAML cannot name, has none: nil.
func (t Tracker) Settings() map[string]any {
	if t.settings == nil {
		return nil
	}
	return config.Dict(t.settings)
}

// MarshalYAML returns what SetConfig reads. One's own tracker is an error.
func (t Tracker) MarshalYAML() (any, error) {
	if t.settings == nil {
		return nil, fmt.Errorf("trackers: %q is a tracker of a program's own, which YAML cannot name; Register it", t.Name)
	}
	return map[string]any{t.Name: t.Settings()}, nil
}

// Check returns an error where a tracker has no name or no Open, or a name that another has.
func Check(trackers []Tracker) error {
	for i, t := range trackers {
		switch {
		case t.Name == "" || t.Open == nil:
			return fmt.Errorf("trackers[%d] needs a Name and a function Open", i)
		case slices.ContainsFunc(trackers[:i], func(other Tracker) bool { return other.Name == t.Name }):
			return fmt.Errorf("trackers has %q twice; give it once", t.Name)
		}
	}
	return nil
}

// list writes names with commas.
func list(names []string) string {
	text := ""
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}
