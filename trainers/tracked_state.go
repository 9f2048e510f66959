package trainers

import (
	"math"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tracking"
)

// Where a snapshot has the tracked episodes: returns and lengths of the episodes in progress in arrays, beside the
// environment's state, and those of the last finished ones among the trainer's values.
const (
	trackedKey = "tracked_episodes"
)

// saveTracked adds the tracked episodes to a snapshot, those in progress where it has the environment's state. Lists
// with a number that is not finite are left out: neither JSON nor a checkpoint takes them.
func (t *Trainer) saveTracked(snap *checkpoint.Snapshot) {
	s := t.episodes.State()
	// Of finished episodes: how many there were, how many have been written to files, and the last ones' figures.
	if finite(s.Totals) {
		snap.Values[layout.Trainer].(map[string]any)[trackedKey] = map[string]any{
			"finished": s.Finished, "drained": s.Drained, "returns": list(s.Totals), "lengths": list(s.Durations),
		}
	}
	if _, whole := snap.Arrays[layout.EnvironmentState]; whole && finite(s.Returns) {
		n := []int64{int64(len(s.Returns))}
		snap.Arrays[layout.EnvironmentReturns] = checkpoint.ArrayFloat64(n, s.Returns)
		snap.Arrays[layout.EnvironmentLengths] = checkpoint.ArrayInt64(n, s.Lengths)
	}
}

// restoreTracked puts the tracked episodes back, those in progress where whole is true. What the snapshot lacks begins
// anew; a run can go on without it.
func (t *Trainer) restoreTracked(snap *checkpoint.Snapshot, whole bool) {
	if whole {
		t.episodes.Reset()
	}
	s := tracking.EpisodesState{Totals: numbers(snap, "returns"), Durations: numbers(snap, "lengths")}
	s.Finished, _ = snap.Int(layout.Trainer, trackedKey, "finished")
	s.Drained, _ = snap.Int(layout.Trainer, trackedKey, "drained")
	// Those in progress are taken only with the environment's state, whose episodes they are.
	running := s
	if n := int64(t.env.NumEnvs()); whole {
		running.Returns, _ = snap.Float64s(layout.EnvironmentReturns, n)
		running.Lengths, _ = snap.Int64s(layout.EnvironmentLengths, n)
	}
	// Episodes in progress that do not fit are left out. Where the finished ones do not fit either, figures begin anew.
	if t.episodes.SetState(running) != nil {
		_ = t.episodes.SetState(s)
	}
	t.knowEpisodes()
}

// finite reports whether all numbers are.
func finite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// list returns numbers as a snapshot's values hold them; numbers reads them back.
func list(x []float64) []any {
	out := make([]any, len(x))
	for i, v := range x {
		out[i] = v
	}
	return out
}

// numbers reads a list of numbers among the tracked episodes of a snapshot, empty where there is none.
func numbers(snap *checkpoint.Snapshot, key string) []float64 {
	v, _ := snap.Value(layout.Trainer, trackedKey, key)
	values, _ := v.([]any)
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = number(x)
	}
	return out
}
