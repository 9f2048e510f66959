package preset

// This file holds the preset of Ray Tune's schedulers PopulationBasedTraining and PB2. It differs from the other
// presets in two ways: values come from distributions, so that members begin with different ones, and Ray counts
// intervals in any attribute of its results (seconds by default) where gorl counts environment steps, so that a run
// can be repeated.

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// rayTune are the arguments of Ray Tune's schedulers PopulationBasedTraining and PB2, with gorl's keys.
type rayTune struct {
	shared `yaml:",inline"`

	// Enabled false trains the members as independent runs (strategy.Never; gorl's own).
	Enabled bool `yaml:"enabled"`
	// TimeAttr names the unit of intervals, which must be environment steps: "timesteps_total",
	// "num_env_steps_sampled", "num_env_steps_sampled_lifetime", "num_env_steps_trained" or "env_steps". The
	// original's default is refused.
	TimeAttr string `yaml:"time_attr"`
	// Metric is the figure to judge by; required.
	Metric string `yaml:"metric"`
	// Mode says whether higher (max) or lower (min) is better; required.
	Mode string `yaml:"mode" config:"oneof=|min|max"`
	// PerturbationInterval is the number of environment steps between decisions.
	PerturbationInterval float64 `yaml:"perturbation_interval" config:"gt=0"`
	// BurnInPeriod is the number of own environment steps before which a member is neither replaced nor mutated.
	BurnInPeriod float64 `yaml:"burn_in_period" config:"min=0"`
	// HyperparamMutations are choices or distributions by name: a list, {uniform: [0.1, 1]} or "loguniform(1e-5,
	// 1e-3)" (also randint, lograndint, qrandint, choice). First values are drawn from them.
	HyperparamMutations map[string]any `yaml:"hyperparam_mutations"`
	// HyperparamBounds are the ranges of PB2 (Ray Tune's rule), by name: [least, greatest]. They exclude
	// HyperparamMutations.
	HyperparamBounds  map[string]span `yaml:"hyperparam_bounds"`
	strategy.Quantile `yaml:",inline"`
	// ResampleProbability is the probability that a key is drawn instead of multiplied.
	//
	// Raise it to search more widely.
	ResampleProbability float64 `yaml:"resample_probability" config:"min=0,max=1"`
	// PerturbationFactors are the two factors, equally likely, of other keys.
	PerturbationFactors []float64 `yaml:"perturbation_factors" config:"gt=0,minlen=2,maxlen=2"`
	// CustomExploreFn is refused: set Constrain of Options.Explore in the program.
	CustomExploreFn any `yaml:"custom_explore_fn"`
	// Synch is synchronous. For members of one process, false in Ray Tune is asynchronous: true.
	Synch bool `yaml:"synch"`
	// LogConfig does nothing: the journal records every decision.
	LogConfig bool `yaml:"log_config"`
	// RequireAttrs does nothing: a metric that no member reports is an error.
	RequireAttrs bool `yaml:"require_attrs"`
}

// defaultRayTune holds the original's defaults. That of time_attr is refused later, so that a file must say that it
// counts steps.
func defaultRayTune() rayTune {
	c := rayTune{
		shared: sharedDefaults(), Enabled: true, TimeAttr: "time_total_s", PerturbationInterval: 60,
		Quantile: strategy.DefaultQuantile(), ResampleProbability: 0.25, PerturbationFactors: []float64{1.2, 0.8},
		LogConfig:    true,
		RequireAttrs: true,
	}
	c.NumPolicies = 4
	return c
}

// stepAttrs are the names under which Ray's results count environment steps.
var stepAttrs = []string{"timesteps_total", "num_env_steps_sampled", "num_env_steps_sampled_lifetime",
	"num_env_steps_trained", "env_steps"}

