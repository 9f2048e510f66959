package evolution

import (
	"cmp"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// tournamentSection is the section selection_strategy, unless strategy is multi_frequency.
type tournamentSection struct {
	// Strategy is the way to select.
	Strategy            string `yaml:"strategy" config:"oneof=tournament|multi_frequency"`
	strategy.Tournament `yaml:",inline"`
}

func tournamentDefaults() tournamentSection {
	return tournamentSection{"tournament", strategy.DefaultTournament()}
}

// multiFrequencySection is the section selection_strategy where strategy is multi_frequency.
type multiFrequencySection struct {
	// Strategy is the way to select.
	Strategy string `yaml:"strategy" config:"oneof=tournament|multi_frequency"`
	// Subpopulations is the number of subpopulations.
	Subpopulations int `yaml:"n_subpopulations" config:"min=1"`
	// Individuals is the number of members of each; 0 divides training.pop_size.
	Individuals int `yaml:"n_individuals_per_subpopulation" config:"min=3"`
	// Ratios are the numbers of generations between the actions of each, ascending; empty is 1, 5, 10, 15, ...
	//
	// Larger ones judge over longer horizons.
	Ratios []int `yaml:"evolution_frequency_ratios" config:"min=1"`
	// Winners, Survivors, Open and Losers are the sizes of brackets. Default: a quarter winners, a quarter open, no
	// survivors, the rest losers.
	//
	// More losers select harder.
	Winners   *int `yaml:"n_winners" config:"min=0"`
	Survivors *int `yaml:"n_survivors" config:"min=0"`
	Open      *int `yaml:"n_open_for_migration" config:"min=0"`
	Losers    *int `yaml:"n_losers" config:"min=0"`
	// RandSeed does nothing: one seed decides everything.
	RandSeed *int64 `yaml:"rand_seed" config:"min=0"`
	// EvalLoop is the number of last fitnesses whose mean ranks a member.
	//
	// More are less noisy and react later.
	EvalLoop int `yaml:"eval_loop" config:"min=1"`
}

func multiFrequencyDefaults() multiFrequencySection {
	return multiFrequencySection{Strategy: "multi_frequency", Subpopulations: 2, EvalLoop: 1}
}

// selection sets s.Options.Strategy from the section selection_strategy, whose keys depend on its key strategy.
func (f *manifest) selection(s *Settings) error {
	if f.Selection["strategy"] == "multi_frequency" {
		return f.multiFrequency(s)
	}
	x := tournamentDefaults()
	err := config.Under("evolution", "selection_strategy", config.Merge(&x, f.Selection, config.Options{}))
	f.Selection = config.Dict(x)
	x.MutateElite, x.Tournament.Strict = f.Mutation.MutateElite, f.Strict
	s.Options.Strategy = x.Tournament
	return err
}

// multiFrequency is selection for MF-PBT. n_individuals_per_subpopulation sets the population's size.
func (f *manifest) multiFrequency(s *Settings) error {
	x := multiFrequencyDefaults()
	open := map[string]config.Alias{"n_open": {Key: "n_open_for_migration"}}
	if err := config.Merge(&x, f.Selection, config.Options{Aliases: open}); err != nil {
		return config.Under("evolution", "selection_strategy", err)
	}
	if x.RandSeed != nil {
		s.Notes = append(s.Notes,
			"selection_strategy.rand_seed does nothing: seed, or mutation.rand_seed, makes all decisions")
	}
	f.Selection = config.Dict(x)
	members := &s.Options.Members
	if x.Individuals > 0 {
		*members = x.Individuals * x.Subpopulations
	}
	m := strategy.MultiFrequency{Subpopulations: x.Subpopulations, Ratios: x.Ratios, EvalLoop: x.EvalLoop,
		Strict: f.Strict}
	if x.Winners != nil || x.Survivors != nil || x.Open != nil || x.Losers != nil {
		b, err := m.Brackets(*members)
		if err != nil {
			return err
		}
		m.Winners, m.Survivors, m.Open = *cmp.Or(x.Winners, &b.Winners), *cmp.Or(x.Survivors, &b.Survivors),
			*cmp.Or(x.Open, &b.Open)
		rest := max(0, *members/x.Subpopulations-m.Winners-m.Survivors-m.Open)
		m.Losers = *cmp.Or(x.Losers, &rest)
	}
	s.Options.Strategy = m
	return m.ValidateMembers(*members)
}
