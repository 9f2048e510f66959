package evolution

import (
	"maps"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// tournamentSection is the section selection_strategy, unless strategy is multi_frequency.
type tournamentSection struct {
	// Size is the number of members drawn for a tournament.
	Size int `yaml:"tournament_size" config:"min=1"`
	// Elitism keeps the best member.
	Elitism bool `yaml:"elitism"`
	// EvalLoop is the number of last fitnesses that a member is ranked by the mean of.
	EvalLoop int `yaml:"eval_loop" config:"min=1"`
}

func tournamentDefaults() tournamentSection {
	return tournamentSection{Size: 2, Elitism: true, EvalLoop: 1}
}

// multiFrequencySection is the section selection_strategy where strategy is multi_frequency.
type multiFrequencySection struct {
	// Subpopulations is the number of subpopulations.
	Subpopulations int `yaml:"n_subpopulations" config:"min=1"`
	// Individuals is the number of members of each, in place of training.pop_size. Default (0): by that.
	Individuals int `yaml:"n_individuals_per_subpopulation" config:"min=3"`
	// Ratios say for each how many generations lie between its actions, ascending. Default 1, 5, 10, 15, ...
	Ratios []int `yaml:"evolution_frequency_ratios" config:"min=1"`
	// Winners, Survivors, Open and Losers are the sizes of brackets. Default: a quarter of a subpopulation each for
	// winners and open, no survivors, the rest losers.
	Winners   *int `yaml:"n_winners" config:"min=0"`
	Survivors *int `yaml:"n_survivors" config:"min=0"`
	Open      *int `yaml:"n_open_for_migration" config:"min=0"`
	Losers    *int `yaml:"n_losers" config:"min=0"`
	// RandSeed does nothing: one seed makes all decisions.
	RandSeed *int64 `yaml:"rand_seed" config:"min=0"`
	// EvalLoop is the number of last fitnesses that a member is ranked by the mean of.
	EvalLoop int `yaml:"eval_loop" config:"min=1"`
}

func multiFrequencyDefaults() multiFrequencySection {
	return multiFrequencySection{Subpopulations: 2, EvalLoop: 1}
}

// selection reads the section selection_strategy.
func (f *manifest) selection(s *Settings) error {
	kind := struct {
		Strategy string         `yaml:"strategy" config:"oneof=tournament|multi_frequency"`
		Rest     map[string]any `yaml:"rest"`
	}{Strategy: "tournament"}
	rest := maps.Clone(f.Selection)
	delete(rest, "strategy")
	if given, ok := f.Selection["strategy"]; ok {
		if err := config.Merge(&kind, map[string]any{"strategy": given}, config.Options{Prefix: "evolution: selection_strategy"}); err != nil {
			return err
		}
		if err := config.Check(kind, "evolution: selection_strategy"); err != nil {
			return err
		}
	}
	if kind.Strategy == "multi_frequency" {
		return f.multiFrequency(s, rest)
	}
	t := struct {
		Selection tournamentSection `yaml:"selection_strategy"`
	}{tournamentDefaults()}
	if err := config.Merge(&t, map[string]any{"selection_strategy": rest}, config.Options{Prefix: "evolution"}); err != nil {
		return err
	}
	s.Options.Selection = strategy.Tournament{TournamentSize: t.Selection.Size, Elitism: t.Selection.Elitism, EvalLoop: t.Selection.EvalLoop, MutateElite: f.Mutation.MutateElite, Strict: f.Strict}
	return nil
}

// multiFrequency reads the section where it is of MF-PBT.
func (f *manifest) multiFrequency(s *Settings, rest map[string]any) error {
	t := struct {
		Selection multiFrequencySection `yaml:"selection_strategy"`
	}{multiFrequencyDefaults()}
	x := &t.Selection
	if err := config.Merge(&t, map[string]any{"selection_strategy": rest}, config.Options{Prefix: "evolution", Aliases: map[string]config.Alias{
		"selection_strategy.n_open": {Key: "selection_strategy.n_open_for_migration"},
	}}); err != nil {
		return err
	}
	if x.RandSeed != nil {
		s.Notes = append(s.Notes, "selection_strategy.rand_seed does nothing: seed, or mutation.rand_seed, makes all decisions")
	}
	if x.Individuals > 0 {
		f.Training.PopSize = x.Individuals * x.Subpopulations
	}
	m := strategy.MultiFrequency{Subpopulations: x.Subpopulations, Ratios: x.Ratios, EvalLoop: x.EvalLoop, Strict: f.Strict}
	if x.Winners != nil || x.Survivors != nil || x.Open != nil || x.Losers != nil {
		// What is not given is as by default; losers are the rest.
		b, err := m.Brackets(f.Training.PopSize)
		if err != nil {
			return err
		}
		pick := func(given *int, usual int) int {
			if given != nil {
				return *given
			}
			return usual
		}
		m.Winners, m.Survivors, m.Open = pick(x.Winners, b.Winners), pick(x.Survivors, b.Survivors), pick(x.Open, b.Open)
		m.Losers = pick(x.Losers, max(0, f.Training.PopSize/x.Subpopulations-m.Winners-m.Survivors-m.Open))
	}
	s.Options.Selection = m
	return m.ValidateMembers(f.Training.PopSize)
}
