package trainers

import (
	"math"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tracking"
)

// A snapshot keeps returns and lengths of the episodes in progress in arrays, next to the environment's state. The
// trainer's values keep those of the last finished episodes and the tracked values since the last write.
const (
	updatesKey  = "updates"
	trackedKey  = "tracked_episodes"
	recordedKey = "tracked_values"
)

// measuredTimes is the prefix of the tags of measured times. Snapshots leave them out, because equal runs differ in
// them.
const measuredTimes = "Stats / "

// save adds tracked values and episodes to a snapshot: the last finished episodes, and the values since the last write
// if the run writes any. Episodes in progress are added only with the environment's state. Lists with a number that is
// not finite are left out, because neither JSON nor a checkpoint can hold them.
func (f *figures) save(snap *checkpoint.Snapshot, writes bool) {
	s := f.episodes.State()
	own := snap.Values[layout.Trainer].(map[string]any)
	own[updatesKey] = f.updates
	if writes {
		own[writtenKey], own[recordedKey] = f.written, tallies(f.recorder.State())
	}
	// finished counts the episodes, drained those written to files. returns and lengths are the last ones'.
	if finite(s.Totals) {
		own[trackedKey] = map[string]any{
			"finished": s.Finished, "drained": s.Drained, "returns": list(s.Totals), "lengths": list(s.Durations),
			"rewards": tallies(map[string]tracking.Tally{"step": s.Rewards}),
		}
	}
	if _, whole := snap.Arrays[layout.EnvironmentState]; whole && finite(s.Returns) {
		n := []int64{int64(len(s.Returns))}
		snap.Arrays[layout.EnvironmentReturns] = checkpoint.ArrayFloat64(n, s.Returns)
		snap.Arrays[layout.EnvironmentLengths] = checkpoint.ArrayInt64(n, s.Lengths)
	}
}

// restore restores the tracked episodes, and those in progress if whole is true. n is the number of environments. What
// the snapshot lacks starts from scratch.
func (f *figures) restore(snap *checkpoint.Snapshot, whole bool, n int) {
	if whole {
		f.episodes.Reset()
	}
	s := tracking.EpisodesState{
		Totals: numbers(snap, trackedKey, "returns"), Durations: numbers(snap, trackedKey, "lengths"),
		Rewards: talliesOf(snap, trackedKey, "rewards")["step"],
	}
	s.Finished, _ = snap.Int(layout.Trainer, trackedKey, "finished")
	s.Drained, _ = snap.Int(layout.Trainer, trackedKey, "drained")
	// Episodes in progress are restored only with the environment's state, to which they belong.
	running := s
	if whole {
		running.Returns, _ = snap.Float64s(layout.EnvironmentReturns, int64(n))
		running.Lengths, _ = snap.Int64s(layout.EnvironmentLengths, int64(n))
	}
	// Episodes in progress that do not fit are left out. If the finished ones do not fit either, figures start from
	// scratch.
	if f.episodes.SetState(running) != nil {
		_ = f.episodes.SetState(s)
	}
	f.recorder.SetState(talliesOf(snap, recordedKey))
	f.updates, _ = snap.Int(layout.Trainer, updatesKey)
}

// tallies converts tallies to the form of a snapshot's values. It leaves out measured times and tallies that are not
// finite.
func tallies(kept map[string]tracking.Tally) map[string]any {
	out := map[string]any{}
	for tag, k := range kept {
		if x := []float64{float64(k.Count), k.Sum, k.Min, k.Max}; finite(x) && !strings.HasPrefix(tag, measuredTimes) {
			out[tag] = list(x)
		}
	}
	return out
}

// talliesOf reads the tallies at a path in the trainer's values. The result is empty if the snapshot has none.
func talliesOf(snap *checkpoint.Snapshot, path ...string) map[string]tracking.Tally {
	v, _ := snap.Value(append([]string{layout.Trainer}, path...)...)
	values, _ := v.(map[string]any)
	kept := map[string]tracking.Tally{}
	for tag := range values {
		if x := numbers(snap, append(path, tag)...); len(x) == 4 && x[0] >= 1 {
			kept[tag] = tracking.Tally{Count: int64(x[0]), Sum: x[1], Min: x[2], Max: x[3]}
		}
	}
	return kept
}

// finite reports whether no number is NaN or infinite.
func finite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// list returns numbers in the form of a snapshot's values. numbers reads them back.
func list(x []float64) []any {
	out := make([]any, len(x))
	for i, v := range x {
		out[i] = v
	}
	return out
}

// numbers reads the list of numbers at a path in the trainer's values. The result is empty if the snapshot has none.
func numbers(snap *checkpoint.Snapshot, path ...string) []float64 {
	v, _ := snap.Value(append([]string{layout.Trainer}, path...)...)
	values, _ := v.([]any)
	out := make([]float64, len(values))
	for i, x := range values {
		out[i], _ = x.(float64) // numbers with a point stay such in files
	}
	return out
}
