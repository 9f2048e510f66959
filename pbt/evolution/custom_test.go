package evolution_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
)

// custom is somebody's own learner: its actor's weights decay to zero, faster with a greater rate, and its target
// follows only where somebody copies them. It has nothing to do with gorl's agents.
type custom struct {
	shape  description.Architecture
	arrays map[string]checkpoint.Array
	rate   float64
	epochs float64
	steps  int64
	fault  func(c *custom) error
}

func newCustom(m pbt.Member) (*custom, error) {
	shape, err := description.NewArchitecture(spaces.NewBox(-1, 1, 2), nil, 0, []int{4}, "relu")
	if err != nil {
		return nil, err
	}
	c := &custom{shape: shape, arrays: map[string]checkpoint.Array{}, rate: 0.01, epochs: 4}
	if m.Restoring != nil {
		recorded, err := evolution.Architectures(m.Restoring)
		if err != nil {
			return nil, err
		}
		c.shape = recorded["actor"]
	}
	x := float32(m.Seed%97) / 97
	for name, shape := range c.shapes() {
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		for _, network := range []string{"actor/", "target/"} {
			c.arrays[network+name] = checkpoint.ArrayFloat32(shape, slices.Repeat([]float32{1 + x}, int(n)))
		}
	}
	return c, nil
}

// shapes are those of the network's parameters.
func (c *custom) shapes() map[string][]int64 {
	shapes, in := map[string][]int64{}, int64(2)
	hidden := c.shape.Head.Hidden
	for i, n := range append(slices.Clone(hidden), 1) {
		name := fmt.Sprintf("head.%d", i)
		if i == len(hidden) {
			name = "head.out"
		}
		shapes[name+".weight"], shapes[name+".bias"] = []int64{int64(n), in}, []int64{int64(n)}
		in = int64(n)
	}
	return shapes
}

func (c *custom) Train(ctx context.Context, steps int64) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.fault != nil {
			if err := c.fault(c); err != nil {
				return err
			}
		}
		c.steps++
		for name, a := range c.arrays {
			if strings.HasPrefix(name, "actor/") {
				values, _ := a.Float32s()
				values = slices.Clone(values) // others may have been given the same array
				for i := range values {
					values[i] *= float32(1 - c.rate*c.epochs/4)
				}
				c.arrays[name] = checkpoint.ArrayFloat32(a.Shape, values)
			}
		}
	}
	return nil
}

func (c *custom) norm() float64 {
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(c.arrays)) {
		if strings.HasPrefix(name, "actor/") {
			values, _ := c.arrays[name].Float32s()
			for _, v := range values {
				sum += float64(v) * float64(v)
			}
		}
	}
	return math.Sqrt(sum)
}

func (c *custom) Steps() int64 { return c.steps }
func (c *custom) Close() error { return nil }
func (c *custom) Metrics() map[string]float64 {
	return map[string]float64{"episode.return": -c.norm()}
}

func (c *custom) Hyperparameters() map[string]float64 {
	return map[string]float64{"rate": c.rate, "epochs": c.epochs}
}

func (c *custom) SetHyperparameters(values map[string]float64) error {
	if v, ok := values["rate"]; ok {
		c.rate = v
	}
	if v, ok := values["epochs"]; ok {
		c.epochs = v
	}
	return nil
}

func (c *custom) Snapshot() (*checkpoint.Snapshot, error) {
	s := checkpoint.NewSnapshot()
	s.Arrays = maps.Clone(c.arrays)
	s.Values = map[string]any{"steps": c.steps, "architectures": map[string]any{"actor": c.shape.Values(),
		"target": c.shape.Values()}}
	return s, nil
}

func (c *custom) Restore(s *checkpoint.Snapshot) error {
	recorded, err := evolution.Architectures(s)
	if err != nil {
		return err
	}
	if !recorded["actor"].Equal(c.shape) {
		return fmt.Errorf("a snapshot of %v for %v", recorded["actor"], c.shape)
	}
	for name, shape := range c.shapes() {
		for _, network := range []string{"actor/", "target/"} {
			if a := s.Arrays[network+name]; !slices.Equal(a.Shape, shape) {
				return fmt.Errorf("%s%s has shape %v, want %v", network, name, a.Shape, shape)
			}
		}
	}
	if c.steps, err = s.Int("steps"); err != nil {
		return err
	}
	c.arrays = maps.Clone(s.Arrays)
	return nil
}

