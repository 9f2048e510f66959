package pbt

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/config"
)

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

// Part says where a replaced member has a part of its snapshot from.
type Part string

// The sources of a part. The zero value is CopyPart.
const (
	CopyPart  Part = "copy"
	KeepPart  Part = "keep"
	ResetPart Part = "reset"
	DecayPart Part = "decay"
)

// validate checks each part by its config tag, and MomentDecay against Optimizer.
func (o CopyOptions) validate() error {
	if err := config.Check(o, "pbt: inherit"); err != nil {
		return err
	}
	switch decays := o.Optimizer == DecayPart; {
	case decays && o.MomentDecay == 0:
		return fmt.Errorf("pbt: inherit.moment_decay is 0; give a factor above 0, at most 1, or make optimizer %q "+
			"to have no moments", ResetPart)
	case !decays && o.MomentDecay != 0:
		return fmt.Errorf("pbt: inherit.moment_decay is %v, but inherit.optimizer is %q; make that %q, or leave "+
			"moment_decay out", o.MomentDecay, o.Optimizer, DecayPart)
	}
	return nil
}

// combine returns the snapshot that a member restores: the source's, with those parts of the member's own that it keeps
// (own is nil where it has none worth keeping). Neither is changed; arrays are shared.
func (o CopyOptions) combine(source, own *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	if own == nil {
		own = source
	}
	c := combination{from: own, to: &checkpoint.Snapshot{Arrays: maps.Clone(source.Arrays),
		Values: cloneValues(source.Values), Metadata: source.Metadata}}
	agents := layout.Agents(c.to.Values)
	parts := []Part{o.Optimizer, o.Normalizers, o.Schedule, o.Environment, o.Buffers}
	if len(agents) == 0 || !slices.ContainsFunc(parts, func(p Part) bool { return p != "" && p != CopyPart }) {
		return source, nil
	}
	mine := make(map[string]map[string]any)
	for _, a := range layout.Agents(own.Values) {
		mine[a.Prefix] = a.Values
	}
	for _, a := range agents {
		if mine[a.Prefix] == nil {
			return nil, fmt.Errorf("the source has an agent %q, the member has none", strings.TrimSuffix(a.Prefix, "/"))
		}
		if err := o.combineAgent(c, a, mine[a.Prefix]); err != nil {
			return nil, err
		}
	}
	// The statistics of the environment's wrappers belong to the weights, not to the environment's state.
	if o.Environment == KeepPart {
		c.keepArrays(func(name string) bool { return layout.IsEnvironment(name) && !ofWrapper(name) })
	}
	if o.Normalizers == KeepPart {
		c.keepArrays(ofWrapper)
	}
	return c.to, nil
}

// ofWrapper reports whether an array is a running statistic of one of the environment's wrappers.
func ofWrapper(array string) bool {
	_, _, ok := layout.CutWrapperStatistic(array)
	return ok
}

