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

// isaac are the keys that Isaac Lab and IsaacGymEnvs have in common, with gorl's.
type isaac struct {
	shared `yaml:",inline"`

	// Enabled false trains the members as independent runs (strategy.Never). Isaac Lab's own default is false.
	Enabled bool `yaml:"enabled"`
	// Objective is the figure to judge by (of IsaacGymEnvs gorl's own key).
	Objective string `yaml:"objective"`
	// IntervalSteps is the number of environment steps between decisions.
	IntervalSteps int64 `yaml:"interval_steps" config:"min=1"`
	// InitialDelay is the number of own environment steps before which a member is neither replaced nor mutated (of
	// Isaac Lab gorl's own key).
	InitialDelay int64 `yaml:"initial_delay" config:"min=0"`
	// MutationRate is the probability of mutation of each key with a rule.
	MutationRate float64 `yaml:"mutation_rate" config:"min=0,max=1"`
	// Mutation maps hyperparameters to rules.
	Mutation map[string]string `yaml:"mutation"`
	// Diversify mutates all members before training, as IsaacGymEnvs always does.
	Diversify bool `yaml:"diversify"`
	// Resample is the probability that a mutated key is drawn from its parameter's sample or choices (gorl's own).
	Resample float64 `yaml:"resample_probability" config:"min=0,max=1"`
	// Reset is the probability that a mutated key returns to its parameter's default (gorl's own).
	Reset float64 `yaml:"reset_probability" config:"min=0,max=1"`
}

// isaacLab are the keys of Isaac Lab's block pbt, with gorl's.
type isaacLab struct {
	isaac             `yaml:",inline"`
	strategy.IsaacLab `yaml:",inline"`
	// ChangeRange are the least and greatest factor.
	ChangeRange []float64 `yaml:"change_range" config:"min=1,minlen=2,maxlen=2"`
	// Launcher does nothing: gorl's launcher restarts members.
	Launcher string `yaml:"launcher"`
}

// defaultIsaacLab holds the original's defaults but for Enabled: who writes a section pbt: wants it. Directory is
// empty, which is the working folder.
func defaultIsaacLab() isaacLab {
	c := isaacLab{
		isaac: isaac{
			shared: sharedDefaults(), Enabled: true, Objective: "Episode_Reward/success", IntervalSteps: 100_000,
			MutationRate: 0.25,
		},
		IsaacLab: strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.05}, ChangeRange: []float64{1.1, 2},
	}
	c.Directory = ""
	return c
}

// readIsaacLab turns the section into settings: first the keys that all presets share, then Isaac Lab's own.
func readIsaacLab(f *file) (*Settings, error) {
	c := defaultIsaacLab()
	if err := readSection(f, &c); err != nil {
		return nil, err
	}
	var p problems
	s := c.isaac.settings(f, &p)
	s.idle(f, "launcher", "members are started again by gorl's launcher")
	c.Strict = f.Strict
	s.Options.Strategy = c.limited(c.IsaacLab)
	c.explore(f, s, c.ChangeRange, "episode.return", &p)
	return s, p.err()
}

// settings are those of the keys that both Isaac systems have, but for the strategy and the explorer.
func (c *isaac) settings(f *file, p *problems) *Settings {
	s := c.shared.settings(f, rlGames, p)
	s.Enabled = c.Enabled
	o := &s.Options
	o.Objective, o.IntervalSteps, o.InitialDelay, o.Diversify = c.Objective, c.IntervalSteps, c.InitialDelay,
		c.Diversify
	return s
}

// explore sets the explorer. The rules are by the names of the file; they are renamed to gorl's, and completed by the
// file's bounds and parameters. change is the range of factors, and usual an objective to name where the file has an
// empty one. A rate of 0 means 0 here, while explore.Mutation takes 0 for its default, so the whole mutation is left
// empty.
func (c *isaac) explore(f *file, s *Settings, change []float64, usual string, p *problems) {
	byName := make(map[string]explore.Rule)
	for _, key := range sorted(c.Mutation) {
		byName[key] = ruleOf("mutation."+key, c.Mutation[key], p)
	}
	if change[0] > change[1] {
		p.wrong("change_range", change, "want two factors of at least 1 in ascending order")
	}
	renamed, _ := rename(f, rlGames, "mutation", byName, p, &s.Notes)
	m := explore.Mutation{Rate: c.MutationRate, ChangeRange: [2]float64(change), Rules: renamed,
		Resample: c.Resample, Reset: c.Reset}
	m = c.mutation(f, rlGames, s, m, p)
	switch {
	case c.MutationRate == 0:
		s.Notes = append(s.Notes,
			"pbt.mutation_rate is 0: nothing is mutated, hyperparameters are handed on as they are")
		m = explore.Mutation{}
	case len(m.Keys()) == 0:
		s.Notes = append(s.Notes,
			"pbt.mutation names nothing that can change: hyperparameters are handed on as they are")
	}
	s.Options.Explore = m
	if c.Objective == "" {
		p.wrong("objective", c.Objective, "want the name of a figure, e.g. %s", usual)
	}
}

// isaacGymEnvs are the keys of IsaacGymEnvs' group pbt, with gorl's.
type isaacGymEnvs struct {
	isaac                 `yaml:",inline"`
	strategy.IsaacGymEnvs `yaml:",inline"`
	// ChangeMin and ChangeMax are the least and greatest factor.
	ChangeMin float64 `yaml:"change_min" config:"min=1"`
	ChangeMax float64 `yaml:"change_max" config:"min=1"`
}

// defaultIsaacGymEnvs holds the original's defaults, and as gorl's keys what the original always does.
func defaultIsaacGymEnvs() isaacGymEnvs {
	c := isaacGymEnvs{
		isaac: isaac{
			shared: sharedDefaults(), Enabled: true, Objective: "true_objective", IntervalSteps: 10_000_000,
			InitialDelay: 20_000_000, MutationRate: 0.15, Mutation: defaultMutation(), Diversify: true,
		},
		IsaacGymEnvs: strategy.DefaultIsaacGymEnvs(), ChangeMin: 1.1, ChangeMax: 1.5,
	}
	c.StartAfter, c.SettleMutations = 10_000_000, true // a mutated process starts again, and with it the count
	return c
}

// defaultMutation is IsaacGymEnvs' group of that name.
func defaultMutation() map[string]string {
	group := make(map[string]string)
	for name, rule := range map[string]string{
		"reward_shaper.scale_value": "mutate_float", "learning_rate": "mutate_float", "grad_norm": "mutate_float",
		"entropy_coef": "mutate_float", "critic_coef": "mutate_float", "bounds_loss_coef": "mutate_float",
		"e_clip": "mutate_eps_clip", "mini_epochs": "mutate_mini_epochs", "gamma": "mutate_discount",
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
	s := c.isaac.settings(f, &p)
	c.Strict = f.Strict
	s.Options.Strategy = c.limited(c.IsaacGymEnvs)
	if c.ChangeMin > c.ChangeMax {
		p.wrong("change_min", c.ChangeMin, "want at most change_max, which is %v", c.ChangeMax)
		c.ChangeMax = c.ChangeMin
	}
	c.explore(f, s, []float64{c.ChangeMin, c.ChangeMax}, "true_objective", &p)
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
