package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Config is what to simulate.
type Config struct {
	// Name is for people.
	Name string
	// Model is how members learn.
	Model Model
	// Options are the population's, as they would be used for training. New, Objective, Seed, Directory, Progress,
	// Parallel and Asynchronous are the simulation's own: what is said there does not matter.
	Options pbt.Options
	// Seeds is the number of populations, each with a seed of its own. More make the means more certain (the standard
	// error falls with the square root) and take longer. Default 20.
	Seeds int
	// Seed makes all others.
	Seed int64
}

// Result is what came of a Config.
type Result struct {
	Name string
	// Minimise is true if a lower objective is better.
	Minimise bool
	Members  int
	// Steps are the members' steps at every interval's end.
	Steps []int64
	// Runs are the populations, Controls the same members with the same luck trained without copying anything, by seed.
	Runs, Controls []Outcome
}

// Outcome is one population. Its objectives are without noise: how good members are, not how good they seem.
type Outcome struct {
	Seed int64
	// Best and Median are the best and the median member's objective at every interval's end, before decisions.
	Best, Median []float64
	// Replaced is the number of members replaced at every interval's end, Lineages the number of founding members whose
	// weights are still there after that.
	Replaced, Lineages []int
	// SelfMutations is the number of members that mutated their own hyperparameters over all intervals.
	SelfMutations int
}

// Run simulates. Equal configurations give equal results.
func Run(ctx context.Context, c Config) (*Result, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	r := &Result{Name: c.Name, Minimise: c.Options.Measure.Minimise, Members: c.Options.Members,
		Runs: make([]Outcome, c.Seeds), Controls: make([]Outcome, c.Seeds)}
	for steps := int64(0); steps < c.Options.TotalSteps; {
		steps += min(c.Options.IntervalSteps, c.Options.TotalSteps-steps)
		r.Steps = append(r.Steps, steps)
	}
	errs := make([]error, 2*c.Seeds)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0)) // a population's goroutine begins once there is room
	var all sync.WaitGroup
	for i := range errs {
		slots <- struct{}{}
		all.Go(func() {
			seed, to, opt := c.seed(i/2), &r.Runs[i/2], c.Options
			if i%2 == 1 { // the control, whose members have the same luck
				opt.Strategy, to = strategy.Never{}, &r.Controls[i/2]
			}
			*to, errs[i] = c.once(ctx, opt, seed, len(r.Steps))
			<-slots
		})
	}
	all.Wait()
	for _, err := range errs { // one says it all: configurations fail alike
		if err != nil {
			return nil, fmt.Errorf("simulate: %w", err)
		}
	}
	return r, nil
}

// seed returns the seed of population i. Configurations with different seeds share none of them, so that their
// means are independent.
func (c Config) seed(i int) int64 { return c.Seed*1_000_003 + int64(i) }

// maxIntervals bounds the memory that a mistyped number of steps can take.
const maxIntervals = 1_000_000

// complete fills in defaults and checks everything but the options, which pbt.New checks. It works on a copy: the
// caller's configuration stays as it was.
func (c Config) complete() (Config, error) {
	c.Seeds = cmp.Or(c.Seeds, 20)
	o := &c.Options
	c.Model = c.Model.withDefaults(o.TotalSteps, o.Measure.Minimise)
	switch {
	case c.Seeds < 1 || c.Seeds > 100_000:
		return c, fmt.Errorf("simulate: Seeds is %d; give 1 to 100000", c.Seeds)
	case o.IntervalSteps < 1 || o.TotalSteps < 1:
		return c, fmt.Errorf("simulate: intervals of %d environment steps, %d in all; give at least 1", o.IntervalSteps,
			o.TotalSteps)
	case (o.TotalSteps-1)/o.IntervalSteps >= maxIntervals:
		return c, fmt.Errorf("simulate: %d environment steps in intervals of %d are more than %d intervals",
			o.TotalSteps, o.IntervalSteps, maxIntervals)
	}
	return c, c.Model.validate(o.Measure.Minimise)
}