func customOptions() evolution.Options {
	m := busy()
	m.Hyperparameters = evolution.HyperparameterConfig{
		"rate": {Min: 1e-4, Max: 0.1, GrowFactor: 2, ShrinkFactor: 0.5}, "epochs": {Min: 1, Max: 8,
			Kind: evolution.KindInt},
	}
	return evolution.Options{
		Options: pbt.Options{Members: 5, IntervalSteps: 20, TotalSteps: 400, Seed: 2,
			Measure: pbt.Measure{EvaluationEpisodes: -1},
			New:     func(m pbt.Member) (pbt.Trainee, error) { return newCustom(m) }},
		Mutations: m,
		Registry: &evolution.Registry{Groups: []evolution.NetworkGroup{
			{Name: "actor", Shared: []string{"target"}, Policy: true}}},
	}
}

// A learner of one's own evolves with a registry of its own.
func TestCustomTrainee(t *testing.T) {
	e, err := evolution.New(customOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	done, shapes := map[string]bool{}, map[string]bool{}
	for _, event := range e.Population().Journal() {
		if event.Kind == journal.ApplyFailed || event.Kind == journal.Failed {
			t.Errorf("%+v", event)
		}
		done[strings.SplitN(event.Mutation, "(", 2)[0]], shapes[event.Architecture] = true, true
	}
	for _, want := range []string{"rate", "epochs", "param", "activation", "head.add_node", "none"} {
		if !done[want] {
			t.Errorf("never %s: %v", want, done)
		}
	}
	if len(shapes) < 4 {
		t.Errorf("only %v", shapes)
	}
}

func TestOptionsRefused(t *testing.T) {
	nan := math.NaN()
	for want, set := range map[string]func(o *evolution.Options){
		"Members is -1":                func(o *evolution.Options) { o.Members = -1 },
		"TotalSteps is -1":             func(o *evolution.Options) { o.TotalSteps = -1 },
		"IntervalSteps is -1":          func(o *evolution.Options) { o.IntervalSteps = -1 },
		"EvalSteps is -1":              func(o *evolution.Options) { o.EvalSteps = -1 },
		"with a negative Measure.Eval": func(o *evolution.Options) { o.EvalSteps = 1 },
		"Target is {Figure:NaN":        func(o *evolution.Options) { o.Target = &pbt.Target{Figure: nan} },
		"Checkpoint is -1":             func(o *evolution.Options) { o.Checkpoint = -1 },
		"without a checkpoint_path":    func(o *evolution.Options) { o.Checkpoint = 1 },
		"without an elite_path":        func(o *evolution.Options) { o.SaveElite = true },
		"New is nil":                   func(o *evolution.Options) { o.New = nil },
		"Mutations.RLHP is -1":         func(o *evolution.Options) { o.Mutations.RLHP = -1 },
		"0 of 0 groups":                func(o *evolution.Options) { o.Registry.Groups = nil },
		`did you mean "actor"?`:        func(o *evolution.Options) { o.Registry.Groups[0].Name = "actr" },
		"give a Registry that says":    func(o *evolution.Options) { o.Registry = nil },
		"needs trainees with a method LimitEvalua": func(o *evolution.Options) {
			o.Measure.EvaluationEpisodes,
				o.EvalSteps = 1, 10
		},
		"a method EvaluateMetrics":        func(o *evolution.Options) { o.Measure.EvaluationEpisodes = 1 },
		"a population of 5 cannot be cut": func(o *evolution.Options) { o.Strategy = strategy.DefaultMultiFrequency() },
		"TournamentSize is -2": func(
			o *evolution.Options) {
			o.Strategy = strategy.Tournament{TournamentSize: -2}
		},
		`no hyperparameter "rat"`: func(o *evolution.Options) {
			o.Mutations.Hyperparameters = evolution.HyperparameterConfig{"rat": {Min: 1, Max: 2}}
		},
		`no hyperparameter "gamma"`: func(
			o *evolution.Options) {
			o.Sample = map[string]explore.Range{"gamma": {High: 1}}
		},
		"building failed": func(o *evolution.Options) {
			o.New = func(pbt.Member) (pbt.Trainee, error) { return nil, errors.New("building failed") }
		},
	} {
		o := customOptions()
		set(&o)
		if e, err := evolution.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if err == nil {
				e.Close()
			}
		}
	}
}