// combineAgent applies the options to the part of one agent: its optimizer, scalers, schedule, memories and rollout.
// own are the values of the member's own agent.
func (o CopyOptions) combineAgent(c combination, a layout.Part, own map[string]any) error {
	optimizers := layout.Map(a.Values, layout.OptimizerSteps)
	moments := func(name string) bool {
		name, ok := strings.CutPrefix(name, a.Prefix)
		optimizer, _, _, moment := layout.CutMoment(name)
		_, is := optimizers[optimizer]
		return ok && moment && is
	}
	var err error
	switch o.Optimizer {
	case KeepPart:
		// Moments of networks with other shapes do not fit the copied weights: then the source's are copied.
		if otherArchitectures(c.from, c.to) {
			break
		}
		c.keepArrays(moments)
		keepValues(a.Values, own, layout.OptimizerSteps)
	case ResetPart:
		err = c.scale(moments, 0)
		for name := range optimizers {
			optimizers[name] = int64(0)
		}
	case DecayPart:
		err = c.scale(moments, float32(o.MomentDecay))
	}
	if err != nil {
		return err
	}
	if o.Normalizers == KeepPart {
		c.keepArrays(func(name string) bool {
			name, ok := strings.CutPrefix(name, a.Prefix)
			return ok && layout.IsStatistic(name)
		})
	}
	if state := layout.Map(a.Values, layout.SchedulerState); state != nil {
		switch o.Schedule {
		case KeepPart:
			keepValues(a.Values, own, layout.Scheduler, layout.SchedulerState)
		case ResetPart: // the base rate in epoch 0
			state["step"] = int64(0)
			if _, moves := state[layout.LearningRate]; moves {
				state[layout.LearningRate] = state["base"]
			}
		}
	}
	rollout := func(name string) bool { return strings.HasPrefix(name, a.Prefix+layout.Rollout("")) }
	if o.Buffers == KeepPart {
		memories := layout.Map(a.Values, layout.Memories)
		c.keepArrays(func(name string) bool {
			memory, ok := layout.CutMemoryRows(strings.TrimPrefix(name, a.Prefix))
			_, is := memories[memory]
			return rollout(name) || ok && is && strings.HasPrefix(name, a.Prefix)
		})
		keepValues(a.Values, own, layout.Memories, layout.RolloutSteps)
	}
	// A rollout in progress continues only in the environment in which it began. Where the two come from different
	// members, a new rollout begins.
	if (o.Buffers == KeepPart) != (o.Environment == KeepPart) {
		maps.DeleteFunc(c.to.Arrays, func(name string, _ checkpoint.Array) bool { return rollout(name) })
		a.Values[layout.RolloutSteps] = int64(0)
	}
	return nil
}

// combination is a snapshot in the making (to), and the member's own from which parts are kept (from).
type combination struct{ from, to *checkpoint.Snapshot }

// keepArrays takes the arrays whose names which accepts from the member's own snapshot, and drops the source's.
func (c combination) keepArrays(which func(name string) bool) {
	own := maps.Clone(c.from.Arrays)
	maps.DeleteFunc(own, func(name string, _ checkpoint.Array) bool { return !which(name) })
	maps.DeleteFunc(c.to.Arrays, func(name string, _ checkpoint.Array) bool { return which(name) })
	maps.Copy(c.to.Arrays, own)
}

// scale multiplies the float32 arrays whose names which accepts.
func (c combination) scale(which func(name string) bool, factor float32) error {
	for name, array := range c.to.Arrays {
		if !which(name) {
			continue
		}
		values, err := array.Float32s()
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
		scaled := make([]float32, len(values))
		for i, v := range values {
			scaled[i] = v * factor
		}
		c.to.Arrays[name] = checkpoint.ArrayFloat32(array.Shape, scaled)
	}
	return nil
}

// keepValues takes entries from another map. Keys that the other map lacks are deleted.
func keepValues(to, from map[string]any, keys ...string) {
	for _, key := range keys {
		delete(to, key)
		if v, ok := from[key]; ok {
			to[key] = v
		}
	}
}

// cloneValues copies the maps of a tree, so that entries can be replaced; other values are shared.
func cloneValues(values map[string]any) map[string]any {
	cloned := maps.Clone(values)
	for key, v := range cloned {
		if m, ok := v.(map[string]any); ok {
			cloned[key] = cloneValues(m)
		}
	}
	return cloned
}

// otherArchitectures reports whether two snapshots have networks of different shapes, so that a trainee of one cannot
// restore the other.
func otherArchitectures(a, b *checkpoint.Snapshot) bool {
	return a != b && !reflect.DeepEqual(architecturesOf(a), architecturesOf(b))
}

// architecturesOf returns the architectures recorded in a snapshot by the agents' prefixes, as JSON: numbers compare
// equal then whether or not the snapshot was read from a file.
func architecturesOf(s *checkpoint.Snapshot) map[string]string {
	found := make(map[string]string)
	add := func(prefix string, values map[string]any) {
		if v, ok := values[layout.Architectures]; ok {
			if data, err := json.Marshal(v); err == nil {
				found[prefix] = string(data)
			}
		}
	}
	if s != nil {
		add("", s.Values)
		for _, a := range layout.Agents(s.Values) {
			add(a.Prefix, a.Values)
		}
	}
	return found
}
