package agents

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// WarmStart gives an agent what another one has learned: the parameters of every network that both have, and the
// statistics of every scaler that both have. The optimizer, schedule, counters and random sequences stay those of to,
// and so does every network that from does not have: AMP that goes on from a PPO agent keeps its new discriminator.
//
// from is the snapshot of an agent or of a trainer, see [Snapshotter]. taken lists the networks and scalers, sorted.
// It is an error, before anything is changed, where from has no policy of this shape, or a network or scaler that
// both have differs in its parameters.
func WarmStart(to Snapshotter, from *checkpoint.Snapshot) (taken []string, err error) {
	own, err := to.Snapshot(SnapshotOptions{})
	if err != nil {
		return nil, err
	}
	// What each network or scaler of either side consists of.
	ours, theirs := map[string][]string{}, map[string][]string{}
	for name := range own.Arrays {
		if _, _, parameter, moment := layout.CutMoment(name); moment {
			name = parameter
		} else if !layout.IsStatistic(name) {
			continue
		}
		if part, _, _ := strings.Cut(name, "/"); !slices.Contains(ours[part], name) { // a parameter has two moments
			ours[part] = append(ours[part], name)
		}
	}
	for name := range from.Arrays {
		if part, _, _ := strings.Cut(name, "/"); ours[part] != nil {
			theirs[part] = append(theirs[part], name)
		}
	}
	if theirs[layout.Policy] == nil {
		return nil, fmt.Errorf("agents: warm start: the checkpoint has no %q; it is no agent's", layout.Policy)
	}
	for _, part := range slices.Sorted(maps.Keys(theirs)) {
		slices.Sort(ours[part])
		slices.Sort(theirs[part])
		if !slices.Equal(ours[part], theirs[part]) {
			return nil, fmt.Errorf("agents: warm start: the checkpoint's %s has %s, this agent's %s: give the same "+
				"models", part, strings.Join(theirs[part], ", "), strings.Join(ours[part], ", "))
		}
		for _, name := range ours[part] {
			mine, other := own.Arrays[name], from.Arrays[name]
			if !slices.Equal(mine.Shape, other.Shape) || mine.DType != other.DType {
				return nil, fmt.Errorf("agents: warm start: %s is %s %v, the checkpoint's %s %v: give the same models "+
					"and spaces", name, mine.DType, mine.Shape, other.DType, other.Shape)
			}
			own.Arrays[name] = other
		}
		taken = append(taken, part)
	}
	return taken, to.Restore(own)
}
