// Package trackers sends tracked values to other programs: Weights & Biases and MLflow by name, and any other
// [tracking.Sink] as your own [Tracker].
//
//	trainer:
//	  trackers: [wandb, {mlflow: {tracking_uri: "http://localhost:5000", experiment_name: walker}}]
//
// A tracker never stops or slows training. [Start] gives each a goroutine, which reads the values from the run's file.
// Failed calls are repeated after pauses that grow to five minutes. The first failure is reported once.
//
// trackers.go is the registry, feed.go the goroutine, delivery.go what it has delivered. wandb.go with wandb_child.py,
// and mlflow.go with mlflow_server.go, are the two trackers.
package trackers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tracking"
)

// ErrFinal is wrapped by errors of a tracker that another attempt cannot fix, such as a refused password. All later
// values for such a tracker are dropped.
var ErrFinal = errors.New("it is not tried again")

// Run describes a run to a tracker.
type Run struct {
	// Name is the name of the run's folder. Dir is its path. The folder has [tracking.ScalarsFile], whose values the
	// trackers get, with environment steps if the file has them.
	Name, Dir string
	// Group is the name of the population if the run is a member of one, or of the folder of several runs. The folder
	// of a member is in the population's.
	Group string
	// Config is the run's configuration as plain values: mappings, lists, texts, numbers.
	Config map[string]any
	// Resumed is true if the run in the folder continues. The tracker then continues its own run, if there is one.
	Resumed bool
}

// Tracker opens a sink for a run. [WandB], [MLflow] and YAML make trackers. Your own is Tracker{Name: "mine", Open:
// ...}.
type Tracker struct {
	// Name is the tracker's name in messages. The trackers of a run have different names.
	Name string
	// Open returns the sink of a run. One goroutine, which is not the trainer's, calls Open and the sink's methods.
	// After an error of Open or Flush it calls the same method again later, unless the error wraps [ErrFinal]. Until
	// then the sink keeps what it has not delivered. Close is called once, at the end.
	//
	// The context is done when the trainer no longer waits for the tracker. Blocking calls should then return.
	Open func(ctx context.Context, run Run) (tracking.Sink, error)

	settings any // the struct of its settings; nil for a program's own tracker
}

// Finisher is implemented by a sink that records how its run ended. Finish is called before Close. The error is nil if
// the run completed, wraps context.Canceled if the run was stopped, and is otherwise the error that ended the run.
type Finisher interface{ Finish(err error) }

// read returns the tracker of settings in YAML.
type read func(prefix string, dict map[string]any) (Tracker, error)

var (
	mu         sync.RWMutex
	registered = map[string]read{}
)

func init() {
	Register("wandb", DefaultWandB(), openWandB)
	Register("mlflow", DefaultMLflow(), openMLflow)
}

// Register adds a tracker under its name in YAML. defaults is a struct with the default settings; open gets it with the
// settings of YAML merged in. The tag yaml:"key" names a field's key. The tag config:"..." limits its values: min=,
// max=, gt=, lt= for numbers, oneof=a|b for texts, minlen=, maxlen= for lists. If the struct has a method Validate()
// error, it is called before training. For open see [Tracker]. Register panics if the name is empty or taken, or if
// defaults is not a struct. Call it in init functions. Several goroutines may call it.
func Register[S any](name string, defaults S,
	open func(ctx context.Context, run Run, settings S) (tracking.Sink, error)) {
	if name == "" || open == nil {
		panic("trackers: Register needs a name and a function that opens the tracker")
	}
	config.Keys(defaults) // panics unless it is a valid struct
	mu.Lock()
	defer mu.Unlock()
	if _, taken := registered[name]; taken {
		panic(fmt.Sprintf("trackers: the tracker %q is registered twice", name))
	}
	config.Declare("trackers", name, defaults)
	registered[name] = func(prefix string, dict map[string]any) (Tracker, error) {
		s := defaults
		if err := config.Merge(&s, dict, config.Options{Prefix: prefix}); err != nil {
			return Tracker{}, err
		}
		return newTracker(name, s, open)
	}
}

// newTracker returns a tracker with its settings.
func newTracker[S any](name string, s S,
	open func(ctx context.Context, run Run, settings S) (tracking.Sink, error)) (Tracker, error) {
	err := config.Check(s, "trackers: "+name)
	if v, ok := any(s).(interface{ Validate() error }); ok && err == nil {
		err = v.Validate()
	}
	if err != nil {
		return Tracker{}, err
	}
	return Tracker{Name: name, settings: s, Open: func(ctx context.Context, run Run) (tracking.Sink, error) {
		return open(ctx, run, s)
	}}, nil
}

// Names returns the sorted names of all registered trackers.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(registered))
}

// New returns the registered tracker of a name. Settings replace its defaults. Unknown names and keys, and values that
// are not allowed, are errors that name them, what is allowed, and the nearest known name.
func New(name string, settings map[string]any) (Tracker, error) {
	mu.RLock()
	read, ok := registered[name]
	mu.RUnlock()
	if !ok {
		return Tracker{}, fmt.Errorf("want a tracker's name or {name: {setting: value}}; the names are %s%s",
			strings.Join(Names(), ", "), config.Hint(name, Names()))
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
			return fmt.Errorf("want one tracker, a name or {name: {setting: value}}; the names are %s",
				strings.Join(Names(), ", "))
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

// Settings returns all settings of the tracker, by their names in YAML. It returns nil for a program's own tracker.
func (t Tracker) Settings() map[string]any {
	if t.settings == nil {
		return nil
	}
	return config.Dict(t.settings)
}

// MarshalYAML returns what SetConfig reads. A program's own tracker is an error.
func (t Tracker) MarshalYAML() (any, error) {
	if t.settings == nil {
		return nil, fmt.Errorf("trackers: %q is a tracker of a program's own, which YAML cannot name; Register it",
			t.Name)
	}
	return map[string]any{t.Name: t.Settings()}, nil
}

// CheckInstalled returns an error if a tracker lacks what it needs on this machine, such as the Python package wandb.
// It makes no connection and begins no run.
func CheckInstalled(ctx context.Context, trackers []Tracker) error {
	for i, t := range trackers {
		if s, ok := t.settings.(interface{ installed(context.Context) error }); ok {
			if err := s.installed(ctx); err != nil {
				return fmt.Errorf("trackers[%d]: %s: %w", i, t.Name, err)
			}
		}
	}
	return nil
}

// Check returns an error if a tracker has no name or no Open, or if two have one name.
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
