package simulate_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/pbt/simulate"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// config is a population that has something to find: a learning rate that begins too small, and should fall in the end.
func config(strategy strategy.Strategy) simulate.Config {
	return simulate.Config{
		Model: simulate.Model{
			Landscapes: map[string]simulate.Landscape{"learning_rate": {Optimum: 3e-3, Drift: -0.5, Width: 0.4}},
			Horizon:    30_000, Forgetting: 0.5, Noise: 0.02, Luck: 0.2,
		},
		Options: pbt.Options{
			Members: 8, IntervalSteps: 5000, TotalSteps: 100_000, Strategy: strategy,
			Explore: explore.Mutation{Rate: 0.8, Rules: explore.Rules{"learning_rate": explore.MutateFloat}},
			Sample:  map[string]explore.Range{"learning_rate": {Low: 1e-5, High: 1e-3, Log: true}},
		},
		Seeds: 12, Seed: 1,
	}
}

func run(t *testing.T, c simulate.Config) *simulate.Result {
	t.Helper()
	r, err := simulate.Run(t.Context(), c)
	must.Do(t, err)
	return r
}

func TestBadThresholdsRankBelowGoodOnes(t *testing.T) {
	good := run(t, config(strategy.IsaacLab{ThresholdStd: 0.5, ThresholdAbs: 0.02})).Summary()
	never := run(t, config(strategy.IsaacLab{ThresholdStd: 100, ThresholdAbs: 0.02})).Summary()
	noisy := config(strategy.IsaacLab{ThresholdStd: 0, ThresholdAbs: 0})
	noisy.Model.Noise = 0.5 // the noise alone decides
	blind := run(t, noisy).Summary()
	noisy.Options.Strategy = strategy.IsaacLab{ThresholdStd: 1, ThresholdAbs: 0}
	seeing := run(t, noisy).Summary()
	if never.Gain != 0 || never.Copies != 0 || never.Lineages != 8 || never.Best != never.ControlBest {
		t.Errorf("thresholds that nobody passes: %+v", never)
	}
	if !(good.Gain > 5*good.Error && good.Gain > 0.05 && good.Wins > 0.8) {
		t.Errorf("good thresholds gain %+v", good)
	}
	if !(good.Best > never.Best && good.Median > never.Median) {
		t.Errorf("good thresholds %+v, bad ones %+v", good, never)
	}
	if !(seeing.Best > blind.Best && seeing.Fraction < blind.Fraction) {
		t.Errorf("much noise: without thresholds %+v, with %+v", blind, seeing)
	}
	if good.ControlBest != never.ControlBest {
		t.Errorf("the control depends on the strategy: %v and %v", good.ControlBest, never.ControlBest)
	}
}

func TestResult(t *testing.T) {
	c := config(strategy.IsaacLab{ThresholdStd: 0.3})
	for i := range 6 { // sums of floating-point numbers depend on their order
		c.Model.Landscapes[fmt.Sprint("key", i)] = simulate.Landscape{Optimum: 0.37 * float64(i+1), Width: 3,
			Start: 0.1 + 0.77*float64(i)}
	}
	r := run(t, c)
	if len(r.Steps) != 20 || r.Steps[0] != 5000 || r.Steps[19] != 100_000 || len(r.Runs) != 12 {
		t.Fatalf("steps %v, %d runs", r.Steps, len(r.Runs))
	}
	for i, o := range r.Runs {
		control, before := r.Controls[i], 8
		if o.Seed != control.Seed || o.Best[0] != control.Best[0] || o.Median[0] != control.Median[0] {
			t.Errorf("run %d differs from its control before anything is decided", i)
		}
		for j := range r.Steps {
			if n := o.Lineages[j]; o.Median[j] > o.Best[j] || n > before || n < 1 || before-n > o.Replaced[j] {
				t.Errorf("run %d, interval %d: median %v, best %v, %d lineages after %d, %d replaced", i, j,
					o.Median[j], o.Best[j], n, before, o.Replaced[j])
			}
			before = o.Lineages[j]
		}
		if o.Replaced[19] != 0 || control.Lineages[19] != 8 || control.SelfMutations != 0 {
			t.Errorf("run %d: %d replaced after the end, control %+v", i, o.Replaced[19], control)
		}
	}
	must.Equal(t, "the result of the same configuration", r, run(t, c))
	c.Seed = 2
	if cmp.Equal(r, run(t, c)) {
		t.Error("another seed gives the same result")
	}
}

func TestMinimise(t *testing.T) {
	up := config(strategy.IsaacLab{ThresholdStd: 0.3})
	down := up
	down.Options.Measure.Minimise, down.Options.Measure.EvaluationEpisodes = true, 5
	down.Model.Offset = 1 // the loss is 1 - skill
	down.Model.Scale = -1
	a, b := run(t, up).Summary(), run(t, down).Summary()
	if math.Abs(a.ControlBest+b.ControlBest-1) > 1e-9 {
		t.Errorf("controls %v and %v", a.ControlBest, b.ControlBest)
	}
	if !(b.Gain > 0.05) || !(b.Best < b.Median) {
		t.Errorf("minimising: %+v", b)
	}
	down.Model.Scale = 1
	must.Refused(simulate.Run(t.Context(), down))(t)
}

