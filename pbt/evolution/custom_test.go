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

func customOptions(t *testing.T) (Options, *checkpoint.Snapshot) {
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
	}, snap
}

// A learner of one's own evolves with a registry of its own.
func TestCustomTrainee(t *testing.T) {
	o, _ := customOptions(t)
	e := must.Open(New(o))(t)
	must.Get(e.Train(t.Context()))(t)
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

// TestRefused: options, mutations and a registry that do not fit each other, or the members' snapshot, are refused.
func TestRefused(t *testing.T) {
	tuned := func(name string, p RLParameter) func(o *Options) {
		return func(o *Options) { o.Mutations.Hyperparameters = HyperparameterConfig{name: p} }
	}
	for want, set := range map[string]func(o *Options){
		"without a checkpoint_path": func(o *Options) { o.Checkpoint = 1 },
		"give a Registry that says": func(o *Options) { o.Registry = nil },
		"needs trainees with a method LimitEvalua": func(o *Options) {
			o.Measure.EvaluationEpisodes, o.EvalSteps = 1, 10
		},
		"all weights of mutations are 0":   func(o *Options) { *o.Mutations = Mutations{} },
		`"probabilities.new_layer" is 1.5`: func(o *Options) { o.Mutations.NewLayerProb = 1.5 },
		`did you mean "overlap"?`:          func(o *Options) { o.Mutations.Preserve = "overlaps" },
		"Limits: hidden layers are 3 to 1": func(o *Options) {
			o.Mutations.Limits = Limits{MinLayers: 3, MaxLayers: 1}
		},
		`did you mean "critic"?`: func(o *Options) {
			o.Mutations.NetworkLimits = map[string]Limits{"critc": DefaultLimits()}
		},
		"must be whole":                     tuned("tau", RLParameter{Min: 0.5, Max: 2, Kind: KindInt}),
		`"tau" is not in the registry`:      tuned("tau", RLParameter{Min: 0.1, Max: 1}),
		`no hyperparameter "gamma"`:         tuned("gamma", RLParameter{Min: 0.1, Max: 1}),
		`0 of 2 groups are the policy's`:    func(o *Options) { o.Registry.Groups[0].Policy = false },
		`"critic" has an architecture`:      func(o *Options) { o.Registry.Groups = o.Registry.Groups[:1] },
		`no optimizer "adam"`:               func(o *Options) { o.Registry.Optimizers[0].Name = "adam" },
		"(arch_mut, act_mut) a weight of 0": func(*Options) {},
	} {
		o, snap := customOptions(t)
		set(&o)
		if strings.HasPrefix(want, "(arch_mut") {
			delete(snap.Values, "architectures")
		}
		e, err := New(o)
		if must.RefuseAs(t, want, err, want); err == nil {
			e.Close()
		}
	}
}
