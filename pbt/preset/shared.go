package preset

// This file has the keys that every preset has beside the original's own. Where an original has a key of the same
// meaning, its reader sets the shared one from it, so that the rest of gorl knows one key only.

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// shared are the keys that every preset has: those of a population's folder, and gorl's own.
type shared struct {
	// PolicyIdx is the member that this process trains, if each member has its own process. Launchers set it.
	PolicyIdx int `yaml:"policy_idx" config:"min=0"`
	// NumPolicies is the number of members.
	//
	// More members search more widely; each costs one training run.
	NumPolicies int `yaml:"num_policies" config:"min=1,max=65536"`
	// Directory contains the population's folder, which Workspace names.
	Directory string `yaml:"directory"`
	Workspace string `yaml:"workspace"`

	// TotalSteps is the number of environment steps of every member; required.
	TotalSteps int64 `yaml:"total_steps" config:"min=1"`
	// Seed is the seed of all decisions and members. Default: the file's top-level seed, else 0.
	Seed *int64 `yaml:"seed"`
	// Synchronous makes members in processes wait for each other after every interval, so that equal seeds give equal
	// runs.
	Synchronous bool `yaml:"synchronous"`
	// Asynchronous lets members of one process train on without waiting for each other, as members in processes do
	// unless synchronous is true. They decide by what peers of equal or less experience last published.
	//
	// Give true if members take different times; equal seeds then give different runs. The population's folder is
	// that of processes, so a population that has begun with the one value cannot go on with the other.
	Asynchronous bool `yaml:"asynchronous"`
	// StartAfter is the number of own environment steps after its start or last copy in which a member is neither
	// replaced nor mutated. Raise it if copied weights need time to settle.
	StartAfter int64 `yaml:"start_after" config:"min=0"`
	// SettleMutations also counts start_after from the last mutation of the member itself.
	SettleMutations bool `yaml:"settle_mutations"`
	// Measure says how the objective is measured.
	Measure pbt.Measure `yaml:"measure"`
	// Inherit says what a member takes over beside the weights when it copies another.
	Inherit pbt.CopyOptions `yaml:"inherit"`
	// Initial are all members' first hyperparameters, by name.
	Initial map[string]float64 `yaml:"initial"`
	// Sample has ranges of the members' first hyperparameters, by name: [low, high], or {low, high, log: true}.
	Sample map[string]span `yaml:"sample"`
	// Bounds are the least and greatest values, by name: [least, greatest]; .inf leaves a side open.
	Bounds map[string][]float64 `yaml:"bounds" config:"inf"`
	// Parameters are further settings of single hyperparameters, by name (next table).
	Parameters map[string]parameter `yaml:"parameters"`
	// Reference are members whose hyperparameters are never mutated, as a control. They can be replaced.
	Reference []int `yaml:"reference" config:"min=0"`
	// MaxCopies is the number of members that may copy the same source in one interval; 0 is no limit. Use it to keep
	// one lucky member from taking over.
	MaxCopies int `yaml:"max_copies" config:"min=0"`
	ownNames  `yaml:",inline"`
	// Rebuild are hyperparameters that only take effect when a member is rebuilt.
	Rebuild []string `yaml:"rebuild"`
	// Parallel is the number of members of one process that train at a time; 0 is the number of processors. Results do
	// not depend on it.
	Parallel int `yaml:"parallel" config:"min=0"`
	// ProgressSteps is the number of environment steps between readings of the objective within an interval, for
	// displays; 0 reads at the end only.
	ProgressSteps int64 `yaml:"progress_steps" config:"min=0"`

	processKeys `yaml:",inline"`
}

// ownNames are a strategy and an explorer of the program's own.
type ownNames struct {
	// Strategy is a strategy of the program (strategy.Register) in place of the preset's, StrategyKwargs are its
	// settings.
	Strategy       string         `yaml:"strategy"`
	StrategyKwargs map[string]any `yaml:"strategy_kwargs"`
	// Explorer is an explorer of the program (explore.Register) in place of the preset's, ExplorerKwargs are its
	// settings.
	Explorer       string         `yaml:"explorer"`
	ExplorerKwargs map[string]any `yaml:"explorer_kwargs"`
}

// processKeys are for members that are processes.
type processKeys struct {
	// Heartbeat is the time between a member's signs of life in the folder. This key to SaveSteps apply to members in
	// processes, and to those of one process if asynchronous is true.
	Heartbeat time.Duration `yaml:"heartbeat"`
	// Silence is the time without a heartbeat after which others no longer wait for a member: at least three
	// heartbeats. Raise it if the file system or environments can stall for minutes.
	Silence time.Duration `yaml:"silence"`
	// LeaseTTL is the time without a heartbeat after which a process on another machine may take over a member: at
	// least three heartbeats. If it is too short, two processes train one member for a while.
	LeaseTTL time.Duration `yaml:"lease_ttl"`
	// Slack is how many intervals ahead a compared peer may be of a member that does not wait.
	Slack int64 `yaml:"slack" config:"min=0"`
	// SaveSteps is the number of own environment steps between saves within an interval; 0 saves at its end only.
	SaveSteps int64 `yaml:"save_steps" config:"min=0"`
	// RestartProcess rebuilds a member in a new process, for environments that can be made only once in a process.
	RestartProcess bool `yaml:"restart_process"`
}

