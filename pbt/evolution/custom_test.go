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
	type change = func(o *Options, s *checkpoint.Snapshot)
	options := func(f func(o *Options)) change { return func(o *Options, _ *checkpoint.Snapshot) { f(o) } }
	mutations := func(f func(m *Mutations)) change {
		return func(o *Options, _ *checkpoint.Snapshot) { f(o.Mutations) }
	}
	registry := func(f func(r *Registry)) change { return func(o *Options, _ *checkpoint.Snapshot) { f(o.Registry) } }
	tuned := func(name string, p RLParameter) change {
		return mutations(func(m *Mutations) { m.Hyperparameters = HyperparameterConfig{name: p} })
	}
	limited := func(network string, l Limits) change {
		return mutations(func(m *Mutations) { m.NetworkLimits = map[string]Limits{network: l} })
	}
	for want, set := range map[string]change{
		"EvalSteps is -1":              options(func(o *Options) { o.EvalSteps = -1 }),
		"with a negative Measure.Eval": options(func(o *Options) { o.EvalSteps = 1 }),
		"Checkpoint is -1":             options(func(o *Options) { o.Checkpoint = -1 }),
		"without a checkpoint_path":    options(func(o *Options) { o.Checkpoint = 1 }),
		"without an elite_path":        options(func(o *Options) { o.SaveElite = true }),
		"New is nil":                   options(func(o *Options) { o.New = nil }),
		"give a Registry that says":    options(func(o *Options) { o.Registry = nil }),
		"needs trainees with a method LimitEvalua": options(func(o *Options) {
			o.Measure.EvaluationEpisodes, o.EvalSteps = 1, 10
		}),
		"a method EvaluateMetrics": options(func(o *Options) { o.Measure.EvaluationEpisodes = 1 }),
		"building failed": options(func(o *Options) {
			o.New = func(pbt.Member) (pbt.Trainee, error) { return nil, errors.New("building failed") }
		}),
		"Architecture is -1":             mutations(func(m *Mutations) { m.Architecture = -1 }),
		"all weights of mutations are 0": mutations(func(m *Mutations) { *m = Mutations{} }),
		"NewLayerProb is 1.5":            mutations(func(m *Mutations) { m.NewLayerProb = 1.5 }),
		"MutationSD is -0.1":             mutations(func(m *Mutations) { m.MutationSD = -0.1 }),
		"ActivationSelection: ":          mutations(func(m *Mutations) { m.ActivationSelection = []string{"swiss"} }),
		"ActivationSelection is empty":   mutations(func(m *Mutations) { m.ActivationSelection = []string{} }),
		`did you mean "overlap"?`:        mutations(func(m *Mutations) { m.Preserve = "overlaps" }),
		"Limits: hidden layers are 3 to 1": mutations(func(m *Mutations) {
			m.Limits = Limits{MinLayers: 3, MaxLayers: 1}
		}),
		"limits of critic":               limited("critic", Limits{MinLayers: -1}),
		`did you mean "critic"?`:         limited("critc", DefaultLimits()),
		`hyperparameter "learning"`:      tuned("learning", RLParameter{}),
		"grow_factor is 0.9":             tuned("tau", RLParameter{Min: 1, Max: 2, GrowFactor: 0.9}),
		"shrink_factor is 1.5":           tuned("tau", RLParameter{Min: 1, Max: 2, ShrinkFactor: 1.5}),
		`dtype is "text"`:                tuned("tau", RLParameter{Min: 1, Max: 2, Kind: "text"}),
		"must be whole":                  tuned("tau", RLParameter{Min: 0.5, Max: 2, Kind: KindInt}),
		`"tau" is not in the registry`:   tuned("tau", RLParameter{Min: 0.1, Max: 1}),
		`no hyperparameter "gamma"`:      tuned("gamma", RLParameter{Min: 0.1, Max: 1}),
		`0 of 2 groups are the policy's`: registry(func(r *Registry) { r.Groups[0].Policy = false }),
		`2 of 2 groups are the policy's`: registry(func(r *Registry) { r.Groups[1].Policy = true }),
		`"critic" is named twice`:        registry(func(r *Registry) { r.Groups[0].Shared = []string{"critic"} }),
		`did you mean "actor"?`: registry(func(r *Registry) {
			r.Groups[0].Name, r.Optimizers = "acto", nil
		}),
		`"target_critic" has an architecture`:  registry(func(r *Registry) { r.Groups[1].Shared = nil }),
		`no optimizer "adam"`:                  registry(func(r *Registry) { r.Optimizers[0].Name = "adam" }),
		`trains "actr", which is in no group`:  registry(func(r *Registry) { r.Optimizers[0].Networks[0] = "actr" }),
		`members have no hyperparameter "lr_"`: registry(func(r *Registry) { r.Optimizers[0].LearningRate = "lr_" }),
		`shared with "actor", but its arrays are others`: registry(func(r *Registry) {
			r.Groups[0].Shared = append(r.Groups[0].Shared, "absent")
		}),
		`a network is named "a/b"`: registry(func(r *Registry) { r.Groups[1].Name = "a/b" }),
		"(arch_mut, act_mut) a weight of 0": func(_ *Options, s *checkpoint.Snapshot) {
			delete(s.Values, "architectures")
		},
		"(params_mut) a weight of 0": func(_ *Options, s *checkpoint.Snapshot) {
			maps.DeleteFunc(s.Arrays, func(name string, _ checkpoint.Array) bool {
				return strings.Contains(name, "actor/head") && strings.HasSuffix(name, ".weight") &&
					!strings.Contains(name, "adam")
			})
		},
	} {
		o, snap := customOptions(t)
		set(&o, snap)
		e, err := New(o)
		if must.RefuseAs(t, want, err, want); err == nil {
			e.Close()
		}
	}
}
