// Package layout owns the names inside the snapshots of gorl's agents and trainers: which arrays and values there are,
// what they are called, and how to find them again.
//
// # Arrays
//
//	policy/net.0.weight                           parameter "net.0.weight" of the network "policy": Parameter
//	optimizer/exp_avg/policy/net.0.weight         its first moment in the optimizer "optimizer": ExpAvg
//	optimizer/exp_avg_sq/policy/net.0.weight      its second moment: ExpAvgSq
//	observation_preprocessor/running_mean         a statistic of a running scaler: Statistic
//	random/generator                              state of the tensors' generator: RandomGenerator
//	rollout/rewards                               the rollout in progress, [timesteps, environments, width]: Rollout
//	rollout/hidden/policy                         the states of a network with memory: Hidden
//	rollout/sequences/policy                      those with which the rollout's sequences begin: Sequences
//	rollout/poor_steps                            steps in a row with a poor style reward, an environment: PoorSteps
//	rollout/told_windows                          with latent_mode calm: latents and the motion behind them: ToldWindows
//	rollout/acting/policy/net.0.weight            with overlap: with what the rollout is being collected: Acting
//	reply_buffer/rows                             a memory's rows: MemoryRows
//	environment/state                             the environment's state, bytes of its own: EnvironmentState
//	callbacks/patience                            the state of a trainer's callback, bytes of its own: Callback
//	environment/statistics/0.normalize_reward/mean  of a wrapper, counted from the innermost: WrapperStatistic
//	agent_0/policy/net.0.weight                   the same of the first agent of a group: Member
//
// "policy/net.0.weight" is made of two halves. The prefix "policy" is the network's role, which onpolicy.New
// (agents/internal/onpolicy/parts.go) and amp.New give; Learner.flatten (agents/internal/onpolicy/parameters.go) puts it
// before every parameter by [Parameter]. The suffix "net.0.weight" is the network's own: models.NewMLP
// (models/network.go) numbers its layers as PyTorch's Sequential does, models.NewEvolvable (models/evolvable.go) says
// "encoder.0.weight" and "head.0.weight", and a network read from a specification (models/spec_network.go) names its
// containers.
//
// # Values
//
// The keys are the constants below. An agent's values stand at the top of its snapshot, those of a group's agents under
// "agent_0", "agent_1", ...; [Agents] goes over both.
package layout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// The networks of gorl's agents, in the order in which the agents' optimizers number their parameters.
const (
	Policy        = "policy"
	Value         = "value"
	StyleValue    = "style_value" // AMP's second critic, with separate_critics
	Discriminator = "discriminator"
)

// Encoder is AMP's network that tells a latent skill from motion, with latent_size. skrl has none.
const Encoder = "encoder"

// Networks returns the names above in their order.
func Networks() []string { return []string{Policy, Value, StyleValue, Discriminator} }

// The optimizers of gorl's agents.
const (
	Optimizer              = "optimizer"
	DiscriminatorOptimizer = "discriminator_optimizer" // with discriminator_optimizer: separate
)

// The running scalers of gorl's agents. Statistics has what is stored of each that standardises; one that divides by the
// mean of absolute values (preprocessors.RunningMeanAbsScaler) has RunningMeanAbs and CurrentCount.
const (
	ObservationScaler    = "observation_preprocessor"
	StateScaler          = "state_preprocessor"
	ValueScaler          = "value_preprocessor"
	AMPObservationScaler = "amp_observation_preprocessor"

	RunningMean     = "running_mean"
	RunningVariance = "running_variance"
	RunningMeanAbs  = "running_mean_abs"
	CurrentCount    = "current_count"
)

// Scalers returns the scalers' names.
func Scalers() []string {
	return []string{ObservationScaler, StateScaler, ValueScaler, AMPObservationScaler}
}

// Statistics returns the names of the statistics of a scaler that standardises.
func Statistics() []string { return []string{RunningMean, RunningVariance, CurrentCount} }

// Arrays whose names are fixed.
const (
	// RandomGenerator is the state of the generator that tensors are drawn from.
	RandomGenerator = "random/generator"
	// ActingGenerator is that of the actions of an agent that acts while it learns (overlap); absent for others.
	ActingGenerator = "random/acting_generator"
	// Invalid marks the steps of a rollout that show no transition; absent where all do.
	Invalid = "invalid"
	// NextObservations and NextStates are what follows a full rollout.
	NextObservations = "next_observations"
	NextStates       = "next_states"

	// PoorSteps is how many steps in a row had a poor style reward in each environment, with termination_style_reward.
	PoorSteps = rollout + "poor_steps"
	// ToldWindows are the environments' present latents, each with the motion that it encodes (latent_mode "calm").
	ToldWindows = rollout + "told_windows"

	environment = "environment/"
	// EnvironmentState and the others are a trainer's: the environment as it encodes itself, the parameters of its
	// reward, its curriculum, and the episodes in progress with their returns and lengths.
	EnvironmentState      = environment + "state"
	EnvironmentParameters = environment + "parameters"
	EnvironmentCurriculum = environment + "curriculum"
	EnvironmentEpisodes   = environment + "episodes"
	EnvironmentReturns    = environment + "returns"
	EnvironmentLengths    = environment + "lengths"

	statistics = environment + "statistics/"
	callbacks  = "callbacks/"
)

