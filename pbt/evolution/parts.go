package evolution

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// part is one agent of a member: its only one, or one of several, which learn together (IPPO and MAPPO, a
// trainers.Group).
type part struct {
	// prefix begins the agent's names among those of the member: "speaker." in "speaker.policy" and
	// "speaker.learning_rate". It is empty for an only agent.
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

// joined returns a member's snapshot with other snapshots of some of its agents, by their index. It is the one given
// if there are none.
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

// title begins what is said of the agent alone: "speaker: ", or nothing.
func (p part) title() string {
	if p.prefix == "" {
		return ""
	}
	return strings.TrimSuffix(p.prefix, ".") + ": "
}

// owner returns the index of the agent that has a hyperparameter of the member, and the agent's own name of it. The
// index is -1 if no agent has it: it is the environment's ("env.goal").
func owner(parts []part, name string) (i int, own string) {
	for i, p := range parts {
		if own, ok := strings.CutPrefix(name, p.prefix); ok {
			return i, own
		}
	}
	return -1, name
}

// valuesOf returns the hyperparameters of agent i by its own names, and those that no agent has.
func valuesOf(parts []part, i int, values map[string]float64) map[string]float64 {
	own := map[string]float64{}
	for name, v := range values {
		if of, name := owner(parts, name); of == i || of < 0 {
			own[name] = v
		}
	}
	return own
}

// forAgents returns c with an entry for every agent in the place of one that names no agent: "learning_rate" stands for
// "speaker.learning_rate" and "listener.learning_rate", unless these have entries of their own.
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
