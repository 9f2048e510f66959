package evolution

import (
	"maps"

	"github.com/gorl-dev/gorl/internal/config"
)

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
		Selection struct {
			Size     int  `yaml:"tournament_size" config:"min=1"`
			Elitism  bool `yaml:"elitism"`
			EvalLoop int  `yaml:"eval_loop" config:"min=1"`
		} `yaml:"selection_strategy"`
	}{}
	t.Selection.Size, t.Selection.Elitism, t.Selection.EvalLoop = 2, true, 1
	if err := config.Merge(&t, map[string]any{"selection_strategy": rest}, config.Options{Prefix: "evolution"}); err != nil {
		return err
	}
	s.Options.Selection = Tournament{TournamentSize: t.Selection.Size, Elitism: t.Selection.Elitism, EvalLoop: t.Selection.EvalLoop, MutateElite: f.Mutation.MutateElite, Strict: f.Strict}
	return nil
}

// multiFrequency reads the section where it is of MF-PBT.
func (f *manifest) multiFrequency(s *Settings, rest map[string]any) error {
	t := struct {
		Selection struct {
			Subpopulations int    `yaml:"n_subpopulations" config:"min=1"`
			Individuals    int    `yaml:"n_individuals_per_subpopulation" config:"min=3"`
			Ratios         []int  `yaml:"evolution_frequency_ratios" config:"min=1"`
			Winners        *int   `yaml:"n_winners" config:"min=0"`
			Survivors      *int   `yaml:"n_survivors" config:"min=0"`
			Open           *int   `yaml:"n_open_for_migration" config:"min=0"`
			Losers         *int   `yaml:"n_losers" config:"min=0"`
			RandSeed       *int64 `yaml:"rand_seed" config:"min=0"`
			EvalLoop       int    `yaml:"eval_loop" config:"min=1"`
		} `yaml:"selection_strategy"`
	}{}
	x := &t.Selection
	x.Subpopulations, x.EvalLoop = 2, 1
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
	m := MultiFrequency{Subpopulations: x.Subpopulations, Ratios: x.Ratios, EvalLoop: x.EvalLoop, Strict: f.Strict}
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