// start returns the hyperparameters that members are built with: every one that the model or the options name. The
// model comes first, since a landscape says where its members begin. What the population sets or draws for a member
// replaces these values.
func (c Config) start(opt pbt.Options) map[string]float64 {
	values := make(map[string]float64)
	for _, key := range tuned(opt) {
		values[key] = middle(opt, key)
	}
	for key, l := range c.Model.Landscapes {
		values[key] = l.Start
	}
	return values
}

// trainees returns what builds synthetic members of a complete configuration.
func (c Config) trainees(opt pbt.Options) func(pbt.Member) *trainee {
	start := c.start(opt)
	// About a hundred readings on the way to the limit, and some in every interval.
	grain := max(1, min(c.Model.Horizon/100, opt.IntervalSteps/8))
	return func(m pbt.Member) *trainee {
		values := maps.Clone(start)
		maps.Copy(values, m.Hyperparameters)
		return newTrainee(&c.Model, grain, m.Seed, values)
	}
}

// Population returns Options whose New and Objective are those of synthetic members, for [pbt.New] and [pbt.Join]. They
// train in no time, so that a file system, a launcher or a page can be tried out with as many members as there will be.
func (c Config) Population() (pbt.Options, error) {
	c, err := c.complete()
	if err != nil {
		return pbt.Options{}, err
	}
	opt, build := c.Options, c.trainees(c.Options)
	opt.Objective = Objective
	opt.New = func(m pbt.Member) (pbt.Trainee, error) { return build(m), nil }
	return opt, nil
}

// once trains one population in memory and returns what came of it at each of the intervals' ends. Skills are read from
// the members at every interval's end, before any decision, rather than from the journal: that has objectives with
// noise, as the strategy sees them.
func (c Config) once(ctx context.Context, opt pbt.Options, seed int64, intervals int) (o Outcome, err error) {
	members := make([]*trainee, opt.Members)
	skills := make([][]float64, intervals)
	for i := range skills {
		skills[i] = make([]float64, opt.Members)
	}
	opt.Objective, opt.Seed, opt.Directory, opt.Parallel = Objective, seed, "", 1
	build := c.trainees(opt)
	opt.New = func(m pbt.Member) (pbt.Trainee, error) {
		members[m.ID] = build(m)
		return members[m.ID], nil
	}
	opt.Progress = func(u pbt.Update) {
		if i := u.Iteration - 1; u.Event == nil && i >= 0 && i < int64(intervals) {
			skills[i][u.Status.Member] = members[u.Status.Member].skill
		}
	}
	p, err := pbt.New(opt)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if _, err = p.Train(ctx); err != nil {
		return Outcome{}, err
	}
	o, err = outcome(p.Journal(), opt.Members, intervals)
	o.Seed = seed
	for _, s := range skills {
		slices.Sort(s)
		o.Best = append(o.Best, c.Model.Offset+c.Model.Scale*s[len(s)-1])
		o.Median = append(o.Median, c.Model.Offset+c.Model.Scale*(s[(len(s)-1)/2]+s[len(s)/2])/2)
	}
	return o, err
}

// outcome counts what a journal tells. A member's lineage is that of the founding member whose weights it has; copies
// of one interval are applied in turn, and the journal already says which founder each copy leads to.
func outcome(recorded []journal.Event, members, intervals int) (Outcome, error) {
	h, err := journal.NewHistory(recorded)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Replaced: make([]int, intervals), Lineages: make([]int, intervals)}
	for _, e := range h.Events {
		if e.Kind == journal.SelfMutate {
			o.SelfMutations++
		}
	}
	founders := make([]int, members)
	for i := range founders {
		founders[i] = i
	}
	next := make([]int, members) // the index of each member's next copy
	for i := range intervals {
		for id, t := range h.Members {
			if n := next[id]; n < len(t.Copies) && t.Copies[n].Iteration == int64(i)+1 {
				founders[id] = t.Copies[n].Founder
				o.Replaced[i]++
				next[id]++
			}
		}
		alive := make(map[int]bool, members)
		for _, f := range founders {
			alive[f] = true
		}
		o.Lineages[i] = len(alive)
	}
	return o, nil
}
