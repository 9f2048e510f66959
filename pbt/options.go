// Package pbt trains populations: several members learn at once, and at the end of every interval members that fall
// behind copy the weights of members that lead, with mutated hyperparameters.
//
// Two verbs run through the package, as in the paper (Jaderberg et al., "Population Based Training of Neural Networks",
// 2017): a member exploits when it copies another's weights, and explores when its hyperparameters are mutated.
//
//   - A [Trainee] is anything that trains: an agent in its environment, seen through the few methods that pbt needs.
//   - A strategy.Strategy is a pure function from a strategy.Generation (where all members stand) to one
//     strategy.Decision for each member. Package strategy has those of Isaac Lab, IsaacGymEnvs, Sample Factory, Ray
//     Tune and AgileRL.
//   - An explore.Explorer mutates hyperparameters. Package explore has mutation by rules, perturbation and PB2.
//   - [Measure] says how an objective comes from what trainees report, [CopyOptions] what is copied besides
//     the weights.
//   - A [Population] trains its members. [New] makes one of all members in this process. [Join] makes one of a single
//     member, whose peers are other processes: they share a workspace.Store.
//   - Every decision is an event of a journal; package journal reads it.
//
// Higher objectives are better, unless [Measure] says otherwise. A member that fails, or whose objective or weights are
// not finite, counts as the worst, is never copied, and is rescued by another. The same options and seed give the same
// decisions and, byte for byte, the same journals, however many members train at a time; only members that do not wait
// for each other depend on timing.
//
// # Reading order
//
// options.go and trainee.go are what a user gives, population.go and process.go what a user calls. A group, in
// interval.go, is the loop: the members that train and are decided about together. member.go is one member with its
// objective, build.go makes it, and measure.go has the settings of measuring. decide.go and exploit.go are what is
// decided about it, and what that does to a running agent; package internal/inherit has what a copy keeps. publish.go
// is what a group writes: journals, states, and records for others. wait.go waits for those of other groups; package
// internal/peers says what members may see of each other. worker.go continues a member from its state; package
// internal/states has the files.
package pbt

