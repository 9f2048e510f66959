package preset

import (
	"errors"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// shared are the keys that every preset has: those for a population's place, and gorl's own.
type shared struct {
	// PolicyIdx is which policy this process trains, where each has a process of its own. Launchers say it in the
	// environment, so a file need not.
	PolicyIdx int `yaml:"policy_idx" config:"min=0"`
	// NumPolicies is the number of members.
	NumPolicies int `yaml:"num_policies" config:"min=1,max=65536"`
	// Directory and Workspace make the population's folder: the second within the first.
	Directory string `yaml:"directory"`
	Workspace string `yaml:"workspace"`

	// TotalSteps is the number of environment steps that every member trains in all. A program that trains needs it,
	// here or from elsewhere.
	TotalSteps int64 `yaml:"total_steps" config:"min=1"`
	// Seed makes all decisions, and the members' seeds. Default: the file's top-level seed, else 0.
	Seed *int64 `yaml:"seed"`
	// Synchronous makes members that are processes wait for each other at every interval's end; those of one process do
	// so anyway.
	Synchronous bool `yaml:"synchronous"`
	// StartAfter is the number of a member's own environment steps, since it started or last took over weights, before
	// which nothing becomes of it.
	StartAfter int64 `yaml:"start_after" config:"min=0"`
	// SettleMutations lets start_after also count from when a member last mutated itself.
	SettleMutations bool `yaml:"settle_mutations"`
	// Measure says how the objective is measured.
	Measure measure `yaml:"measure"`
	// Inherit says what is taken over beside the weights.
	Inherit inherit `yaml:"inherit"`
	// Initial are the hyperparameters that all members begin with, by name.
	Initial map[string]float64 `yaml:"initial"`
	// Sample are ranges to draw each member's first hyperparameters from, by name: [low, high], or {low, high, log: true}
	// to draw between the logarithms.
	Sample map[string]span `yaml:"sample"`
	// Bounds are the least and greatest value, by name: [least, greatest]. Infinities (.inf) leave a side open.
	Bounds map[string][]float64 `yaml:"bounds" config:"inf"`
	// Parameters say more about single hyperparameters, by name; the keys of each are in the next table.
	Parameters map[string]parameter `yaml:"parameters"`
	// Reference are members whose hyperparameters are never mutated. They can be replaced.
	Reference []int `yaml:"reference" config:"min=0"`
	// MaxCopies is how many members may take over the same source in one interval; 0 is no limit.
	MaxCopies int `yaml:"max_copies" config:"min=0"`
	// Rebuild are hyperparameters that only take effect when a member is built anew.
	Rebuild []string `yaml:"rebuild"`
	// Parallel is how many members of one process train at a time; 0 is the number of processors. Processes are divided
	// by the launcher.
	Parallel int `yaml:"parallel" config:"min=0"`
	// ProgressSteps is the number of environment steps after which the objective is read also within an interval; 0 reads it
	// at the end only.
	ProgressSteps int64 `yaml:"progress_steps" config:"min=0"`

	// Heartbeat is how often a member that is a process gives a sign of life. This key and the five after it are for such
	// members only.
	Heartbeat time.Duration `yaml:"heartbeat"`
	// Silence is how long a process may give none before the others go on without it: at least three heartbeats.
	Silence time.Duration `yaml:"silence"`
	// LeaseTTL is how long it may give none before a process on another machine may take its place: at least three
	// heartbeats.
	LeaseTTL time.Duration `yaml:"lease_ttl"`
	// Slack is how many intervals more than its own a peer may have trained whose records a process decides by, where
	// synchronous is false.
	Slack int64 `yaml:"slack" config:"min=0"`
	// SaveSteps is the number of a member's own environment steps after which its state is saved also within an interval;
	// 0 saves it at the end only.
	SaveSteps int64 `yaml:"save_steps" config:"min=0"`
	// RestartProcess starts a process anew where a member has to be built anew, for environments that can be made only
	// once in a process.
	RestartProcess bool `yaml:"restart_process"`
}

type measure struct {
	// Minimise makes less of the objective better.
	Minimise bool `yaml:"minimise"`
	// Window is the number of last measurements (episodes) that Reducer makes one number of; 0 takes the figure as reported.
	Window int `yaml:"window" config:"min=0"`
	// Reducer is mean (also where it is empty), median, min, max, last, ema (exponential moving average) or lcb (the mean
	// less one standard error).
	Reducer string `yaml:"reducer" config:"oneof=|mean|median|min|max|last|ema|lcb"`
	// MinSamples is the number of measurements below which the objective counts as not known.
	MinSamples int `yaml:"min_samples" config:"min=0"`
	// EvaluationEpisodes, when above 0, makes the objective of a separate evaluation of that many episodes at the
	// interval's end, with environments seeded by EvaluationSeed. Window must then be 0.
	EvaluationEpisodes int   `yaml:"evaluation_episodes" config:"min=0"`
	EvaluationSeed     int64 `yaml:"evaluation_seed"`
}

type inherit struct {
	// Optimizer says what becomes of its moments and step counts: copy (also where it is empty), keep, reset or decay (the
	// source's, times MomentDecay).
	Optimizer   string  `yaml:"optimizer" config:"oneof=|copy|keep|reset|decay"`
	MomentDecay float64 `yaml:"moment_decay" config:"min=0,max=1"`
	// Normalizers are the running scalers.
	Normalizers string `yaml:"normalizers" config:"oneof=|copy|keep"`
	// Schedule is the state of the learning-rate schedule.
	Schedule string `yaml:"schedule" config:"oneof=|copy|keep|reset"`
	// Environment is the state of environments and curricula.
	Environment string `yaml:"environment" config:"oneof=|copy|keep"`
	// Buffers are replay memories and rollouts in progress.
	Buffers string `yaml:"buffers" config:"oneof=|copy|keep"`
}

type parameter struct {
	// Rule is the rule that changes the value, in place of the preset's.
	Rule string `yaml:"rule"`
	// Min and Max are the least and greatest value; one that is missing leaves its side open.
	Min *float64 `yaml:"min" config:"inf"`
	Max *float64 `yaml:"max" config:"inf"`
	// Outside says what becomes of a value outside them: clamp (also where it is empty) takes the bound, reflect mirrors
	// at it.
	Outside string `yaml:"outside" config:"oneof=|clamp|reflect"`
	// ChangeRange are the least and greatest factor of change, in place of the preset's.
	ChangeRange []float64 `yaml:"change_range" config:"min=1,minlen=2,maxlen=2"`
	// Step is what whole numbers stay a multiple of, or the greatest change of rule additive; 0 is the rule's own.
	Step float64 `yaml:"step" config:"min=0"`
	// Choices are the values there are, for the rules categorical and neighbour, and to draw from.
	Choices []float64 `yaml:"choices"`
	// Sample is the range to draw anew from: [low, high], or {low, high, log: true}.
	Sample span `yaml:"sample"`
	// Default is the value that a reset puts back.
	Default *float64 `yaml:"default"`
}

// heartbeats are how many of them must be missed before a process counts as silent.
const heartbeats = 3

// sharedDefaults are what holds where neither a file nor a preset says anything else.
func sharedDefaults() shared {
	return shared{NumPolicies: 8, Directory: ".", Workspace: "pbt_workspace", Heartbeat: 5 * time.Second, Silence: 5 * time.Minute, LeaseTTL: workspace.DefaultLeaseTTL}
}

// span is a range to draw from: [low, high] or {low, high, log}.
type span struct{ explore.Range }

// SetConfig implements config.Setter.
func (s *span) SetConfig(value any) error {
	wrong := errors.New("want [low, high], or low, high and, for the logarithm to be uniform, log: true")
	var r struct {
		Low  float64 `yaml:"low"`
		High float64 `yaml:"high"`
		Log  bool    `yaml:"log"`
	}
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
	s.Range = explore.Range{Low: r.Low, High: r.High, Log: r.Log}
	return nil
}