// parameter is an entry of the key parameters; see explore.Parameter. What it leaves out stays as the preset has it.
type parameter struct {
	// Rule is the rule of mutation, in place of the preset's.
	Rule string `yaml:"rule"`
	// Min and Max bound the value; a missing one leaves its side open.
	Min *float64 `yaml:"min" config:"inf"`
	Max *float64 `yaml:"max" config:"inf"`
	// Outside says what happens to a mutated value beyond them: "clamp" (or empty) takes the bound, "reflect"
	// mirrors it.
	Outside string `yaml:"outside" config:"oneof=|clamp|reflect"`
	// ChangeRange are the least and greatest factor, in place of the preset's.
	ChangeRange []float64 `yaml:"change_range" config:"min=1,minlen=2,maxlen=2"`
	// Step is the multiple of whole numbers, or the greatest change of the rule additive; 0 is the rule's own.
	Step float64 `yaml:"step" config:"min=0"`
	// Choices are the values of the rules categorical and neighbour, and of draws.
	Choices []float64 `yaml:"choices"`
	// Sample is the range of draws: [low, high], or {low, high, log: true}.
	Sample span `yaml:"sample"`
	// Default is the value that a reset puts back.
	Default *float64 `yaml:"default"`
}

// heartbeats are how many of them must be missed before a process counts as silent. With fewer, one slow write would
// do.
const heartbeats = 3

// sharedDefaults are what holds where neither a file nor a preset says anything else.
func sharedDefaults() shared {
	return shared{
		NumPolicies: 8, Directory: ".", Workspace: "pbt_workspace",
		processKeys: processKeys{
			Heartbeat: 5 * time.Second, Silence: 5 * time.Minute, LeaseTTL: workspace.DefaultLeaseTTL,
		},
	}
}

// span is a range to draw from: [low, high] or {low, high, log}.
type span struct{ explore.Range }

// SetConfig implements config.Setter.
func (s *span) SetConfig(value any) error {
	wrong := errors.New("want [low, high], or low, high and, for the logarithm to be uniform, log: true")
	var r explore.Range
	dict := map[string]any{}
	switch v := value.(type) {
	case []any:
		if len(v) != 2 {
			return wrong
		}
		dict["low"], dict["high"] = v[0], v[1]
	case map[string]any:
		if _, ok := v["low"]; !ok || v["high"] == nil {
			return wrong
		}
		dict = v
	default:
		return wrong
	}
	if config.Merge(&r, dict, config.Options{}) != nil || r.Low > r.High || r.Log && r.Low <= 0 {
		return wrong
	}
	s.Range = r
	return nil
}

// MarshalYAML returns what SetConfig reads, nil for no range.
func (s span) MarshalYAML() (any, error) {
	switch {
	case s.Range == explore.Range{}:
		return nil, nil
	case s.Log:
		return map[string]any{"low": s.Low, "high": s.High, "log": true}, nil
	}
	return []any{s.Low, s.High}, nil
}

// settings turns the shared keys into settings. The preset adds its strategy and its explorer.
func (c *shared) settings(f *file, n names, p *problems) *Settings {
	c.check(p)
	s := &Settings{
		PolicyIdx: c.PolicyIdx, NumPolicies: c.NumPolicies, Workspace: c.Workspace, Directory: c.Directory,
		Synchronous: c.Synchronous, Heartbeat: c.Heartbeat, Silence: c.Silence, LeaseTTL: c.LeaseTTL,
		RestartProcess: c.RestartProcess,
	}
	if c.Strategy != "" {
		own, err := strategy.New(c.Strategy, c.StrategyKwargs)
		p.add(err)
		s.strategy = c.limited(own)
	}
	if c.Explorer != "" {
		var err error
		s.explorer, err = explore.New(c.Explorer, c.ExplorerKwargs)
		p.add(err)
	}
	o := &s.Options
	o.Asynchronous, o.Slack = c.Asynchronous, c.Slack
	o.Members, o.TotalSteps, o.StartAfter, o.SettleMutations = c.NumPolicies, c.TotalSteps, c.StartAfter,
		c.SettleMutations
	o.Reference, o.Parallel, o.ProgressSteps, o.SaveSteps = c.Reference, c.Parallel, c.ProgressSteps, c.SaveSteps
	rebuild := make(map[string]string, len(c.Rebuild))
	for _, key := range c.Rebuild {
		rebuild[key] = key
	}
	renamed, _ := rename(f, n, "rebuild", rebuild, p, &s.Notes)
	o.Rebuild = sorted(renamed)
	o.Measure, o.Copy = c.Measure, c.Inherit
	o.Seed = *cmp.Or(c.Seed, f.Seed, new(int64))
	if initial, _ := rename(f, n, "initial", c.Initial, p, &s.Notes); len(initial) > 0 {
		o.Initial = []map[string]float64{initial}
	}
	o.Sample = make(map[string]explore.Range)
	samples, _ := rename(f, n, "sample", c.Sample, p, &s.Notes)
	for key, r := range samples {
		o.Sample[key] = r.Range
	}
	return s
}

