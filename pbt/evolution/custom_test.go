package evolution

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// custom is somebody's own learner, which has nothing to do with gorl's agents: it counts steps, and has a handmade
// snapshot. Networks of other shapes need a new one.
type custom struct {
	snap   *checkpoint.Snapshot
	values map[string]float64
	steps  int64
	talent float64
}

func (c *custom) Train(_ context.Context, steps int64) error { c.steps += steps; return nil }
func (c *custom) Steps() int64                               { return c.steps }
func (c *custom) Metrics() map[string]float64                { return map[string]float64{"episode.return": c.talent} }
func (c *custom) Hyperparameters() map[string]float64        { return c.values }
func (c *custom) Snapshot() (*checkpoint.Snapshot, error)    { return c.snap, nil }
func (c *custom) Close() error                               { return nil }

func (c *custom) SetHyperparameters(values map[string]float64) error {
	c.values = maps.Clone(c.values)
	maps.Copy(c.values, values)
	return nil
}

func (c *custom) Restore(s *checkpoint.Snapshot) error {
	if d := cmp.Diff(c.snap.Values["architectures"], s.Values["architectures"]); d != "" {
		return errors.New("other networks: " + d)
	}
	c.snap = s
	return nil
}

func customOptions(t *testing.T) Options {
	m := DefaultMutations()
	m.NoMutation, m.Architecture, m.Parameters, m.Activation, m.RLHP = 0.1, 0.5, 0.2, 0.1, 0.2
	m.Limits = Limits{MinLayers: 1, MaxLayers: 3, MinNodes: 4, MaxNodes: 64, MinLatent: 2, MaxLatent: 64}
	snap, r := handmade(t)
	return Options{
		Options: pbt.Options{Members: 5, IntervalSteps: 20, TotalSteps: 400, Seed: 2,
			Measure: pbt.Measure{EvaluationEpisodes: -1},
			New: func(m pbt.Member) (pbt.Trainee, error) {
				c := &custom{snap: snap, values: handmadeValues, talent: float64(m.ID)}
				if m.Restoring != nil {
					c.snap = m.Restoring
				}
				return c, nil
			}},
		Mutations: &m,
		Registry:  &r,
	}
}

// A learner of one's own evolves with a registry of its own.
func TestCustomTrainee(t *testing.T) {
	e, err := New(customOptions(t))
	must.Do(t, err)
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
	for _, want := range []string{"lr_actor", "batch_size", "param", "activation", "head.add_node", "none"} {
		if !done[want] {
			t.Errorf("never %s: %v", want, done)
		}
	}
	if len(shapes) < 4 {
		t.Errorf("only %v", shapes)
	}
}

func TestOptionsRefused(t *testing.T) {
	for want, set := range map[string]func(o *Options){
		"EvalSteps is -1":              func(o *Options) { o.EvalSteps = -1 },
		"with a negative Measure.Eval": func(o *Options) { o.EvalSteps = 1 },
		"Checkpoint is -1":             func(o *Options) { o.Checkpoint = -1 },
		"without a checkpoint_path":    func(o *Options) { o.Checkpoint = 1 },
		"without an elite_path":        func(o *Options) { o.SaveElite = true },
		"New is nil":                   func(o *Options) { o.New = nil },
		"Mutations.RLHP is -1":         func(o *Options) { o.Mutations.RLHP = -1 },
		"0 of 0 groups":                func(o *Options) { o.Registry.Groups = nil },
		"give a Registry that says":    func(o *Options) { o.Registry = nil },
		"needs trainees with a method LimitEvalua": func(o *Options) {
			o.Measure.EvaluationEpisodes, o.EvalSteps = 1, 10
		},
		"a method EvaluateMetrics": func(o *Options) { o.Measure.EvaluationEpisodes = 1 },
		`no hyperparameter "lr_acto"`: func(o *Options) {
			o.Mutations.Hyperparameters = HyperparameterConfig{"lr_acto": {Min: 1, Max: 2}}
		},
		"building failed": func(o *Options) {
			o.New = func(pbt.Member) (pbt.Trainee, error) { return nil, errors.New("building failed") }
		},
	} {
		o := customOptions(t)
		set(&o)
		if e, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if err == nil {
				e.Close()
			}
		}
	}
}