// Callback returns the name of the array with the state of a trainer's callback, as bytes.
func Callback(name string) string { return callbacks + name }

// Keys of an agent's values.
const (
	Agent           = "agent"           // its kind, "PPO" or "AMP"
	Format          = "format"          // version of this layout
	Timestep        = "timestep"        // timesteps acted
	Updates         = "updates"         // updates done
	Random          = "random"          // state of the sequence that shuffles, base64
	RandomDevice    = "random_device"   // the kind of device whose generator RandomGenerator is of; absent for the CPU
	ActingRandom    = "acting_random"   // with overlap: that of acting, base64
	Parameters      = "parameters"      // names in the optimizer's order
	OptimizerSteps  = "optimizer_steps" // steps by optimizer
	LearningRate    = "learning_rate"   // the current one
	Scheduler       = "scheduler"       // its kind
	GradientScaler  = "gradient_scaler" // the scale of losses in float16, and the steps since it changed
	SchedulerState  = "scheduler_state" // its numbers by name, "learning_rate" among them where it moves the rate
	RolloutSteps    = "rollout_steps"   // timesteps of the rollout in progress
	SequenceLength  = "sequence_length" // timesteps of its sequences, for networks with memory
	Memories        = "memories"        // "length" and "next" by memory
	Hyperparameters = "hyperparameters" // numbers by name
	Architectures   = "architectures"   // by network, where agents can be built with networks of other shapes
	// Description is what the policy computes, for inference without libtorch; it has the policy's name. Alone marks a
	// snapshot that holds nothing else.
	Description = Policy
	Alone       = "policy_alone"
	// GroupSize is the number of agents of a group (trainers.Group); only a group's snapshot has it.
	GroupSize = "agents"
	// Trainer is a trainer's own map.
	Trainer = "trainer"
)

// Parameter is the array of a network's parameter.
func Parameter(network, name string) string { return network + "/" + name }

// CutParameter is the inverse of [Parameter].
func CutParameter(array string) (network, name string, ok bool) { return strings.Cut(array, "/") }

// The moments of an optimizer.
const (
	expAvg   = "/exp_avg/"
	expAvgSq = "/exp_avg_sq/"
)

// ExpAvg is the array of a parameter's first moment, the running average of its gradients.
func ExpAvg(optimizer, parameter string) string { return optimizer + expAvg + parameter }

// ExpAvgSq is the array of a parameter's second moment, the running average of its squared gradients.
func ExpAvgSq(optimizer, parameter string) string { return optimizer + expAvgSq + parameter }

// CutMoment divides the name of a moment: prefix + parameter is the array again. ok is false for other arrays.
func CutMoment(array string) (optimizer, prefix, parameter string, ok bool) {
	for _, moment := range []string{expAvg, expAvgSq} {
		if optimizer, parameter, ok = strings.Cut(array, moment); ok {
			return optimizer, optimizer + moment, parameter, true
		}
	}
	return "", "", "", false
}

// Statistic is the array of a scaler's statistic.
func Statistic(scaler, statistic string) string { return scaler + "/" + statistic }

// IsStatistic reports whether an array is a statistic of a scaler, whatever agent has it.
func IsStatistic(array string) bool {
	scaler, statistic, _ := strings.Cut(array, "/")
	return strings.HasSuffix(scaler, "_preprocessor") && (statistic == RunningMeanAbs || slices.Contains(Statistics(), statistic))
}

const rollout = "rollout/"

// Rollout is the array of a field of the rollout in progress.
func Rollout(field string) string { return rollout + field }

// Hidden is the array of the present states of a network with memory, one row an environment.
func Hidden(network string) string { return Rollout("hidden/" + network) }

// Sequences is the array of the states with which the sequences of the rollout begin.
func Sequences(network string) string { return Rollout("sequences/" + network) }

// Acting is the array of a parameter or statistic that an agent with overlap collects the rollout in progress with:
// that of an update before the newest.
func Acting(array string) string { return Rollout("acting/" + array) }

// IsRollout reports whether an array belongs to the rollout in progress.
func IsRollout(array string) bool { return strings.HasPrefix(array, rollout) }

// DropRollout deletes the rollout in progress from an agent's snapshot. It changes the snapshot's maps.
func DropRollout(snap *checkpoint.Snapshot) {
	maps.DeleteFunc(snap.Arrays, func(name string, _ checkpoint.Array) bool { return IsRollout(name) })
	snap.Values[RolloutSteps] = int64(0)
}