// readRayTune turns the section into settings. Each check reports its problem and goes on, so that the user sees all
// of them at once.
func readRayTune(f *file) (*Settings, error) {
	c := defaultRayTune()
	if err := readSection(f, &c); err != nil {
		return nil, err
	}
	var p problems
	s := c.shared.settings(f, rllib, &p)
	s.Enabled = c.Enabled
	s.Synchronous = c.Synch || c.Synchronous
	if c.Synch && c.Asynchronous {
		p.wrong("asynchronous", true, "synch is true, which makes members wait for each other; give one of the two")
	}
	o := &s.Options
	if !slices.Contains(stepAttrs, c.TimeAttr) {
		p.add(&config.Error{Prefix: "preset", Path: "pbt.time_attr", Given: c.TimeAttr,
			Nearest: config.Nearest(c.TimeAttr, stepAttrs),
			Reason: "gorl counts environment steps, so that runs can be repeated: want one of " + quoted(stepAttrs) +
				", and perturbation_interval in environment steps"})
	}
	if c.PerturbationInterval != float64(int64(c.PerturbationInterval)) ||
		c.BurnInPeriod != float64(int64(c.BurnInPeriod)) {
		p.wrong("perturbation_interval", c.PerturbationInterval, "want whole numbers of environment steps, for "+
			"burn_in_period too")
	}
	if c.Metric == "" {
		p.wrong("metric", nil, "want the name of a figure, e.g. episode.return")
	}
	switch c.Mode {
	case "":
		p.wrong("mode", nil, "want \"max\" or \"min\"")
	case "min":
		o.Measure.Minimise = true
	case "max":
		if o.Measure.Minimise {
			p.wrong("measure.minimise", true, "mode is \"max\"; give one of the two, or both alike")
		}
	}
	if c.CustomExploreFn != nil {
		p.wrong("custom_explore_fn", c.CustomExploreFn,
			"a file cannot hold a function; set Constrain of Options.Explore in the program instead")
	}
	s.idle(f, "log_config", "the population's journal records every decision")
	s.idle(f, "require_attrs", "a metric that no member reports is always an error")
	o.Objective, o.IntervalSteps, o.InitialDelay = c.Metric, int64(c.PerturbationInterval), int64(c.BurnInPeriod)
	c.Strict = f.Strict
	o.Strategy = c.limited(c.Quantile)
	c.explore(f, s, &p)
	return s, p.err()
}

// explore makes the explorer and draws what members begin with.
func (c *rayTune) explore(f *file, s *Settings, p *problems) {
	o := &s.Options
	if len(c.HyperparamBounds) > 0 {
		c.bandit(f, s, p)
		return
	}
	// Nested mappings are joined by dots first, since gorl's names are flat; then renamed, read and bounded.
	given := make(map[string]any)
	flattenMutations("", c.HyperparamMutations, given)
	parameters := make(map[string]explore.Parameter)
	specs, called := rename(f, rllib, "hyperparam_mutations", given, p, &s.Notes)
	for _, key := range sorted(specs) {
		q, err := distribution(specs[key])
		if err != nil {
			p.wrong("hyperparam_mutations."+called[key], specs[key], "%v", err)
			continue
		}
		parameters[key] = q
	}
	limits, called := rename(f, rllib, "bounds", c.Bounds, p, &s.Notes)
	for _, key := range sorted(limits) {
		b := limits[key]
		q, ok := parameters[key]
		if !ok || len(b) != 2 || !(b[0] <= b[1]) || len(q.Choices) > 0 {
			p.wrong("bounds."+called[key], b, "want the least value, then the greatest, of a distribution in "+
				"hyperparam_mutations")
			continue
		}
		q.Min, q.Max = b[0], b[1]
		parameters[key] = q
	}
	c.complete(f, s, parameters, p)
	if len(parameters) == 0 {
		s.Notes = append(s.Notes,
			"pbt.hyperparam_mutations names nothing that can change: hyperparameters are handed on as they are")
		return
	}
	o.Explore = explore.Perturbation{ResampleProbability: c.ResampleProbability,
		Factors: [2]float64(c.PerturbationFactors), Parameters: parameters, Strict: f.Strict}
	c.begin(f, s, parameters)
}

