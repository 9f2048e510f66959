// Package layout defines the names of arrays and values in the snapshots of gorl's agents and trainers, and finds them.
//
// # Arrays
//
//	policy/net.0.weight                           parameter "net.0.weight" of the network "policy": Parameter
//	optimizer/exp_avg/policy/net.0.weight         its first moment in the optimizer "optimizer": ExpAvg
//	optimizer/exp_avg_sq/policy/net.0.weight      its second moment: ExpAvgSq
//	observation_preprocessor/running_mean         a statistic of a running scaler: Statistic
//	random/generator                              state of the tensors' generator: RandomGenerator
//	rollout/rewards                               the rollout in progress, [timesteps, environments, width]: Rollout
//	rollout/hidden/policy                         the current states of a recurrent network: Hidden
//	rollout/sequences/policy                      its states at the start of the rollout's sequences: Sequences
//	rollout/poor_steps                            consecutive steps with a low style reward: PoorSteps
//	rollout/told_windows                          with latent_mode calm: latents and their motions: ToldWindows
//	rollout/acting/policy/net.0.weight            with overlap: parameters that collect the rollout: Acting
//	reply_buffer/rows                             the rows of a memory: MemoryRows
//	environment/state                             the environment's own bytes: EnvironmentState
//	callbacks/patience                            the own bytes of a trainer's callback: Callback
//	environment/statistics/0.normalize_reward/mean  of a wrapper, numbered from the innermost: WrapperStatistic
//	agent_0/policy/net.0.weight                   the same of the first agent of a group: Member
//
// "policy/net.0.weight" has two halves. The prefix "policy" is the network's role: the agent sets it by [Parameter].
// The suffix "net.0.weight" is the network's own: package models numbers the layers of a perceptron as PyTorch's
// Sequential does, and names the containers of a network from YAML.
//
// # Values
//
// The keys are the constants below. An agent's values are at the top of its snapshot, those of a group's agents under
// "agent_0", "agent_1", ...; [Agents] finds both.
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

// Encoder is AMP's network that infers a latent skill from motion (latent_size). skrl has none.
const Encoder = "encoder"

// Networks returns the names above in their order.
func Networks() []string { return []string{Policy, Value, StyleValue, Discriminator} }

// The optimizers of gorl's agents.
const (
	Optimizer              = "optimizer"
	DiscriminatorOptimizer = "discriminator_optimizer" // with discriminator_optimizer: separate
)

// The running scalers of gorl's agents. A scaler that standardises has the arrays of [Statistics]. One that divides by
// the mean of absolute values (preprocessors.RunningMeanAbsScaler) has RunningMeanAbs and CurrentCount.
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
	// RandomGenerator is the state of the tensors' random generator.
	RandomGenerator = "random/generator"
	// ActingGenerator is the state of the actions' generator of an agent with overlap. Other agents have none.
	ActingGenerator = "random/acting_generator"
	// Invalid marks the steps of a rollout that are not learned from. It is absent if all are.
	Invalid = "invalid"
	// Idle marks the steps of a rollout in which the agent had no turn, and after them what follows the last step. It
	// is absent if the agent always has a turn.
	Idle = "idle"
	// NextObservations and NextStates follow a full rollout.
	NextObservations = "next_observations"
	NextStates       = "next_states"

	// PoorSteps counts consecutive steps with a low style reward, per environment (termination_style_reward).
	PoorSteps = rollout + "poor_steps"
	// ToldWindows are the current latents of the environments, each with the motion that it encodes (latent_mode
	// "calm").
	ToldWindows = rollout + "told_windows"

	environment = "environment/"
	// EnvironmentState and the following belong to a trainer: the environment's own bytes, the parameters of its
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

// Callback returns the array of a trainer's callback, as bytes.
func Callback(name string) string { return callbacks + name }

// Keys of an agent's values.
const (
	Agent           = "agent"           // the kind, "PPO" or "AMP"
	Format          = "format"          // the version of this layout
	Timestep        = "timestep"        // timesteps acted
	Updates         = "updates"         // updates done
	Random          = "random"          // state of the generator that shuffles, base64
	RandomDevice    = "random_device"   // the kind of device of RandomGenerator; absent for the CPU
	ActingRandom    = "acting_random"   // with overlap: state of the actions' generator, base64
	Parameters      = "parameters"      // names in the optimizer's order
	OptimizerSteps  = "optimizer_steps" // steps by optimizer
	LearningRate    = "learning_rate"   // the current one
	Scheduler       = "scheduler"       // the kind
	GradientScaler  = "gradient_scaler" // the scale of float16 losses, and the steps since it changed
	SchedulerState  = "scheduler_state" // numbers by name, with "learning_rate" if the schedule changes the rate
	RolloutSteps    = "rollout_steps"   // timesteps of the rollout in progress
	SequenceLength  = "sequence_length" // timesteps of its sequences, for recurrent networks
	Memories        = "memories"        // "length" and "next" by memory
	Hyperparameters = "hyperparameters" // numbers by name
	Architectures   = "architectures"   // by network, if agents can be built with networks of other shapes
	// Description describes the policy for inference without libtorch. Its key is the policy's name. Alone marks a
	// snapshot that holds nothing else.
	Description = Policy
	Alone       = "policy_alone"
	// GroupSize is the number of agents of a group (trainers.Group, IPPO, MAPPO). Only a group's snapshot has it.
	GroupSize = "agents"
	// GroupNames lists the names of the agents of IPPO and MAPPO, in order.
	GroupNames = "agent_names"
	// Trainer is the map of a trainer's values.
	Trainer = "trainer"
)

