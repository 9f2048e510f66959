package preset

// This file holds the presets of Isaac Lab and IsaacGymEnvs, which share their rules and the names of rl_games. In
// the originals a member that copies another restarts its process with new arguments; here it goes on in the same
// process. start_after and settle_mutations stand for what the restart does to IsaacGymEnvs' step counts.

import (
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// isaacLab are the keys of Isaac Lab's block pbt, with gorl's.
type isaacLab struct {
	shared  `yaml:",inline"`
	chances `yaml:",inline"`

	// Enabled false lets the members train without decisions, as independent runs (strategy.Never). The original's
	// default is false.
	Enabled bool `yaml:"enabled"`
	// Objective is the figure to judge by.
	Objective string `yaml:"objective"`
	// IntervalSteps is the number of environment steps between decisions.
	IntervalSteps int64 `yaml:"interval_steps" config:"min=1"`
	// ThresholdStd is the margin around the mean as a multiple of the objectives' standard deviation. A larger margin
	// replaces fewer members.
	//
	// Raise it where the objective is noisy, so that luck decides less; lower it where members lie close together and
	// too few are replaced.
	ThresholdStd float64 `yaml:"threshold_std" config:"min=0"`
	// ThresholdAbs is the least margin, in units of the objective.
	ThresholdAbs float64 `yaml:"threshold_abs" config:"min=0"`
	// MutationRate is the probability that a key with a rule is mutated, each on its own; 0 mutates nothing.
	MutationRate float64 `yaml:"mutation_rate" config:"min=0,max=1"`
	// ChangeRange are the least and greatest factor of change.
	ChangeRange []float64 `yaml:"change_range" config:"min=1,minlen=2,maxlen=2"`
	// Mutation names a rule for every hyperparameter that may change.
	Mutation map[string]string `yaml:"mutation"`
	// Launcher is accepted and does nothing: gorl's launcher starts members again.
	Launcher string `yaml:"launcher"`
	// InitialDelay is the number of a member's own environment steps before which it is neither replaced nor mutated, so that
	// members have time to differ (gorl's own).
	InitialDelay int64 `yaml:"initial_delay" config:"min=0"`
	// Diversify mutates the hyperparameters of all members before training (gorl's own).
	Diversify bool `yaml:"diversify"`
}

// defaultIsaacLab holds the original's defaults but for Enabled: who writes a section pbt: wants it. Directory is
// empty, which is the working folder.
func defaultIsaacLab() isaacLab {
	c := isaacLab{
		shared: sharedDefaults(), Enabled: true, Objective: "Episode_Reward/success", IntervalSteps: 100_000, ThresholdStd: 0.1, ThresholdAbs: 0.05,
		MutationRate: 0.25, ChangeRange: []float64{1.1, 2},
	}
	c.Directory = ""
	return c
}

// chances are gorl's additions to the mutations of the Isaac systems.
type chances struct {
	// Resample is the probability that a key that is mutated is drawn anew from its parameter's sample or choices.
	Resample float64 `yaml:"resample_probability" config:"min=0,max=1"`
	// Reset is the probability that a key that is mutated goes back to its parameter's default.
	Reset float64 `yaml:"reset_probability" config:"min=0,max=1"`
}

// readIsaacLab turns the section into settings: first the keys that all presets share, then Isaac Lab's own.
func readIsaacLab(f *file) (*Settings, error) {
	c := defaultIsaacLab()
	if err := readSection(f, &c); err != nil {
		return nil, err
	}
	var p problems
	s := c.shared.settings(f, rlGames, &p)
	s.Enabled = c.Enabled
	s.idle(f, "launcher", "members are started again by gorl's launcher")
	o := &s.Options
	o.Objective, o.IntervalSteps, o.InitialDelay, o.Diversify = c.Objective, c.IntervalSteps, c.InitialDelay, c.Diversify
	o.Strategy = c.limited(strategy.IsaacLab{ThresholdStd: c.ThresholdStd, ThresholdAbs: c.ThresholdAbs, Strict: f.Strict})
	o.Explore = c.chances.mutation(&c.shared, f, s, c.MutationRate, c.ChangeRange, c.Mutation, &p)
	if c.Objective == "" {
		p.wrong("objective", c.Objective, "want the name of a figure, e.g. episode.return")
	}
	return s, p.err()
}

// mutation makes the explorer of both Isaac systems. rules are by the names of the file; they are renamed to gorl's,
// and completed by the file's bounds and parameters. A rate of 0 means 0 here, while explore.Mutation takes 0 for its
// default, so the whole mutation is left empty.
func (c chances) mutation(add *shared, f *file, s *Settings, rate float64, change []float64, rules map[string]string, p *problems) explore.Mutation {
	byName := make(map[string]explore.Rule)
	for _, key := range sorted(rules) {
		byName[key] = ruleOf("mutation."+key, rules[key], p)
	}
	if change[0] > change[1] {
		p.wrong("change_range", change, "want two factors of at least 1 in ascending order")
	}
	renamed, _ := rename(f, rlGames, "mutation", byName, p, &s.Notes)
	m := explore.Mutation{Rate: rate, ChangeRange: [2]float64{change[0], change[1]}, Rules: renamed, Resample: c.Resample, Reset: c.Reset}
	m = add.mutation(f, rlGames, s, m, p)
	switch {
	case rate == 0:
		s.Notes = append(s.Notes, "pbt.mutation_rate is 0: nothing is mutated, hyperparameters are handed on as they are")
		m = explore.Mutation{}
	case len(m.Keys()) == 0:
		s.Notes = append(s.Notes, "pbt.mutation names nothing that can change: hyperparameters are handed on as they are")
	}
	return m
}

// isaacGymEnvs are the keys of IsaacGymEnvs' group pbt, with gorl's.
type isaacGymEnvs struct {
	shared  `yaml:",inline"`
	chances `yaml:",inline"`

	// Enabled false lets the members train without decisions, as independent runs (strategy.Never).
	Enabled bool `yaml:"enabled"`
	// DebugMode counts all members among the worst; neither a peak nor too few objectives protect them then.
	DebugMode bool `yaml:"dbg_mode"`
	// IntervalSteps is the number of environment steps between decisions.
	IntervalSteps int64 `yaml:"interval_steps" config:"min=1"`
	// InitialDelay is the number of a member's own environment steps before which it is neither replaced nor mutated.
	InitialDelay int64 `yaml:"initial_delay" config:"min=0"`
	// ReplaceFractionWorst and ReplaceFractionBest are the shares of the population, rounded up, that are worst and best.
	ReplaceFractionWorst float64 `yaml:"replace_fraction_worst" config:"min=0,max=1"`
	ReplaceFractionBest  float64 `yaml:"replace_fraction_best" config:"min=0,max=1"`
	// ReplaceThresholdFracStd is the least gap as a multiple of the spread of objectives.
	ReplaceThresholdFracStd float64 `yaml:"replace_threshold_frac_std" config:"min=0"`
	// ReplaceThresholdFracAbs is the least gap as a fraction of the better objective without its sign.
	ReplaceThresholdFracAbs float64 `yaml:"replace_threshold_frac_absolute" config:"min=0"`
	// MutationRate is the probability that a key with a rule is mutated, each on its own; 0 mutates nothing.
	MutationRate float64 `yaml:"mutation_rate" config:"min=0,max=1"`
	// ChangeMin and ChangeMax are the least and greatest factor of change.
	ChangeMin float64 `yaml:"change_min" config:"min=1"`
	ChangeMax float64 `yaml:"change_max" config:"min=1"`
	// Mutation names a rule for every hyperparameter that may change.
	Mutation map[string]string `yaml:"mutation"`
	// Objective is the figure to judge by (gorl's own; the original always has this one).
	Objective string `yaml:"objective"`
	// Diversify mutates the hyperparameters of all members before training (gorl's own key for what the original always
	// does).
	Diversify bool `yaml:"diversify"`
}

// defaultIsaacGymEnvs holds the original's defaults, and as gorl's keys what the original always does.
func defaultIsaacGymEnvs() isaacGymEnvs {
	c := isaacGymEnvs{
		shared: sharedDefaults(), Enabled: true, IntervalSteps: 10_000_000, InitialDelay: 20_000_000,
		ReplaceFractionWorst: 0.125, ReplaceFractionBest: 0.3, ReplaceThresholdFracStd: 0.5, ReplaceThresholdFracAbs: 0.05,
		MutationRate: 0.15, ChangeMin: 1.1, ChangeMax: 1.5, Mutation: defaultMutation(), Objective: "true_objective", Diversify: true,
	}
	c.StartAfter, c.SettleMutations = 10_000_000, true // a mutated process starts anew, and with it the count
	return c
}

// defaultMutation is IsaacGymEnvs' group of that name.
func defaultMutation() map[string]string {
	group := make(map[string]string)
	for name, rule := range map[string]string{
		"reward_shaper.scale_value": "mutate_float", "learning_rate": "mutate_float", "grad_norm": "mutate_float", "entropy_coef": "mutate_float",
		"critic_coef": "mutate_float", "bounds_loss_coef": "mutate_float", "e_clip": "mutate_eps_clip", "mini_epochs": "mutate_mini_epochs", "gamma": "mutate_discount",
	} {
		group["train.params.config."+name] = rule
	}
	return group
}

// readIsaacGymEnvs turns the section into settings, as readIsaacLab does.
func readIsaacGymEnvs(f *file) (*Settings, error) {
	c := defaultIsaacGymEnvs()
	if err := readSection(f, &c); err != nil {
		return nil, err
	}
	var p problems
	s := c.shared.settings(f, rlGames, &p)
	s.Enabled = c.Enabled
	o := &s.Options
	o.Objective, o.IntervalSteps, o.InitialDelay, o.Diversify = c.Objective, c.IntervalSteps, c.InitialDelay, c.Diversify
	o.Strategy = c.limited(strategy.IsaacGymEnvs{
		ReplaceFractionWorst: c.ReplaceFractionWorst, ReplaceFractionBest: c.ReplaceFractionBest, ThresholdFracStd: c.ReplaceThresholdFracStd,
		ThresholdFracAbsolute: c.ReplaceThresholdFracAbs, Debug: c.DebugMode, Strict: f.Strict,
	})
	if c.ChangeMin > c.ChangeMax {
		p.wrong("change_min", c.ChangeMin, "want at most change_max, which is %v", c.ChangeMax)
		c.ChangeMax = c.ChangeMin
	}
	o.Explore = c.chances.mutation(&c.shared, f, s, c.MutationRate, []float64{c.ChangeMin, c.ChangeMax}, c.Mutation, &p)
	if c.Objective == "" {
		p.wrong("objective", c.Objective, "want the name of a figure, e.g. true_objective")
	}
	return s, p.err()
}

// quoted lists names in quotation marks, for messages.
func quoted(names []string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = strconv.Quote(n)
	}
	return strings.Join(words, ", ")
}