// MemoryRows is the array of a memory's rows.
func MemoryRows(memory string) string { return memory + "/rows" }

// CutMemoryRows is the inverse of [MemoryRows].
func CutMemoryRows(array string) (memory string, ok bool) { return strings.CutSuffix(array, "/rows") }

// IsEnvironment reports whether an array is of the trainer's environment.
func IsEnvironment(array string) bool { return strings.HasPrefix(array, environment) }

// WrapperStatistic is the array of a running statistic of the environment's wrapper i that has some, counted from the
// innermost, by the wrapper's name (envs.RunningStatistics).
func WrapperStatistic(i int, wrapper, statistic string) string {
	return fmt.Sprintf("%s%d.%s/%s", statistics, i, wrapper, statistic)
}

// CutWrapperStatistic returns which wrapper's statistic an array is, for instance "0.normalize_reward" and "mean". ok
// is false for other arrays.
func CutWrapperStatistic(array string) (wrapper, statistic string, ok bool) {
	rest, ok := strings.CutPrefix(array, statistics)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// MemberPrefix begins the names of what belongs to one agent of a group.
const MemberPrefix = "agent_"

// Member is the key of agent i's values in the snapshot of a group; with "/" it is the prefix of its arrays.
func Member(i int) string { return fmt.Sprintf("%s%d", MemberPrefix, i) }

// MemberOf returns agent i's part of a group's snapshot, whose memory it shares, with the statistics of the
// environment's wrappers, which the group shares. ok is false where there is no such agent.
func MemberOf(snap *checkpoint.Snapshot, i int) (own *checkpoint.Snapshot, ok bool) {
	values, ok := snap.Values[Member(i)].(map[string]any)
	if !ok {
		return nil, false
	}
	own = &checkpoint.Snapshot{Arrays: Below(snap, Member(i)), Values: values}
	for name, a := range snap.Arrays {
		if _, _, ok := CutWrapperStatistic(name); ok {
			own.Arrays[name] = a
		}
	}
	return own, true
}

// Below returns the arrays whose names begin with prefix and "/", by the rest of their names: a network's parameters by
// their names within it, or the arrays of an agent of a group.
func Below(snap *checkpoint.Snapshot, prefix string) map[string]checkpoint.Array {
	own := map[string]checkpoint.Array{}
	for name, a := range snap.Arrays {
		if rest, ok := strings.CutPrefix(name, prefix+"/"); ok {
			own[rest] = a
		}
	}
	return own
}

// Part is where an agent stands in a snapshot.
type Part struct {
	// Prefix is that of the agent's arrays: empty, or "agent_0/" and so on in a group, also of groups.
	Prefix string
	// Values are the agent's, shared with the snapshot.
	Values map[string]any
}

// Agents finds gorl's agents among a snapshot's values: the only one, those of a group in order, or none.
func Agents(values map[string]any) []Part { return agentsBelow("", values) }

func agentsBelow(prefix string, values map[string]any) []Part {
	if _, group := values[GroupSize]; group {
		var all []Part
		for i := 0; ; i++ {
			member, ok := values[Member(i)].(map[string]any)
			if !ok {
				return all
			}
			all = append(all, agentsBelow(prefix+Member(i)+"/", member)...)
		}
	}
	if Map(values, OptimizerSteps) != nil {
		return []Part{{prefix, values}}
	}
	return nil
}

// Map returns the map under a key, nil where there is none.
func Map(values map[string]any, key string) map[string]any {
	m, _ := values[key].(map[string]any)
	return m
}

// OptimizersIn returns the sorted names of the optimizers that have moments or steps in an agent's snapshot.
func OptimizersIn(snap *checkpoint.Snapshot) []string {
	names := map[string]bool{}
	for array := range snap.Arrays {
		if optimizer, _, _, ok := CutMoment(array); ok {
			names[optimizer] = true
		}
	}
	for name := range Map(snap.Values, OptimizerSteps) {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// NetworksIn returns the sorted names of the networks in an agent's snapshot: those with moments and those with
// architectures. A snapshot with neither is searched for arrays named after weights and biases.
func NetworksIn(snap *checkpoint.Snapshot) []string {
	names := map[string]bool{}
	for array := range snap.Arrays {
		if _, _, parameter, ok := CutMoment(array); ok {
			network, _, _ := CutParameter(parameter)
			names[network] = true
		}
	}
	for name := range Map(snap.Values, Architectures) {
		names[name] = true
	}
	if len(names) == 0 {
		for array := range snap.Arrays {
			network, name, ok := CutParameter(array)
			if ok && (strings.HasSuffix(name, "weight") || strings.HasSuffix(name, "bias")) {
				names[network] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