import (
	"cmp"
	"maps"
	"runtime"
	"slices"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/internal/inherit"
	"github.com/gorl-dev/gorl/pbt/internal/streams"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// Options describe a population.
type Options struct {
	// Members is the number of members, 1 to 65536.
	Members int
	// Objective names the figure in Trainee.Metrics to maximise (see Measure to minimise it), e.g. "episode.length". A
	// name that is not there is looked for with "episode." before it; then "true_objective" may also go by
	// "episode.return".
	Objective string
	// IntervalSteps is the number of environment steps that every member trains between decisions.
	//
	// A larger value compares members on more experience, so that luck decides less, and mutates less often. With a
	// smaller one a population adapts faster, and prefers hyperparameters that pay at once over those that pay later.
	// It should be many episodes, and many updates of the agent.
	IntervalSteps int64
	// TotalSteps is the number of environment steps that every member trains in all. After the last interval, which may
	// be shorter, nothing is decided. It may grow when a run is continued.
	TotalSteps int64
	// Delays are the environment steps that members train before decisions about them. Default: none.
	Delays
	// Pace says whether members wait for each other. Default: at the end of every interval.
	Pace
	// Measure refines how the objective is measured. Default: the figure as reported, higher is better.
	Measure Measure
	// Copy says what a replaced member takes over besides the weights. Default: everything.
	Copy CopyOptions
	// Diversify mutates all members' hyperparameters once before training, so that members that begin alike differ.
	// Default false: give Initial or Sample instead.
	Diversify bool
	// Reference are members whose hyperparameters are never mutated. They can be replaced, and then copy the source's
	// hyperparameters unmutated; a decision to mutate them in place is not applied. Default: none.
	//
	// A reference member shows whether mutations help: it has the best weights and hyperparameters, without a gamble.
	Reference []int
	// Rebuild names hyperparameters that only take effect when a member is rebuilt: when one of them changes, New is
	// called with the new values and the weights are restored into what it returns. The same is done when
	// Trainee.SetHyperparameters returns an error that wraps ErrRebuild.
	Rebuild []string
	// Strategy decides which member copies which. Default: strategy.DefaultIsaacLab().
	Strategy strategy.Strategy
	// Explore changes hyperparameters that are copied: an [explore.Mutation], [explore.Perturbation], [explore.PB2] or
	// an explorer of your own. It is not copied, so its maps must not change while the population lives. Default: none
	// change.
	Explore explore.Explorer
	// Evolve changes weights and architectures too, in place of Explore; give one of the two. It is called where
	// Explore would be: for members that copy others or mutate themselves.
	Evolve Evolver
	// Target ends training early. Default: nil, training ends after TotalSteps.
	Target *Target
	// Seed makes all decisions, and the members' seeds: equal options and seeds give equal runs.
	Seed int64
	// Parallel is the greatest number of members that train at a time. It does not change results. Default: the number
	// of processors that Go uses.
	//
	// Lower it where members share a GPU or need much memory. More than the number of processors gains nothing.
	Parallel int
	// Directory keeps the members' states and journals, a folder each, so that the same options continue where an
	// earlier run ended. It is created if missing, and used by one population at a time. It is a workspace, as
	// processes share it: see package workspace. Default (empty): nothing is kept, journals are in memory.
	Directory string
	// SaveSteps is the number of a member's own environment steps after which the state is also saved within an
	// interval. Default 0: the state is saved at the ends of intervals only.
	//
	// A smaller value loses less work when a process is killed, and writes more; members that wait for each other then
	// wait at every save. SaveSteps does not change results if trainees continue exactly from their snapshots.
	SaveSteps int64
	// Progress, when not nil, is called while training, never twice at once.
	Progress func(Update)
	// ProgressSteps divides the intervals: Progress is called after about that many environment steps of a member. The
	// objective is read there too, which matters to strategy.Status.Peak and Measure.Window. Default 0: at interval
	// ends only.
	//
	// A smaller value shows progress more often; each reading costs a call of Trainee.Metrics. A cancelled context is
	// noticed at any time, by the trainee.
	ProgressSteps int64
	// OnInterval, when not nil, is called at the end of every interval, once its decisions are applied and the state is
	// saved, and at the end of training. It may call the population's methods that only tell something, and may use
	// trainees. An error ends training.
	OnInterval func(p *Population) error
	// New builds a member. Its trainee must share no agent, network or environment with another member. Members are
	// built one after the other.
	New func(m Member) (Trainee, error)
	// Initial are hyperparameters to begin with: none, one map for all members, or one a member. They win over
	// Sample.
	Initial []map[string]float64
	// Sample are ranges from which each member's first hyperparameters are drawn.
	Sample map[string]explore.Range
}

// Delays are numbers of environment steps that a member trains before decisions about it.
type Delays = strategy.Delays

// Pace says whether members wait for each other.
type Pace struct {
	// Asynchronous lets every member decide about itself at the end of its own intervals, by the records that its peers
	// last published. No member waits for the slowest. Decisions then depend on timing: equal seeds give different
	// runs. Default false: all members reach the end of an interval before any decision.
	Asynchronous bool
	// Slack is how many intervals newer than a member's own a peer's record may be, if Asynchronous is set. Default 0:
	// only peers of equal or less experience count. A larger value lets slow members copy faster ones, at the cost of
	// comparing members of unequal experience.
	Slack int64
}

// CopyOptions says what a replaced member takes over from the source besides the weights. The zero value copies
// everything. It works on snapshots of gorl's agents and trainers, by the names in checkpoint/layout; what other
// trainees put into a snapshot is always copied. A member that failed or diverged has nothing that is worth keeping:
// KeepPart then copies.
//
// Copying everything continues the source's training exactly, only with other hyperparameters. Keep or reset a part
// where it stands for something that the mutation changes, as an optimizer's moments do for a very different learning
// rate.
//
// The yaml tags are the keys under pbt.inherit in a file.
type CopyOptions struct {
	// Optimizer says where the optimizer's moments and step counts come from: copy (or empty) takes the source's,
	// keep the member's own, reset clears them, decay takes the source's moments times MomentDecay.
	//
	// Kept moments belong to other weights; they are of use only where members are near each other. Reset moments make
	// Adam's first steps large: combine them with a warm-up.
	Optimizer Part `yaml:"optimizer" config:"oneof=|copy|keep|reset|decay"`
	// MomentDecay is the factor of Optimizer decay, above 0.
	//
	// A smaller one forgets more of the source's gradients.
	MomentDecay float64 `yaml:"moment_decay" config:"min=0,max=1"`
	// Normalizers are the running scalers and the statistics of normalize_observation and normalize_reward. Weights
	// seldom work with other scalers, so keep is for experiments.
	Normalizers Part `yaml:"normalizers" config:"oneof=|copy|keep"`
	// Schedule is the state of the learning-rate schedule; reset is its beginning. It scales the member's new rate
	// in any case.
	Schedule Part `yaml:"schedule" config:"oneof=|copy|keep|reset"`
	// Environment is the state of environments and curricula. It needs trainers that save it (save_buffers).
	Environment Part `yaml:"environment" config:"oneof=|copy|keep"`
	// Buffers are replay memories and rollouts in progress. If only one of Buffers and Environment is kept, a new
	// rollout begins.
	Buffers Part `yaml:"buffers" config:"oneof=|copy|keep"`
}

// Part says where a replaced member has a part of its snapshot from. It is a string.
type Part = inherit.Part

// The sources of a part. The zero value is CopyPart.
const (
	CopyPart  = inherit.Copy
	KeepPart  = inherit.Keep
	ResetPart = inherit.Reset
	DecayPart = inherit.Decay
)

// Target ends training early, as soon as the mean of the last 10 scores of every member (strategy.Status.Scores) has
// reached a figure.
type Target struct {
	// Figure is the figure to reach.
	Figure float64
	// Generations is the least number of intervals before. Default 1.
	Generations int64
}

// Update is what Options.Progress is called with.
type Update struct {
	// Iteration is the interval in progress or just ended.
	Iteration int64
	// TargetSteps are the member's own environment steps at the interval's end.
	TargetSteps int64
	// Status is where the member stands; its objective is the latest, not only the interval's last, and more of it is
	// better, as strategies see it.
	Status strategy.Status
	// Metrics are the trainee's latest; nil when Event is not.
	Metrics map[string]float64
	// Event is nil while the member trains, else what was written to the journal about it.
	Event *journal.Event
	// Err is why the member failed, where Event says that it did; a *PanicError holds the stack.
	Err error
}

// needsAll reports whether the options need all members in one group.
func (o Options) needsAll() bool { return o.Evolve != nil || o.Target != nil || o.OnInterval != nil }

func (o Options) withDefaults() Options {
	if o.Strategy == nil {
		o.Strategy = strategy.DefaultIsaacLab()
	}
	o.Parallel = cmp.Or(o.Parallel, runtime.GOMAXPROCS(0))
	return o
}

// clone makes valid options independent of maps and slices that the caller may go on to change, except those of the
// explorer, and gives them the explorer that changes nothing if they have none.
func (o Options) clone() Options {
	o.Initial = slices.Clone(o.Initial)
	for i, values := range o.Initial {
		o.Initial[i] = maps.Clone(values)
	}
	o.Sample = maps.Clone(o.Sample)
	o.Reference, o.Rebuild = slices.Clone(o.Reference), slices.Clone(o.Rebuild)
	if o.Explore == nil {
		o.Explore = explore.Mutation{} // changes nothing
	}
	return o
}

// initial returns the hyperparameters that member id begins with: drawn from Sample, and overwritten by Initial.
func (o Options) initial(id int) map[string]float64 {
	values := make(map[string]float64)
	rng := streams.New(o.Seed, streams.Sample, int64(id))
	for _, key := range slices.Sorted(maps.Keys(o.Sample)) {
		values[key] = o.Sample[key].Draw(rng)
	}
	switch {
	case len(o.Initial) == 1:
		maps.Copy(values, o.Initial[0])
	case len(o.Initial) > 1:
		maps.Copy(values, o.Initial[id])
	}
	return values
}

// Tuned returns the hyperparameters that the options name, sorted: those that begin with given or drawn values, and
// those that may be mutated. They are worth a column in tables and a curve in plots. hyperparameters are all that
// members have; patterns are expanded to them.
func (o Options) Tuned(hyperparameters []string) []string {
	keys := slices.Collect(maps.Keys(o.Sample))
	for _, values := range o.Initial {
		keys = slices.AppendSeq(keys, maps.Keys(values))
	}
	if o.Explore != nil {
		keys = append(keys, explore.Expand(o.Explore.Keys(), hyperparameters)...)
	}
	if o.Evolve != nil {
		keys = append(keys, o.Evolve.Keys()...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// target returns the number of own environment steps at which an interval ends.
func (o *Options) target(iteration int64) int64 {
	if iteration >= o.lastIteration() {
		return o.TotalSteps
	}
	return iteration * o.IntervalSteps
}

// lastIteration returns the number of the interval that ends training; it may be shorter than the others.
func (o *Options) lastIteration() int64 {
	return (o.TotalSteps-1)/o.IntervalSteps + 1
}

// pause returns the number of own environment steps at which a member with so many next reports progress: after
// Options.ProgressSteps, counted from the interval's beginning, or at its end. A member that failed and was rescued may
// lie before the beginning; it pauses at the same multiples, wherever its process was interrupted.
func (o *Options) pause(iteration, steps int64) int64 {
	end := o.target(iteration)
	if o.ProgressSteps == 0 {
		return end
	}
	past := (steps - o.target(iteration-1)) % o.ProgressSteps // since the last pause
	if past < 0 {
		past += o.ProgressSteps
	}
	return min(end, steps-past+o.ProgressSteps)
}
