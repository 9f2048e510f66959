package preset

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

func TestTunableAreTheAgents(t *testing.T) {
	must.Equal(t, "tunable settings", slices.Sorted(maps.Keys(new(amp.DefaultConfig()).Tunable())),
		explore.AgentSettings())
	for _, n := range []names{rlGames, sampleFactoryNames, rllib} {
		for theirs, ours := range n.gorl {
			if !slices.Contains(explore.AgentSettings(), ours) {
				t.Errorf("%s stands for %s, which does not exist", theirs, ours)
			}
		}
		for theirs := range n.inert {
			if _, ok := n.gorl[theirs]; ok {
				t.Errorf("%s does something and nothing", theirs)
			}
		}
	}
}

func TestOptionalHyperparameters(t *testing.T) {
	s := must.Get(FromYAML([]byte("{preset: samplefactory, pbt: {parameters: {env.bonus: {rule: perturb_bool}}}}")))(t)
	must.Do(t, s.Options.Explore.Validate([]string{"env.bonus"}))
	if err := s.Options.Explore.Validate([]string{"learning_rate"}); err == nil {
		t.Error("a member without a hyperparameter that the file names is not refused")
	}
}

// A registered preset has its own keys beside gorl's, and build may complete or refuse them.
func TestRegister(t *testing.T) {
	type own struct {
		Margin float64 `yaml:"margin" config:"gt=0"`
		Model  bool    `yaml:"model"`
	}
	build := func(o own) (strategy.Strategy, explore.Explorer, error) {
		switch {
		case o.Margin > 8:
			return nil, nil, errors.New("no such margin")
		case o.Margin > 7:
			panic("a margin above 7")
		case o.Model:
			return strategy.IsaacLab{}, explore.PB2{Bounds: map[string]explore.Range{"learning_rate": {Low: 0.1,
				High: 1}}}, nil
		}
		return strategy.IsaacLab{ThresholdAbs: o.Margin}, nil, nil
	}
	Register("own", own{Margin: 1}, build)
	s := must.Get(FromYAML([]byte("{preset: own, pbt: {margin: 2, max_copies: 1, objective: x, interval_steps: 7, " +
		"parameters: {learning_rate: {rule: mutate_float, max: 1}}}}")))(t)
	want := strategy.Limited{Strategy: strategy.IsaacLab{ThresholdAbs: 2}, MaxCopies: 1}
	if m := s.Options.Explore.(explore.Mutation); s.Options.Strategy != want || s.Options.Objective != "x" ||
		s.Options.IntervalSteps != 7 || m.Parameters["learning_rate"].Max != 1 {
		t.Errorf("%+v", s.Options)
	}
	must.Equal(t, "what Dict gives", s.Dict(), must.Get(FromDict(s.Dict()))(t).Dict())
	for document, want := range map[string]string{
		"{preset: own, pbt: {margin: 9}}":                                    "preset: own: no such margin",
		"{preset: own, pbt: {margin: 8}}":                                    "a margin above 7",
		"{preset: own, strict: true, pbt: {}}":                               `"strict" is true`,
		"{preset: own, pbt: {model: true, bounds: {learning_rate: [0, 1]}}}": `"pbt.bounds" is`,
		"{preset: owm, pbt: {}}":                                             `did you mean "own"`,
	} {
		must.RefusedAs(FromYAML([]byte(document)))(t, document, want)
	}
	if panics.Catch(func() { Register("own", own{}, build) }) == nil {
		t.Error("a name can be taken twice")
	}
}

// A file's errors name the file; names that the caller gives are known beside gorl's own.
func TestFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "population.yaml")
	must.Refused(FromFile(path))(t, path)
	must.Do(t, os.WriteFile(path, []byte("pbt: {policy_idx: 3, mutation: {rate: mutate_float}}"), 0o644))
	must.Refused(FromFile(path))(t, path, "rate")
	s, err := FromFile(path, "rate")
	if err != nil || s.PolicyIdx != 3 || s.Options.Explore.(explore.Mutation).Rules["rate"] != explore.MutateFloat {
		t.Errorf("%+v, %v", s, err)
	}
}

func FuzzFromYAML(f *testing.F) {
	files := must.Get(filepath.Glob("testdata/*/*.txt"))(f)
	if len(files) == 0 {
		f.Fatal("no seeds")
	}
	for _, path := range files {
		for block := range strings.SplitSeq(string(must.Read(f, path)), "\n\n") {
			if _, document, ok := strings.Cut(block, "\n"); ok {
				document, _, _ = strings.Cut(document, "----")
				f.Add([]byte(document))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := FromYAML(data)
		if err != nil {
			return
		}
		o := s.Options
		if o.Members < 1 || o.IntervalSteps < 1 || o.Objective == "" || o.Strategy == nil ||
			s.PolicyIdx >= s.NumPolicies {
			t.Errorf("incomplete: %+v", s)
		}
		if v, ok := o.Strategy.(interface{ Validate() error }); ok {
			must.Do(t, v.Validate())
		}
	})
}

// A strategy and an explorer of the user's own come from the file by their names, with their settings.
func TestRegistered(t *testing.T) {
	type settings struct {
		Rate float64 `yaml:"rate" config:"min=0,max=1"`
	}
	strategy.Register("Lab", settings{}, func(s settings) (strategy.Strategy, error) {
		return strategy.IsaacLab{ThresholdStd: s.Rate}, nil
	})
	explore.Register("Halving", settings{Rate: 1}, func(s settings) (explore.Explorer, error) {
		return explore.Mutation{Rate: s.Rate}, nil
	})
	s := must.Get(FromYAML([]byte("pbt: {strategy: Lab, strategy_kwargs: {rate: 0.1}, explorer: Halving, " +
		"explorer_kwargs: {rate: 0.5}, max_copies: 2}")))(t)
	want := strategy.Limited{Strategy: strategy.IsaacLab{ThresholdStd: 0.1}, MaxCopies: 2}
	if s.Options.Strategy != want || s.Options.Explore.(explore.Mutation).Rate != 0.5 {
		t.Errorf("the file gives %+v and %+v", s.Options.Strategy, s.Options.Explore)
	}
	for text, want := range map[string]string{"strategy: Lub": `did you mean "Lab"`,
		"explorer: Halving, explorer_kwargs: {rate: 2}": "rate"} {
		must.RefusedAs(FromYAML([]byte("pbt: {"+text+"}")))(t, text, want)
	}
}
