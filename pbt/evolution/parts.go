package evolution

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// part is one agent of a member: the only one, or one of several that learn together (IPPO and MAPPO, a
// trainers.Group).
type part struct {
	// prefix begins the member's names of what belongs to the agent: "speaker." in "speaker.policy" and
	// "speaker.learning_rate". It is empty if the member has one agent.
	prefix string
	// snap is the agent's own snapshot, which shares its memory with the member's.
	snap *checkpoint.Snapshot
}

// partsOf divides a member's snapshot into those of its agents, in order. There is at least one.
func partsOf(snap *checkpoint.Snapshot) []part {
	var parts []part
	if _, several := snap.Values[layout.GroupSize]; several {
		names, _ := snap.Values[layout.GroupNames].([]any)
		for own, ok := layout.MemberOf(snap, 0); ok; own, ok = layout.MemberOf(snap, len(parts)) {
			name := strconv.Itoa(len(parts))
			if len(parts) < len(names) {
				name = fmt.Sprint(names[len(parts)])
			}
			parts = append(parts, part{name + ".", own})
		}
	}
	if len(parts) == 0 {
		return []part{{"", snap}}
	}
	return parts
}

// joined returns a member's snapshot in which next replaces the snapshots of some agents, by their index. If next is
// empty, it returns snap itself.
func joined(snap *checkpoint.Snapshot, parts []part, next map[int]*checkpoint.Snapshot) *checkpoint.Snapshot {
	if len(next) == 0 {
		return snap
	}
	if parts[0].prefix == "" {
		return next[0]
	}
	out := changed(snap, maps.Clone(snap.Arrays), nil)
	for i, own := range next {
		for name := range layout.Below(snap, layout.Member(i)) {
			delete(out.Arrays, layout.Parameter(layout.Member(i), name))
		}
		for name, a := range own.Arrays {
			if _, _, shared := layout.CutWrapperStatistic(name); !shared {
				out.Arrays[layout.Parameter(layout.Member(i), name)] = a
			}
		}
		out.Values[layout.Member(i)] = own.Values
	}
	return out
}

// title begins messages about the agent: "speaker: ", or nothing if the member has one agent.
func (p part) title() string {
	if p.prefix == "" {
		return ""
	}
	return strings.TrimSuffix(p.prefix, ".") + ": "
}

// owner returns the index of the agent that has a hyperparameter of the member, and the agent's own name for the
// hyperparameter. The index is -1 for a hyperparameter of the environment ("env.goal").
func owner(parts []part, name string) (i int, own string) {
	for i, p := range parts {
		if own, ok := strings.CutPrefix(name, p.prefix); ok {
			return i, own
		}
	}
	return -1, name
}

// valuesOf returns the hyperparameters of agent i by its own names, and those of the environment.
func valuesOf(parts []part, i int, values map[string]float64) map[string]float64 {
	own := map[string]float64{}
	for name, v := range values {
		if of, name := owner(parts, name); of == i || of < 0 {
			own[name] = v
		}
	}
	return own
}

// forAgents returns c with an entry for every agent instead of each entry that names no agent: "learning_rate" becomes
// "speaker.learning_rate" and "listener.learning_rate". Agents that have an entry of their own keep it.
func (c HyperparameterConfig) forAgents(parts []part, values map[string]float64) HyperparameterConfig {
	out := maps.Clone(c)
	for name, p := range c {
		if _, ok := values[name]; ok {
			continue
		}
		for _, agent := range parts {
			full := agent.prefix + name
			if _, ok := values[full]; !ok {
				continue
			}
			delete(out, name)
			if _, given := c[full]; !given {
				out[full] = p
			}
		}
	}
	return out
}
