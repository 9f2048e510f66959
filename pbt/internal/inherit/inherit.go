// Package inherit makes the snapshot that a replaced member restores: the source's, with the parts of its own that the
// member keeps. It knows the parts of gorl's agents and trainers by the names in checkpoint/layout; what other trainees
// put into a snapshot is always copied. It only reads the snapshots that it is given.
package inherit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// Parts say where each part comes from. The fields are those of pbt.CopyOptions.
type Parts struct {
	Optimizer                                   Part
	MomentDecay                                 float64
	Normalizers, Schedule, Environment, Buffers Part
}

// Part is where a part comes from; an empty one is Copy.
type Part string

// The sources of a part.
const (
	Copy  Part = "copy"
	Keep  Part = "keep"
	Reset Part = "reset"
	Decay Part = "decay"
)

// Combine returns the snapshot that a member restores: the source's, with those parts of the member's own that it keeps
// (own is nil where it has none worth keeping). Neither is changed; arrays are shared.
func (o Parts) Combine(source, own *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	if own == nil {
		own = source
	}
	c := combination{from: own, to: &checkpoint.Snapshot{Arrays: maps.Clone(source.Arrays),
		Values: cloneValues(source.Values), Metadata: source.Metadata}}
	agents := layout.Agents(c.to.Values)
	parts := []Part{o.Optimizer, o.Normalizers, o.Schedule, o.Environment, o.Buffers}
	if len(agents) == 0 || !slices.ContainsFunc(parts, func(p Part) bool { return p != "" && p != Copy }) {
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
	if o.Environment == Keep {
		c.keepArrays(func(name string) bool { return layout.IsEnvironment(name) && !ofWrapper(name) })
	}
	if o.Normalizers == Keep {
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
func (o Parts) combineAgent(c combination, a layout.Part, own map[string]any) error {
	optimizers := layout.Map(a.Values, layout.OptimizerSteps)
	moments := func(name string) bool {
		name, ok := strings.CutPrefix(name, a.Prefix)
		optimizer, _, _, moment := layout.CutMoment(name)
		_, is := optimizers[optimizer]
		return ok && moment && is
	}
	var err error
	switch o.Optimizer {
	case Keep:
		// Moments of networks with other shapes do not fit the copied weights: then the source's are copied.
		if OtherArchitectures(c.from, c.to) {
			break
		}
		c.keepArrays(moments)
		keepValues(a.Values, own, layout.OptimizerSteps)
	case Reset:
		err = c.scale(moments, 0)
		for name := range optimizers {
			optimizers[name] = int64(0)
		}
	case Decay:
		err = c.scale(moments, float32(o.MomentDecay))
	}
	if err != nil {
		return err
	}
	if o.Normalizers == Keep {
		c.keepArrays(func(name string) bool {
			name, ok := strings.CutPrefix(name, a.Prefix)
			return ok && layout.IsStatistic(name)
		})
	}
	if state := layout.Map(a.Values, layout.SchedulerState); state != nil {
		switch o.Schedule {
		case Keep:
			keepValues(a.Values, own, layout.Scheduler, layout.SchedulerState)
		case Reset: // the base rate in epoch 0
			state["step"] = int64(0)
			if _, moves := state[layout.LearningRate]; moves {
				state[layout.LearningRate] = state["base"]
			}
		}
	}
	rollout := func(name string) bool { return strings.HasPrefix(name, a.Prefix+layout.Rollout("")) }
	if o.Buffers == Keep {
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
	if (o.Buffers == Keep) != (o.Environment == Keep) {
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

// OtherArchitectures reports whether two snapshots have networks of different shapes, so that a trainee of one cannot
// restore the other.
func OtherArchitectures(a, b *checkpoint.Snapshot) bool {
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
