package preset

// This file holds the preset of Sample Factory. The original trains all members in one program that shares workers;
// here every member has environments of its own. Its tunables are fixed: the optimizer's and loss settings below, and
// every setting of the environment.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// sampleFactory are Sample Factory's flags without their dashes, with gorl's keys.
type sampleFactory struct {
	shared `yaml:",inline"`

	// WithPBT false trains the members as independent runs (strategy.Never). The original's default is false.
	WithPBT bool `yaml:"with_pbt"`
	// MixPoliciesInOneEnv draws an opponent for every seat from the newest weights of all members; false lets the
	// member's own newest weights play all other seats. It does nothing without the environment's wrapper self_play.
	MixPoliciesInOneEnv bool `yaml:"pbt_mix_policies_in_one_env"`
	// PeriodEnvSteps is the number of environment steps between decisions.
	//
	// A shorter period decides more often and on less evidence; a longer one gives new settings time to show.
	PeriodEnvSteps int64 `yaml:"pbt_period_env_steps" config:"min=1"`
	// StartMutation is the number of own environment steps before which a member is neither replaced nor mutated.
	StartMutation          int64 `yaml:"pbt_start_mutation" config:"min=0"`
	strategy.SampleFactory `yaml:",inline"`
	// MutationRate is the probability of mutation of each setting.
	MutationRate float64 `yaml:"pbt_mutation_rate" config:"min=0,max=1"`
	// OptimizeGamma mutates the discount factor too.
	OptimizeGamma bool `yaml:"pbt_optimize_gamma"`
	// TargetObjective is the figure to judge by.
	TargetObjective string `yaml:"pbt_target_objective"`
	// PerturbMin and PerturbMax are the least and greatest factor.
	PerturbMin float64 `yaml:"pbt_perturb_min" config:"min=1"`
	PerturbMax float64 `yaml:"pbt_perturb_max" config:"min=1"`
	// StatsAvg is the number of last episodes whose mean is the objective, unless measure.window is set.
	StatsAvg int `yaml:"stats_avg" config:"min=1"`

	// LearningRate to Gamma are every member's first values, which a mutation restores with a probability of 1 %.
	// Default: the agent's.
	LearningRate         *float64 `yaml:"learning_rate" config:"gt=0"`
	ExplorationLossCoeff *float64 `yaml:"exploration_loss_coeff"`
	ValueLossCoeff       *float64 `yaml:"value_loss_coeff"`
	MaxGradNorm          *float64 `yaml:"max_grad_norm" config:"min=0"`
	PPOClipRatio         *float64 `yaml:"ppo_clip_ratio" config:"gt=0"`
	PPOClipValue         *float64 `yaml:"ppo_clip_value" config:"min=0"`
	Gamma                *float64 `yaml:"gamma" config:"min=0,max=1"`

	idleFlags `yaml:",inline"`
}

// idleFlags are flags that do nothing here.
type idleFlags struct {
	// KeepCheckpoints to LRSchedule do nothing.
	KeepCheckpoints            any `yaml:"keep_checkpoints"`
	SaveEverySec               any `yaml:"save_every_sec"`
	LoadCheckpointKind         any `yaml:"load_checkpoint_kind"`
	MaxPolicyLag               any `yaml:"max_policy_lag"`
	RestartBehavior            any `yaml:"restart_behavior"`
	HeartbeatInterval          any `yaml:"heartbeat_interval"`
	HeartbeatReportingInterval any `yaml:"heartbeat_reporting_interval"`
	LRSchedule                 any `yaml:"lr_schedule"`
}

// defaultSampleFactory holds the original's defaults but for WithPBT: who writes a section pbt: wants it.
func defaultSampleFactory() sampleFactory {
	c := sampleFactory{
		shared: sharedDefaults(), WithPBT: true, MixPoliciesInOneEnv: true, PeriodEnvSteps: 5_000_000,
		StartMutation: 20_000_000, SampleFactory: strategy.DefaultSampleFactory(), MutationRate: 0.15,
		TargetObjective: "true_objective", PerturbMin: 1.1, PerturbMax: 1.5, StatsAvg: 100,
	}
	c.NumPolicies = 1
	return c
}

// resetProbability is that with which Sample Factory puts a perturbed setting back to its default.
const resetProbability = 0.01