// Parameter returns the array of a network's parameter.
func Parameter(network, name string) string { return network + "/" + name }

// CutParameter is the inverse of [Parameter].
func CutParameter(array string) (network, name string, ok bool) { return strings.Cut(array, "/") }

// The moments of an optimizer.
const (
	expAvg   = "/exp_avg/"
	expAvgSq = "/exp_avg_sq/"
)

// ExpAvg returns the array of a parameter's first moment, the running average of its gradients.
func ExpAvg(optimizer, parameter string) string { return optimizer + expAvg + parameter }

// ExpAvgSq returns the array of a parameter's second moment, the running average of its squared gradients.
func ExpAvgSq(optimizer, parameter string) string { return optimizer + expAvgSq + parameter }

// CutMoment divides the name of a moment, so that prefix + parameter is the array. ok is false for other arrays.
func CutMoment(array string) (optimizer, prefix, parameter string, ok bool) {
	for _, moment := range []string{expAvg, expAvgSq} {
		if optimizer, parameter, ok = strings.Cut(array, moment); ok {
			return optimizer, optimizer + moment, parameter, true
		}
	}
	return "", "", "", false
}

// Statistic returns the array of a scaler's statistic.
func Statistic(scaler, statistic string) string { return scaler + "/" + statistic }

// IsStatistic reports whether an array is a statistic of a scaler, of any kind of agent.
func IsStatistic(array string) bool {
	scaler, statistic, _ := strings.Cut(array, "/")
	return strings.HasSuffix(scaler, "_preprocessor") &&
		(statistic == RunningMeanAbs || slices.Contains(Statistics(), statistic))
}

const rollout = "rollout/"

// Rollout returns the array of a field of the rollout in progress.
func Rollout(field string) string { return rollout + field }

// Hidden returns the array of the current states of a recurrent network, one row per environment.
func Hidden(network string) string { return Rollout("hidden/" + network) }

// Sequences returns the array of the states at the start of the rollout's sequences.
func Sequences(network string) string { return Rollout("sequences/" + network) }

// Acting returns the array of a parameter or statistic with which an agent with overlap collects the rollout in
// progress. It is one update older than the parameter itself.
func Acting(array string) string { return Rollout("acting/" + array) }

// IsRollout reports whether an array belongs to the rollout in progress.
func IsRollout(array string) bool { return strings.HasPrefix(array, rollout) }

// DropRollout deletes the rollout in progress from an agent's snapshot. It changes the snapshot's maps.
func DropRollout(snap *checkpoint.Snapshot) {
	maps.DeleteFunc(snap.Arrays, func(name string, _ checkpoint.Array) bool { return IsRollout(name) })
	snap.Values[RolloutSteps] = int64(0)
}

// MemoryRows returns the array of a memory's rows.
func MemoryRows(memory string) string { return memory + "/rows" }

// CutMemoryRows is the inverse of [MemoryRows].
func CutMemoryRows(array string) (memory string, ok bool) { return strings.CutSuffix(array, "/rows") }

// IsEnvironment reports whether an array belongs to the trainer's environment.
func IsEnvironment(array string) bool { return strings.HasPrefix(array, environment) }

// WrapperStatistic returns the array of a running statistic of an environment's wrapper (envs.RunningStatistics). i
// counts the wrappers with statistics from the innermost.
func WrapperStatistic(i int, wrapper, statistic string) string {
	return fmt.Sprintf("%s%d.%s/%s", statistics, i, wrapper, statistic)
}

// CutWrapperStatistic returns the wrapper and the statistic of an array, for example "0.normalize_reward" and "mean".
// ok is false for other arrays.
func CutWrapperStatistic(array string) (wrapper, statistic string, ok bool) {
	rest, ok := strings.CutPrefix(array, statistics)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// MemberPrefix begins the names of a group's agents.
const MemberPrefix = "agent_"

// Member returns the key of agent i's values in the snapshot of a group. With "/" it is the prefix of the agent's
// arrays.
func Member(i int) string { return fmt.Sprintf("%s%d", MemberPrefix, i) }

// MemberOf returns agent i's part of a group's snapshot, and the statistics of the environment's wrappers, which the
// group shares. The result shares the snapshot's memory. ok is false if there is no such agent.
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

// NamesIn returns the names of the agents of a snapshot of IPPO or MAPPO, in order, or nil.
func NamesIn(snap *checkpoint.Snapshot) []string {
	list, _ := snap.Values[GroupNames].([]any)
	var names []string
	for _, x := range list {
		name, _ := x.(string)
		names = append(names, name)
	}
	return names
}

// Below returns the arrays whose names begin with prefix and "/", by the rest of their names: the parameters of a
// network, or the arrays of an agent of a group.
func Below(snap *checkpoint.Snapshot, prefix string) map[string]checkpoint.Array {
	own := map[string]checkpoint.Array{}
	for name, a := range snap.Arrays {
		if rest, ok := strings.CutPrefix(name, prefix+"/"); ok {
			own[rest] = a
		}
	}
	return own
}

// Part is an agent's part of a snapshot.
type Part struct {
	// Prefix begins the names of the agent's arrays. It is empty, or "agent_0/" and so on in a group. Groups may be
	// nested.
	Prefix string
	// Values are the agent's values. They are shared with the snapshot.
	Values map[string]any
}

// Agents returns gorl's agents in a snapshot's values: the only one, those of a group in order, or none.
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

// Map returns the map of a key, or nil.
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

// NetworksIn returns the sorted names of the networks in an agent's snapshot: those with moments or architectures. In a
// snapshot with neither it looks for arrays that are named weight or bias.
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
