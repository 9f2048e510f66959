package onpolicy

import (
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// scalers are the agent's running scalers, and how the rollout keeps the rows that they scale.
type scalers struct {
	// The scalers standardise observations, states and returns. A nil scaler leaves them as they are.
	ObservationScaler, StateScaler, VScaler *preprocessors.RunningStandardScaler

	all                []scaler        // first these, then those of the algorithm
	obsRows, stateRows *memory.Packing // how rows of observations and states are kept
}

// makeScalers makes the scalers that the settings ask for, and writes all defaults into the settings.
func (c *Core) makeScalers() (err error) {
	for _, x := range []struct {
		key, kind string // the setting's key is the scaler's name
		kwargs    *map[string]any
		size      int
		to        **preprocessors.RunningStandardScaler
	}{
		{layout.ObservationScaler, c.Config.ObservationPreprocessor, &c.Config.ObservationPreprocessorKwargs,
			c.spaces.Observation.Width(), &c.ObservationScaler},
		{layout.StateScaler, c.Config.StatePreprocessor, &c.Config.StatePreprocessorKwargs, c.spaces.State.Width(),
			&c.StateScaler},
		{layout.ValueScaler, c.Config.ValuePreprocessor, &c.Config.ValuePreprocessorKwargs, 1, &c.VScaler},
	} {
		if x.kind == "" || x.size == 0 {
			continue
		}
		cfg := preprocessors.DefaultScalerConfig()
		cfg.Unbiased = c.Config.Skrl()
		prefix := fmt.Sprintf("%s: %s_kwargs", c.prefix, x.key)
		if err := MergeScaler(prefix, x.kwargs, x.size, &cfg); err != nil {
			return err
		}
		if *x.to, err = preprocessors.NewRunningStandardScaler(x.size, cfg, c.Device); err != nil {
			return err
		}
		c.AddScaler(x.key, *x.to)
	}
	return nil
}

// scaler is a running scaler with its name in snapshots.
type scaler struct {
	name string
	preprocessors.Scaler
}

// statistic is one of a scaler's, with its name in snapshots.
type statistic struct {
	name string
	tensor.Tensor
}

// statistics are all that a scaler has learned.
func (x scaler) statistics() []statistic {
	switch s := x.Scaler.(type) {
	case *preprocessors.RunningStandardScaler:
		return []statistic{{layout.RunningMean, s.Mean}, {layout.RunningVariance, s.Variance}, {layout.CurrentCount,
			s.Count}}
	case *preprocessors.RunningMeanAbsScaler:
		return []statistic{{layout.RunningMeanAbs, s.Mean}, {layout.CurrentCount, s.Count}}
	}
	return nil
}

// allStatistics returns the statistics of all scalers, one after the other.
func (c *scalers) allStatistics() (list []tensor.Tensor) {
	for _, x := range c.all {
		for _, of := range x.statistics() {
			list = append(list, of.Tensor)
		}
	}
	return list
}

// AddScaler registers a scaler (nil for none) for snapshots, Rollback and Close.
func (c *scalers) AddScaler(name string, s preprocessors.Scaler) {
	if s != nil {
		c.all = append(c.all, scaler{name, s})
	}
}

// LearnScale lets a scaler learn from rows (…, width), with several ranks from the rows of all ranks. kept says how
// the rows are kept; pictures are processed in portions. kept is nil for float32 rows.
func (c *Core) LearnScale(s *tensor.Scope, scaler preprocessors.Scaler, kept *memory.Packing, rows tensor.Tensor) {
	together := c.pooled()
	if s.Err() != nil || tensor.Size(rows, 0) == 0 && !together {
		return
	}
	var moments tensor.Tensor
	if together {
		moments = scaler.ZeroMoments(s)
	}
	c.Portions(s, kept.Packed(), tensor.Size(rows, 0), func(s *tensor.Scope, span memory.Span) {
		part := kept.Float32(s, s.Narrow(rows, 0, span.Start, span.Len))
		if together {
			s.AddTo(moments, scaler.Moments(s, part), 1)
		} else {
			scaler.Learn(s, part)
		}
	})
	if together {
		c.Group.Sum(s, moments)
		scaler.Merge(s, moments)
	}
}

// packed reports whether observations or states are kept as bytes.
func (c *scalers) packed() bool { return c.obsRows.Packed() || c.stateRows.Packed() }

// portion is about how many rows with pictures are numbers at once.
const portion = 256

// Portions calls f once for all n rows. If packed is set, rows are kept as bytes: it calls f for one portion after
// the other, each with a scope of its own, so that only one portion is in float32 at a time.
func (c *Core) Portions(s *tensor.Scope, packed bool, n int64, f func(s *tensor.Scope, rows memory.Span)) {
	if !packed {
		f(s, memory.Span{Len: n})
		return
	}
	own := tensor.NoGrad().On(c.Device).Layers(c.Precision)
	defer own.Close()
	for _, span := range memory.Split(n, (n+portion-1)/portion) {
		f(own, span)
		if own.Err() != nil {
			s.Fail(own.Err())
			return
		}
		own.Reset()
	}
}