// readSampleFactory turns the section into settings. As in the original all members but the reference, member 0,
// begin with mutated settings.
func readSampleFactory(f *file) (*Settings, error) {
	c := defaultSampleFactory()
	if err := readSection(f, &c); err != nil {
		return nil, err
	}
	if c.Reference == nil {
		c.Reference = []int{0}
	}
	var p problems
	s := c.shared.settings(f, sampleFactoryNames, &p)
	s.Enabled = c.WithPBT
	c.note(f, s)
	o := &s.Options
	o.Objective, o.IntervalSteps, o.InitialDelay, o.Diversify = c.TargetObjective, c.PeriodEnvSteps, c.StartMutation,
		true
	o.Measure.Window = cmp.Or(o.Measure.Window, c.StatsAvg)
	c.Strict = f.Strict
	o.Strategy = c.limited(c.SampleFactory)
	if c.PerturbMin > c.PerturbMax {
		p.wrong("pbt_perturb_min", c.PerturbMin, "want at most pbt_perturb_max, which is %v", c.PerturbMax)
	}
	if c.TargetObjective == "" {
		p.wrong("pbt_target_objective", c.TargetObjective, "want the name of a figure, e.g. true_objective")
	}
	c.explore(f, s, &p)
	return s, p.err()
}

// explore makes the mutation of the tunables. Flags that the file gives become the members' first values and the
// defaults that a reset puts back. The discount has no rule without pbt_optimize_gamma.
func (c *sampleFactory) explore(f *file, s *Settings, p *problems) {
	o := &s.Options
	m := explore.Mutation{Rate: c.MutationRate, ChangeRange: [2]float64{c.PerturbMin, c.PerturbMax},
		Reset: resetProbability, Rules: explore.Rules{"env.*": explore.PerturbFloat},
		Parameters: make(map[string]explore.Parameter)}
	flags := map[string]*float64{
		"learning_rate": c.LearningRate, "exploration_loss_coeff": c.ExplorationLossCoeff,
		"value_loss_coeff": c.ValueLossCoeff, "max_grad_norm": c.MaxGradNorm,
		"ppo_clip_ratio": c.PPOClipRatio, "ppo_clip_value": c.PPOClipValue, "gamma": c.Gamma,
	}
	for _, key := range sorted(flags) {
		given, name := flags[key], sampleFactoryNames.gorl[key]
		if given != nil {
			if len(o.Initial) == 0 {
				o.Initial = []map[string]float64{{}}
			}
			if old, ok := o.Initial[0][name]; ok && old != *given {
				p.wrong(key, *given, "initial.%s is %v; give one of the two", name, old)
			}
			o.Initial[0][name] = *given
		}
		rule := explore.PerturbFloat
		if key == "gamma" {
			if !c.OptimizeGamma {
				continue
			}
			rule = explore.PerturbExponentialDecay
		}
		m.Parameters[name] = explore.Parameter{Rule: rule, Default: f.initial(s, name)}
	}
	// Tunables that the preset adds by itself may be missing in members, such as a clip that the agent does not have;
	// those that the file names may not.
	optional := append(slices.Collect(maps.Keys(m.Parameters)), "env.*")
	m = c.shared.mutation(f, sampleFactoryNames, s, m, p)
	if c.MutationRate == 0 {
		s.Notes = append(s.Notes,
			"pbt.pbt_mutation_rate is 0: nothing is mutated, hyperparameters are handed on as they are")
		return
	}
	lacking := slices.DeleteFunc(sorted(m.Parameters), func(k string) bool { return m.Parameters[k].Default != nil })
	if len(lacking) > 0 {
		s.Notes = append(s.Notes,
			fmt.Sprintf("these are never reset to their defaults, which are not known: %s; give them "+
				"here or under agent:", strings.Join(lacking, ", ")))
	}
	for key := range c.Parameters { // what the file names, members must have
		name, _, _ := sampleFactoryNames.find(f, key)
		optional = slices.DeleteFunc(optional, func(key string) bool { return key == name })
	}
	slices.Sort(optional)
	o.Explore = someOf{Mutation: m, optional: optional}
}

// note adds a note for every flag that the file gives and that does nothing.
func (c *sampleFactory) note(f *file, s *Settings) {
	if !f.selfPlay {
		s.idle(f, "pbt_mix_policies_in_one_env", "the environment has no wrapper self_play")
	}
	for _, flag := range config.Keys(idleFlags{}) {
		s.idle(f, flag.Key, "the population keeps and continues its state by itself, and schedules belong to agent:")
	}
}

// someOf is a mutation some of whose keys members need not have.
type someOf struct {
	explore.Mutation
	optional []string
}

// Validate implements explore.Explorer. It leaves out the optional keys that members do not have, and checks the
// rest.
func (o someOf) Validate(hyperparameters []string) error {
	m := o.Mutation
	m.Rules, m.Parameters = maps.Clone(m.Rules), maps.Clone(m.Parameters)
	for _, key := range o.optional {
		prefix, pattern := strings.CutSuffix(key, "*")
		has := func(name string) bool { return name == key || pattern && strings.HasPrefix(name, prefix) }
		if !slices.ContainsFunc(hyperparameters, has) {
			delete(m.Rules, key)
			delete(m.Parameters, key)
		}
	}
	return m.Validate(hyperparameters)
}