// check reports shared keys that do not fit each other.
func (c *shared) check(p *problems) {
	if c.Heartbeat <= 0 {
		p.wrong("heartbeat", c.Heartbeat, "want a time above 0")
	}
	for _, x := range []struct {
		key   string
		value time.Duration
	}{{"silence", c.Silence}, {"lease_ttl", c.LeaseTTL}} {
		if least := heartbeats * c.Heartbeat; x.value < least {
			p.wrong(x.key, x.value, "want at least %d heartbeats, which are %v", heartbeats, least)
		}
	}
	if c.Asynchronous && c.Synchronous {
		p.wrong("asynchronous", true,
			"synchronous is true, which makes members wait for each other; give one of the two")
	}
	if c.Asynchronous && c.RestartProcess {
		p.wrong("restart_process", true,
			"asynchronous is true, where all members train in one process; give one of the two")
	}
	if c.PolicyIdx >= c.NumPolicies {
		p.wrong("policy_idx", c.PolicyIdx, "want 0 to num_policies-1, which is %d", c.NumPolicies-1)
	}
	if c.Workspace == "" {
		p.wrong("workspace", c.Workspace, "want the name of the population's folder")
	}
	for key, path := range map[string]string{"workspace": c.Workspace, "directory": c.Directory} {
		if err := durable.CheckName(path); err != nil {
			p.wrong(key, path, "%v", err)
		}
	}
	for i, m := range c.Reference {
		if m >= c.NumPolicies || slices.Contains(c.Reference[:i], m) {
			p.wrong("reference", c.Reference, "want different members, 0 to %d", c.NumPolicies-1)
			break
		}
	}
}

// mutation completes a preset's mutation by the file's bounds and parameters.
func (c *shared) mutation(f *file, n names, s *Settings, m explore.Mutation, p *problems) explore.Mutation {
	bounds, called := rename(f, n, "bounds", c.Bounds, p, &s.Notes)
	for _, key := range sorted(bounds) {
		b := bounds[key]
		if len(b) != 2 || !(b[0] <= b[1]) {
			p.wrong("bounds."+called[key], b, "want the least value, then the greatest")
			continue
		}
		if m.Bounds == nil {
			m.Bounds = make(map[string][2]float64)
		}
		m.Bounds[key] = [2]float64{b[0], b[1]}
	}
	own := c.parameters(f, n, s, p)
	if len(own) > 0 && m.Parameters == nil {
		m.Parameters = make(map[string]explore.Parameter)
	}
	for key, q := range own {
		if q.Rule != nil { // it replaces the preset's, which pbt would refuse beside it
			delete(m.Rules, key)
		} else {
			q.Rule = m.Parameters[key].Rule
		}
		if q.Default == nil {
			q.Default = m.Parameters[key].Default
		}
		m.Parameters[key] = q
	}
	return m
}

// parameters are those of the file, by gorl's names.
func (c *shared) parameters(f *file, n names, s *Settings, p *problems) map[string]explore.Parameter {
	given, called := rename(f, n, "parameters", c.Parameters, p, &s.Notes)
	parameters := make(map[string]explore.Parameter, len(given))
	for _, key := range sorted(given) {
		q, at := given[key], "parameters."+called[key]
		r := explore.Parameter{
			Outside: explore.Outside(q.Outside), Step: q.Step, Choices: q.Choices, Sample: q.Sample.Range,
			Default: q.Default,
		}
		if q.Rule != "" {
			r.Rule = ruleOf(at+".rule", q.Rule, p)
		}
		if q.Min != nil || q.Max != nil { // both zero would be no bounds at all
			r.Min, r.Max = *cmp.Or(q.Min, new(math.Inf(-1))), *cmp.Or(q.Max, new(math.Inf(1)))
		}
		if r.Min > r.Max {
			p.wrong(at+".min", r.Min, "want at most max, which is %v", r.Max)
		}
		if len(q.ChangeRange) == 2 {
			r.ChangeRange = [2]float64(q.ChangeRange)
		}
		parameters[key] = r
	}
	return parameters
}

// ruleOf returns the rule with a name, and reports an unknown one as a problem of the key.
func ruleOf(key, name string, p *problems) explore.Rule {
	rule, err := explore.RuleByName(name)
	if err != nil {
		known := explore.RuleNames()
		p.add(&config.Error{
			Prefix: "preset", Path: "pbt." + key, Given: name, Allowed: "one of " + quoted(known),
			Nearest: config.Nearest(name, known),
		})
	}
	return rule
}

// limited puts the limit of copies around a strategy.
func (c *shared) limited(s strategy.Strategy) strategy.Strategy {
	if c.MaxCopies > 0 {
		return strategy.Limited{Strategy: s, MaxCopies: c.MaxCopies}
	}
	return s
}
