package preset

import (
	"math"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// settings are what the shared keys say.
func (c *shared) settings(f *file, n names, p *problems) *Settings {
	s := &Settings{PolicyIdx: c.PolicyIdx, NumPolicies: c.NumPolicies, Workspace: c.Workspace, Directory: c.Directory, Synchronous: c.Synchronous, LogConfig: true}
	s.Heartbeat, s.Silence, s.LeaseTTL = c.Heartbeat, c.Silence, c.LeaseTTL
	s.Slack, s.SaveSteps, s.RestartProcess = c.Slack, c.SaveSteps, c.RestartProcess
	if c.Heartbeat <= 0 {
		p.wrong("heartbeat", c.Heartbeat, "want a time above 0")
	}
	for _, x := range []struct {
		key   string
		value time.Duration
	}{{"silence", c.Silence}, {"lease_ttl", c.LeaseTTL}} {
		if x.value < heartbeats*c.Heartbeat {
			p.wrong(x.key, x.value, "want at least %d heartbeats, which are %v", heartbeats, heartbeats*c.Heartbeat)
		}
	}
	if c.PolicyIdx >= c.NumPolicies {
		p.wrong("policy_idx", c.PolicyIdx, "want 0 to num_policies-1, which is %d", c.NumPolicies-1)
	}
	if c.Workspace == "" {
		p.wrong("workspace", c.Workspace, "want the name of the population's folder")
	}
	for i, m := range c.Reference {
		if m >= c.NumPolicies || slices.Contains(c.Reference[:i], m) {
			p.wrong("reference", c.Reference, "want different policies, 0 to %d", c.NumPolicies-1)
			break
		}
	}
	o := &s.Options
	o.Members, o.TotalSteps, o.StartAfter = c.NumPolicies, c.TotalSteps, c.StartAfter
	o.SettleMutations = c.SettleMutations
	o.Reference, o.Parallel, o.ProgressSteps = c.Reference, c.Parallel, c.ProgressSteps
	rebuild := make(map[string]string, len(c.Rebuild))
	for _, key := range c.Rebuild {
		rebuild[key] = key
	}
	if renamed, _ := rename(f, n, "rebuild", rebuild, p, &s.Notes); len(renamed) > 0 {
		o.Rebuild = sorted(renamed)
	}
	o.Measure = pbt.Measure{Minimise: c.Measure.Minimise, Window: c.Measure.Window, Reducer: pbt.Reducer(c.Measure.Reducer), MinSamples: c.Measure.MinSamples,
		EvaluationEpisodes: c.Measure.EvaluationEpisodes, EvaluationSeed: c.Measure.EvaluationSeed}
	o.Copy = pbt.CopyOptions{Optimizer: pbt.Part(c.Inherit.Optimizer), MomentDecay: c.Inherit.MomentDecay, Normalizers: pbt.Part(c.Inherit.Normalizers),
		Schedule: pbt.Part(c.Inherit.Schedule), Environment: pbt.Part(c.Inherit.Environment), Buffers: pbt.Part(c.Inherit.Buffers)}
	switch {
	case c.Seed != nil:
		o.Seed = *c.Seed
	case f.Seed != nil:
		o.Seed = *f.Seed
	}
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

// mutation completes a mutation by bounds and parameters.
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
	if own := c.parameters(f, n, s, p); len(own) > 0 {
		if m.Parameters == nil {
			m.Parameters = make(map[string]explore.Parameter)
		}
		for key, q := range own {
			if q.Rule != nil { // it replaces the preset's
				delete(m.Rules, key)
			} else {
				q.Rule = m.Parameters[key].Rule
			}
			if q.Default == nil {
				q.Default = m.Parameters[key].Default
			}
			m.Parameters[key] = q
		}
	}
	return m
}

// parameters are those of the file, by gorl's names.
func (c *shared) parameters(f *file, n names, s *Settings, p *problems) map[string]explore.Parameter {
	given, called := rename(f, n, "parameters", c.Parameters, p, &s.Notes)
	parameters := make(map[string]explore.Parameter, len(given))
	for _, key := range sorted(given) {
		q, at := given[key], "parameters."+called[key]
		r := explore.Parameter{Outside: explore.Outside(q.Outside), Step: q.Step, Choices: q.Choices, Sample: q.Sample.Range, Default: q.Default}
		if q.Rule != "" {
			r.Rule = ruleOf(at+".rule", q.Rule, p)
		}
		if q.Min != nil || q.Max != nil {
			r.Min, r.Max = math.Inf(-1), math.Inf(1)
		}
		if q.Min != nil {
			r.Min = *q.Min
		}
		if q.Max != nil {
			r.Max = *q.Max
		}
		if r.Min > r.Max {
			p.wrong(at+".min", r.Min, "want at most max, which is %v", r.Max)
		}
		if len(q.ChangeRange) == 2 {
			r.ChangeRange = [2]float64{q.ChangeRange[0], q.ChangeRange[1]}
		}
		parameters[key] = r
	}
	return parameters
}

// ruleOf returns the rule with a name, and notes an unknown one as a problem of the key.
func ruleOf(key, name string, p *problems) explore.Rule {
	rule, err := explore.RuleByName(name)
	if err != nil {
		known := explore.RuleNames()
		p.add(&config.Error{
			Prefix: "preset", Path: "pbt." + key, Given: name, Allowed: "one of " + quoted(known), Nearest: config.Nearest(name, known),
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
