package trainers

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// This file handles the running statistics of the environment's wrappers (envs.RunningStatistics). Snapshots store
// them, evaluations freeze them, and the description of a policy refers to them.

// statistics has the statistics of each wrapper that learns, innermost first, by name ("mean", "variance", "count").
type statistics []map[string][]float64

// normalizers returns the wrappers that have statistics, innermost first.
func (w *world) normalizers() []envs.RunningStatistics {
	return envs.All[envs.RunningStatistics](w.env)
}

// saveStatistics adds the statistics to a snapshot, one array each. A wrapper is identified by its index from the
// innermost and its name.
func (w *world) saveStatistics(snap *checkpoint.Snapshot) {
	for i, w := range w.normalizers() {
		for name, values := range w.Statistics() {
			array := checkpoint.ArrayFloat64([]int64{int64(len(values))}, values)
			snap.Arrays[layout.WrapperStatistic(i, w.StatisticsName(), name)] = array
		}
	}
}

// readStatistics returns the statistics of a snapshot and changes nothing. The snapshot must have statistics of exactly
// the wrappers that the environment has. The result is nil if both have none.
//
// envs.RunningSums belong to episodes in progress. They are read only if no episode has begun. With whole they are part
// of the environment's state.
func (w *world) readStatistics(snap *checkpoint.Snapshot, whole bool) (statistics, error) {
	// By the wrapper's place from the innermost and its name ("0.normalize_observation"), then by the statistic.
	saved := map[string]map[string][]float64{}
	for name, array := range snap.Arrays {
		wrapper, statistic, ok := layout.CutWrapperStatistic(name)
		if !ok || statistic == envs.RunningSums && (whole || w.now != nil) {
			continue
		}
		values, err := array.Float64s()
		if err != nil {
			return nil, fmt.Errorf("trainers: array %q: %w", name, err)
		}
		if saved[wrapper] == nil {
			saved[wrapper] = map[string][]float64{}
		}
		saved[wrapper][statistic] = values
	}
	var read statistics
	var want []string
	for i, w := range w.normalizers() {
		want = append(want, fmt.Sprintf("%d.%s", i, w.StatisticsName()))
		read = append(read, saved[want[i]])
	}
	got := slices.Sorted(maps.Keys(saved))
	switch {
	case len(got) == 0 && whole: // an older checkpoint: the environment's state has them
		return nil, nil
	case !slices.Equal(got, slices.Sorted(slices.Values(want))):
		return nil, fmt.Errorf("trainers: the checkpoint has running statistics of the wrappers %q, "+
			"the environment's wrappers are %q, "+
			"by their places from the innermost: give the environment the wrappers that it was trained with", got, want)
	}
	return read, nil
}

// setStatistics gives the wrappers their statistics, all or (on an error) none, and returns what undoes it. If the
// environment can show its observations, the agent acts next on observations normalised by the new statistics.
func (w *world) setStatistics(given statistics) (undo func() error, err error) {
	if len(given) == 0 {
		return nil, nil
	}
	var before statistics
	for _, w := range w.normalizers() {
		before = append(before, w.Statistics())
	}
	// The present step was normalised by the statistics from before, so it is observed again.
	set := func(to statistics) error {
		var errs []error
		for i, w := range w.normalizers() {
			errs = append(errs, w.SetStatistics(to[i]))
		}
		if o, ok := envs.As[envs.Observer](w.env); ok && w.now != nil {
			now, err := o.Observe()
			if errs = append(errs, err); err == nil {
				w.now = now
			}
		}
		return errors.Join(errs...)
	}
	return func() error { return set(before) }, set(given)
}

// RestoreStatistics gives the environment's wrappers the running statistics of a snapshot, and restores nothing else.
// It is for programs that evaluate an agent which they have restored themselves. Statistics of rewards alone may be
// missing, because an evaluation does not use them. On an error nothing has changed.
func (t *Trainer) RestoreStatistics(snap *checkpoint.Snapshot) error {
	if err := t.usable(); err != nil {
		return err
	}
	return t.world.restoreStatistics(snap)
}

// restoreStatistics is RestoreStatistics of a trainer that is not closed.
func (w *world) restoreStatistics(snap *checkpoint.Snapshot) error {
	given, err := w.readStatistics(snap, false)
	if err != nil {
		// A snapshot without any statistics is accepted if no wrapper of the environment transforms observations.
		_, needed := envs.As[envs.ObservationTransformer](w.env)
		for name := range snap.Arrays {
			_, _, saved := layout.CutWrapperStatistic(name)
			needed = needed || saved
		}
		if !needed {
			return nil
		}
		return err
	}
	undo, err := w.setStatistics(given)
	if err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// freeze stops the wrappers of env from learning. resume restores the mode in which each wrapper was before.
func freeze(env envs.Env) (resume func()) {
	all := envs.All[envs.RunningStatistics](env)
	was := make([]bool, len(all))
	for i, w := range all {
		was[i] = w.Freeze(true)
	}
	return func() {
		for i, w := range all {
			w.Freeze(was[i])
		}
	}
}

// saveTransforms adds the wrappers' transforms of observations to the policies that a snapshot describes. An exported
// policy then acts on the observations of the environment inside the wrappers. Statistics are not copied: a transform
// names the arrays of saveStatistics.
func (w *world) saveTransforms(snap *checkpoint.Snapshot) error {
	// place counts the wrappers with statistics, as saveStatistics does. raw is the observation space inside the first
	// wrapper that transforms.
	var transforms []description.Transform
	var raw spaces.Space // of the environment inside the first
	place := 0           // among the wrappers with statistics
	chain := envs.All[envs.Env](w.env)
	for i, env := range chain {
		w, changes := env.(envs.ObservationTransformer)
		s, learns := env.(envs.RunningStatistics)
		if changes && i > 0 { // an environment that transforms by itself is the one that the policy acts in
			if len(transforms) == 0 {
				raw = chain[i-1].Spaces().Observation
			}
			x := w.ObservationTransform()
			d := description.Transform{Epsilon: x.Epsilon}
			if x.Low < x.High { // JSON has no infinity
				d.Low, d.High = max(x.Low, -math.MaxFloat32), min(x.High, math.MaxFloat32)
			}
			if x.Mean != nil {
				if !learns {
					return fmt.Errorf("trainers: the wrapper %T normalises observations and is no "+
						"envs.RunningStatistics", env)
				}
				d.Mean = layout.WrapperStatistic(place, s.StatisticsName(), "mean")
				d.Variance = layout.WrapperStatistic(place, s.StatisticsName(), "variance")
			}
			transforms = append(transforms, d)
		}
		if learns {
			place++
		}
	}
	if len(transforms) == 0 {
		return nil
	}
	// A group's snapshot describes one policy per agent. All of them act on the output of the same wrappers.
	parts := layout.Agents(snap.Values)
	if len(parts) == 0 {
		parts = []layout.Part{{Values: snap.Values}}
	}
	for _, part := range parts {
		d, err := description.Of(part.Values[layout.Description])
		if err != nil { // a policy that is not described stays so
			continue
		}
		d.Transforms, d.Observation = transforms, raw
		part.Values[layout.Description] = d.Values()
	}
	return nil
}