// complete adds what the file's parameters say. What they leave out stays as the distribution says it.
func (c *rayTune) complete(f *file, s *Settings, parameters map[string]explore.Parameter, p *problems) {
	own := c.shared.parameters(f, rllib, s, p)
	for _, called := range sorted(c.Parameters) {
		key, _, _ := rllib.find(f, called)
		q, ok := own[key]
		if !ok {
			continue
		}
		for _, idle := range []struct {
			key   string
			given bool
		}{{"change_range", q.ChangeRange != [2]float64{}}, {"default", q.Default != nil}} {
			if idle.given {
				s.Notes = append(s.Notes, fmt.Sprintf("pbt.parameters.%s.%s does nothing: values are multiplied by "+
					"perturbation_factors or drawn anew", called, idle.key))
			}
		}
		old := parameters[key]
		if q.Sample == (explore.Range{}) && len(q.Choices) == 0 {
			q.Sample, q.Choices = old.Sample, old.Choices
			q.Rule = cmp.Or(q.Rule, old.Rule) // whole numbers
			q.Step = cmp.Or(q.Step, old.Step)
		}
		if q.Min == 0 && q.Max == 0 {
			q.Min, q.Max = old.Min, old.Max
		}
		if q.Sample == (explore.Range{}) && len(q.Choices) == 0 {
			p.wrong("parameters."+called, f.PBT["parameters"].(map[string]any)[called],
				"want sample or choices in it, or a distribution in hyperparam_mutations, to draw values from")
		}
		parameters[key] = q
	}
}

// bandit makes PB2's explorer.
func (c *rayTune) bandit(f *file, s *Settings, p *problems) {
	switch given := f.PBT["hyperparam_bounds"]; {
	case len(c.HyperparamMutations) > 0:
		p.wrong("hyperparam_bounds", given,
			"PB2 explores within bounds; give hyperparam_bounds or hyperparam_mutations")
		return
	case len(c.Bounds) > 0 || len(c.Parameters) > 0:
		p.wrong("hyperparam_bounds", given, "PB2 takes neither bounds nor parameters beside it")
	}
	for _, key := range []string{"resample_probability", "perturbation_factors"} {
		s.idle(f, key, "PB2 explores with a model")
	}
	o := &s.Options
	bounds := make(map[string]explore.Range)
	parameters := make(map[string]explore.Parameter)
	spans, called := rename(f, rllib, "hyperparam_bounds", c.HyperparamBounds, p, &s.Notes)
	for _, key := range sorted(spans) {
		b := spans[key]
		if b.Low == b.High {
			p.wrong("hyperparam_bounds."+called[key], []float64{b.Low, b.High},
				"want the least value, then a greater one")
			continue
		}
		bounds[key] = b.Range
		parameters[key] = explore.Parameter{Sample: b.Range}
	}
	if len(bounds) > 0 {
		o.Explore = explore.PB2{Bounds: bounds}
		c.begin(f, s, parameters)
	}
}

// begin draws what members begin with where the file does not say it, as Ray does for keys that a member's
// configuration lacks. Ranges are left to Options.Sample; choices and whole numbers, which a range cannot describe,
// are drawn here into Options.Initial, one map a member.
func (c *rayTune) begin(f *file, s *Settings, parameters map[string]explore.Parameter) {
	o := &s.Options
	common := map[string]float64{}
	if len(o.Initial) == 1 {
		common = o.Initial[0]
	}
	drawn := false
	members := make([]map[string]float64, o.Members)
	for i := range members {
		members[i] = maps.Clone(common)
	}
	for _, key := range sorted(parameters) {
		q := parameters[key]
		_, sampled := o.Sample[key]
		if f.initial(s, key) != nil || sampled || strings.HasSuffix(key, "*") {
			continue
		}
		if len(q.Choices) == 0 && q.Rule != explore.Integer {
			o.Sample[key] = q.Sample
			continue
		}
		drawn = true // a Range cannot draw these
		for i := range members {
			rng := rand.New(rand.NewPCG(uint64(o.Seed), keyed(key, i)))
			if len(q.Choices) > 0 {
				members[i][key] = q.Choices[rng.IntN(len(q.Choices))]
			} else {
				members[i][key] = q.Draw(rng)
			}
		}
	}
	if drawn {
		o.Initial = members
	}
}

// flattenMutations joins the keys of nested mappings by dots; a mapping whose only key is a distribution is not nested.
func flattenMutations(prefix string, tree map[string]any, flat map[string]any) {
	for key, v := range tree {
		if sub, ok := v.(map[string]any); ok && !isDistribution(sub) {
			flattenMutations(prefix+key+".", sub, flat)
			continue
		}
		flat[prefix+key] = v
	}
}
