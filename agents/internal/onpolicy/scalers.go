package onpolicy

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// scalers makes the scalers that the configuration asks for, whose settings it then has with all defaults.
func (c *Core) scalers() error {
	make := func(key, kind string, kwargs *map[string]any, size int) (*preprocessors.RunningStandardScaler, error) {
		if kind == "" || size == 0 {
			return nil, nil
		}
		prefix := fmt.Sprintf("%s: %s_kwargs", strings.ToLower(c.name), key)
		cfg, err := agents.ScalerConfig(prefix, *kwargs, size, c.Config.Skrl())
		if err != nil {
			return nil, err
		}
		*kwargs = config.Dict(cfg)
		return preprocessors.NewRunningStandardScaler(size, cfg, c.Device)
	}
	var err error
	if c.ObservationScaler, err = make("observation_preprocessor", c.Config.ObservationPreprocessor,
		&c.Config.ObservationPreprocessorKwargs, c.spaces.Observation.Width()); err != nil {
		return err
	}
	if c.StateScaler, err = make("state_preprocessor", c.Config.StatePreprocessor, &c.Config.StatePreprocessorKwargs,
		c.spaces.State.Width()); err != nil {
		return err
	}
	c.VScaler, err = make("value_preprocessor", c.Config.ValuePreprocessor, &c.Config.ValuePreprocessorKwargs, 1)
	return err
}

// scaler is a running scaler with its name in snapshots; the scaler is nil where the configuration has none.
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
		return []statistic{{layout.RunningMean, s.Mean}, {layout.RunningVariance, s.Variance}, {layout.CurrentCount, s.Count}}
	case *preprocessors.RunningMeanAbsScaler:
		return []statistic{{layout.RunningMeanAbs, s.Mean}, {layout.CurrentCount, s.Count}}
	}
	return nil
}

// allScalers returns the scalers of observations, states and values, and those that the algorithm has added.
func (c *Core) allScalers() []scaler {
	var all []scaler
	for _, x := range []struct {
		name   string
		scaler *preprocessors.RunningStandardScaler
	}{{layout.ObservationScaler, c.ObservationScaler}, {layout.StateScaler, c.StateScaler}, {layout.ValueScaler, c.VScaler}} {
		if x.scaler == nil {
			all = append(all, scaler{name: x.name})
		} else {
			all = append(all, scaler{x.name, x.scaler})
		}
	}
	return append(all, c.extraScalers...)
}

// AddScaler registers an algorithm's own scaler (nil for none) for snapshots, Rollback and Close.
func (c *Core) AddScaler(name string, s preprocessors.Scaler) {
	c.extraScalers = append(c.extraScalers, scaler{name, s})
}

// learnScale lets a scaler learn from a field of the rollout.
func (c *Core) learnScale(s *tensor.Scope, scaler *preprocessors.RunningStandardScaler, kept *memory.Packing, field string) {
	if scaler != nil {
		c.LearnScale(s, scaler, kept, c.ValidRows(s, field))
	}
}

// LearnScale lets a scaler learn from rows (…, width), and where there are several ranks from the rows of all of them. kept
// says how the rows are kept: pictures are learned from in portions; nil is for rows that are numbers.
func (c *Core) LearnScale(s *tensor.Scope, scaler preprocessors.Scaler, kept *memory.Packing, rows tensor.Tensor) {
	together := c.together()
	if s.Err() != nil || tensor.Size(rows, 0) == 0 && !together {
		return
	}
	var moments tensor.Tensor
	if together {
		moments = scaler.ZeroMoments(s)
	}
	packed := kept != nil && kept.Packed()
	c.Portions(s, packed, tensor.Size(rows, 0), func(s *tensor.Scope, span memory.Span) {
		part := rows
		if packed {
			part = kept.Float32(s, s.Narrow(rows, 0, span.Start, span.Len))
		}
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
