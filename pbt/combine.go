package pbt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// combine returns what a member is to restore: the source's snapshot, with those parts of the member's own that it
// keeps (own is nil where it has none worth keeping). Neither is changed.
func (h CopyOptions) combine(source, own *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	if own == nil {
		own = source
	}
	c := combination{from: own, to: &checkpoint.Snapshot{Arrays: maps.Clone(source.Arrays), Values: cloneValues(source.Values), Metadata: source.Metadata}}
	agents := agentsIn("", c.to.Values)
	if len(agents) == 0 || h.all(CopyPart) {
		return source, nil
	}
	mine := make(map[string]map[string]any)
	for _, a := range agentsIn("", own.Values) {
		mine[a.prefix] = a.values
	}
	for _, a := range agents {
		if mine[a.prefix] == nil {
			return nil, fmt.Errorf("the source has an agent %q, the member has none", strings.TrimSuffix(a.prefix, "/"))
		}
		if err := h.combineAgent(c, a, mine[a.prefix]); err != nil {
			return nil, err
		}
	}
	if h.Environment == KeepPart {
		c.keepArrays(func(name string) bool { return strings.HasPrefix(name, "environment/") })
	}
	return c.to, nil
}

// all reports whether the same becomes of every part.
func (h CopyOptions) all(part Part) bool {
	for _, p := range []Part{h.Optimizer, h.Normalizers, h.Schedule, h.Environment, h.Buffers} {
		if p != part && (p != "" || part != CopyPart) {
			return false
		}
	}
	return true
}

func (h CopyOptions) combineAgent(c combination, a agentPart, own map[string]any) error {
	optimizers, _ := a.values["optimizer_steps"].(map[string]any)
	moments := func(name string) bool {
		name, ok := strings.CutPrefix(name, a.prefix)
		optimizer, rest, _ := strings.Cut(name, "/")
		_, is := optimizers[optimizer]
		return ok && is && (strings.HasPrefix(rest, "exp_avg/") || strings.HasPrefix(rest, "exp_avg_sq/"))
	}
	var err error
	switch h.Optimizer {
	case KeepPart:
		if otherArchitectures(c.from, c.to) { // the member's moments are of other weights
			break
		}
		c.keepArrays(moments)
		keepValues(a.values, own, "optimizer_steps")
	case ResetPart:
		err = c.scale(moments, 0)
		for name := range optimizers {
			optimizers[name] = int64(0)
		}
	case DecayPart:
		err = c.scale(moments, float32(h.MomentDecay))
	}
	if err != nil {
		return err
	}
	if h.Normalizers == KeepPart {
		c.keepArrays(func(name string) bool {
			name, ok := strings.CutPrefix(name, a.prefix)
			scaler, statistic, _ := strings.Cut(name, "/")
			return ok && strings.HasSuffix(scaler, "_preprocessor") && slices.Contains([]string{"running_mean", "running_variance", "current_count"}, statistic)
		})
	}
	if state, ok := a.values["scheduler_state"].(map[string]any); ok {
		switch h.Schedule {
		case KeepPart:
			keepValues(a.values, own, "scheduler", "scheduler_state")
		case ResetPart:
			resetSchedule(state)
		}
	}
	rollout := func(name string) bool { return strings.HasPrefix(name, a.prefix+"rollout/") }
	if h.Buffers == KeepPart {
		memories, _ := a.values["memories"].(map[string]any)
		c.keepArrays(func(name string) bool {
			memory, ok := strings.CutSuffix(strings.TrimPrefix(name, a.prefix), "/rows")
			_, is := memories[memory]
			return rollout(name) || ok && is && strings.HasPrefix(name, a.prefix)
		})
		keepValues(a.values, own, "memories", "rollout_steps")
	}
	if (h.Buffers == KeepPart) != (h.Environment == KeepPart) {
		maps.DeleteFunc(c.to.Arrays, func(name string, _ checkpoint.Array) bool { return rollout(name) })
		a.values["rollout_steps"] = int64(0)
	}
	return nil
}

// resetSchedule puts a schedule's state to its beginning: the base rate in epoch 0.
func resetSchedule(state map[string]any) {
	state["step"] = int64(0)
	if _, moves := state["learning_rate"]; moves {
		state["learning_rate"] = state["base"]
	}
}

// combination is a snapshot in the making, and the one from which parts are kept.
type combination struct{ from, to *checkpoint.Snapshot }

// keepArrays takes the arrays of some names from the member's own snapshot.
func (c combination) keepArrays(which func(name string) bool) {
	own := maps.Clone(c.from.Arrays)
	maps.DeleteFunc(own, func(name string, _ checkpoint.Array) bool { return !which(name) })
	maps.DeleteFunc(c.to.Arrays, func(name string, _ checkpoint.Array) bool { return which(name) })
	maps.Copy(c.to.Arrays, own)
}

// scale multiplies the arrays of some names.
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

// keepValues takes entries from another map, absent ones too.
func keepValues(to, from map[string]any, keys ...string) {
	for _, key := range keys {
		delete(to, key)
		if v, ok := from[key]; ok {
			to[key] = v
		}
	}
}

// agentPart is where an agent stands in a snapshot: the prefix of its arrays, and its values.
type agentPart struct {
	prefix string
	values map[string]any
}

// agentsIn finds gorl's agents among a snapshot's values: the only one, or those of a group.
func agentsIn(prefix string, values map[string]any) []agentPart {
	if _, group := values["agents"]; group {
		var all []agentPart
		for i := 0; ; i++ {
			name := fmt.Sprintf("agent_%d", i)
			member, ok := values[name].(map[string]any)
			if !ok {
				return all
			}
			all = append(all, agentsIn(prefix+name+"/", member)...)
		}
	}
	if _, ok := values["optimizer_steps"].(map[string]any); ok {
		return []agentPart{{prefix, values}}
	}
	return nil
}

// cloneValues copies the maps of a tree; what they hold beside maps is shared.
func cloneValues(values map[string]any) map[string]any {
	cloned := maps.Clone(values)
	for key, v := range cloned {
		if m, ok := v.(map[string]any); ok {
			cloned[key] = cloneValues(m)
		}
	}
	return cloned
}