func TestLandscapes(t *testing.T) {
	o := pbt.Options{
		Explore: explore.Mutation{
			Rules: explore.Rules{"b": explore.MutateFloat, "discount_factor": explore.MutateDiscount,
				"env.*": explore.MutateFloat},
			Bounds:     map[string][2]float64{"b": {0.5, 2}},
			Parameters: map[string]explore.Parameter{"e": {Rule: explore.Integer, Min: 1, Max: 9}},
		},
		Sample:  map[string]explore.Range{"a": {Low: 1e-5, High: 1e-3, Log: true}},
		Initial: []map[string]float64{{"z": 0, "y": 3}},
	}
	got := simulate.Landscapes(o, 1, -0.2, 0.5)
	want := map[string][2]float64{ // start, optimum
		"a": {1e-4, 1e-3}, "b": {1, 0.5}, "discount_factor": {0.99, 0.999}, "e": {3, 1}, "env.any": {1, 10},
		"y": {3, 0.3},
	}
	if len(got) != len(want) {
		t.Errorf("landscapes of %d hyperparameters, want %d: %+v", len(got), len(want), got)
	}
	for key, w := range want {
		l := got[key]
		if math.Abs(l.Start-w[0]) > 1e-12 || math.Abs(l.Optimum-w[1]) > 1e-12 ||
			l.OneMinus != (key == "discount_factor") || l.Drift != -0.2 {
			t.Errorf("%s: %+v, want start and optimum %v", key, l, w)
		}
	}
	c := config(strategy.IsaacLab{ThresholdStd: 0.3})
	c.Options.Explore, c.Options.Sample, c.Options.Initial = o.Explore, o.Sample, o.Initial
	c.Model.Landscapes, c.Seeds = got, 4
	if s := run(t, c).Summary(); s.Copies == 0 {
		t.Errorf("%+v", s)
	}
}

// Populations of all presets train as their systems' files have them: their options are complete.
func TestPresets(t *testing.T) {
	for name, text := range map[string]string{
		"isaaclab": `{pbt: {interval_steps: 50000000, threshold_std: 0.1, threshold_abs: 0.025,
  mutation: {agent.params.config.learning_rate: mutate_float, agent.params.config.kl_threshold: mutate_float,
  agent.params.config.tau: mutate_discount}}}`,
		"isaacgymenvs":  `{preset: isaacgymenvs, pbt: {interval_steps: 20000000, replace_fraction_worst: 0.3}}`,
		"samplefactory": `{preset: samplefactory, pbt: {with_pbt: true, num_policies: 8, pbt_start_mutation: 5000000}}`,
		"raytune": `{preset: raytune, pbt: {num_policies: 8, time_attr: timesteps_total, metric: loss,
  mode: min, perturbation_interval: 100000, hyperparam_mutations: {lr: "loguniform(1e-5, 1e-2)",
  lambda: "uniform(0.9, 1.0)", sgd_minibatch_size: [64, 128, 256]}}}`,
		"pb2": `{preset: raytune, pbt: {num_policies: 4, time_attr: timesteps_total,
  metric: episode_return, mode: max, perturbation_interval: 100000, hyperparam_bounds: {lr: [1e-5, 1e-2]}}}`,
	} {
		s := must.Get(preset.FromYAML([]byte(text)))(t)
		s.Options.TotalSteps = 12 * s.Options.IntervalSteps
		model := simulate.Model{Landscapes: simulate.Landscapes(s.Options, 0.7, -0.2, 0.5), Noise: 0.01, Luck: 0.3}
		if got := run(t, simulate.Config{Model: model, Options: s.Options, Seeds: 2}).Summary(); got.Copies == 0 {
			t.Errorf("%s: nothing is copied: %+v", name, got)
		}
	}
}

func TestRunRejects(t *testing.T) {
	landscape := func(l simulate.Landscape) func(c *simulate.Config) {
		return func(c *simulate.Config) { c.Model.Landscapes = map[string]simulate.Landscape{"a": l} }
	}
	for name, change := range map[string]func(c *simulate.Config){
		"seeds":      func(c *simulate.Config) { c.Seeds = -1 },
		"too many":   func(c *simulate.Config) { c.Options.IntervalSteps, c.Options.TotalSteps = 1, 1<<40 },
		"noise":      func(c *simulate.Config) { c.Model.Noise = math.NaN() },
		"no optimum": landscape(simulate.Landscape{}),
		"width":      landscape(simulate.Landscape{Optimum: 1, Width: -1}),
		"a bad rule": func(c *simulate.Config) { c.Options.Explore.(explore.Mutation).Rules["learning_rate"] = nil },
	} {
		c := config(strategy.DefaultIsaacLab())
		change(&c)
		must.RefusedAs(simulate.Run(t.Context(), c))(t, name, "simulate: ")
	}
}
