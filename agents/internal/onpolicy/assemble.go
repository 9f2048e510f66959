package onpolicy

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/tensor"
)

// flatten moves all parameters into flat memory and makes the optimizer: one group and, with a clip each, one clip a
// network.
func (c *Core) flatten(separateFrom int) error {
	var params []tensor.Parameter
	for _, n := range c.networks {
		for _, p := range n.Parameters {
			p.Name = layout.Parameter(n.Name, p.Name)
			params = append(params, p)
		}
	}
	var err error
	if c.Flat, err = tensor.NewFlat(params, c.Device); err != nil {
		return err
	}
	var groups []tensor.Group
	for i, n := range c.networks {
		begin, end, err := c.Flat.Segment(layout.Parameter(n.Name, ""))
		if err != nil {
			continue // a network whose every parameter is shared with an earlier one
		}
		c.segments = append(c.segments, tensor.Group{Name: n.Name, Begin: begin, End: end})
		if separateFrom == 0 || i < separateFrom {
			groups, c.stepped = append(groups, c.segments[len(c.segments)-1]), append(c.stepped, i)
		}
	}
	clips := []tensor.Clip{{Begin: 0, End: groups[len(groups)-1].End}}
	if len(c.Config.GradNormClip) > 1 {
		clips = nil
		for _, g := range groups {
			clips = append(clips, tensor.Clip{Begin: g.Begin, End: g.End})
		}
	}
	if c.Optimizer, err = tensor.NewOptimizer(c.Flat, tensor.OptimizerConfig{Kind: c.Config.Optimizer, WeightDecay: c.Config.WeightDecay}, groups, clips); err != nil {
		return err
	}
	c.backup = c.resident.Zeros(c.Flat.Len())
	c.AddOptimizer(layout.Optimizer, c.Optimizer)
	if c.Config.LearningRateScheduler != "" {
		if c.Scheduler, err = schedulers.New(c.Config.LearningRateScheduler, c.Config.LearningRate[0], c.Config.LearningRateSchedulerKwargs); err != nil {
			return fmt.Errorf("%s: %w", strings.ToLower(c.name), err)
		}
	}
	c.ApplyRates()
	return nil
}

// Segment returns the flat range of a network's parameters.
func (c *Core) Segment(name string) tensor.Group {
	for _, g := range c.segments {
		if g.Name == name {
			return g
		}
	}
	return tensor.Group{}
}

// ApplyRates brings the optimizer's learning rates and clips in line with configuration and schedule.
func (c *Core) ApplyRates() {
	factor := 1.0
	if c.Scheduler != nil {
		factor = c.Scheduler.LearningRate() / c.Config.LearningRate[0]
	}
	for i := range c.Optimizer.Groups {
		c.Optimizer.Groups[i].LearningRate = c.Config.LearningRate[min(c.stepped[i], len(c.Config.LearningRate)-1)] * factor
	}
	for i := range c.Optimizer.Clips {
		c.Optimizer.Clips[i].MaxNorm = c.Config.GradNormClip[min(c.stepped[i], len(c.Config.GradNormClip)-1)]
	}
}

// LearningRate is the policy's current learning rate.
func (c *Core) LearningRate() float64 { return c.Optimizer.Groups[0].LearningRate }

func (c *Core) scalers() error {
	make := func(key, kind string, kwargs map[string]any, size int) (*preprocessors.RunningStandardScaler, error) {
		if kind == "" || size == 0 {
			return nil, nil
		}
		prefix := fmt.Sprintf("%s: %s_kwargs", strings.ToLower(c.name), key)
		cfg, err := agents.ScalerConfig(prefix, kwargs, size, c.Config.Skrl())
		if err != nil {
			return nil, err
		}
		return preprocessors.NewRunningStandardScaler(size, cfg, c.Device)
	}
	var err error
	if c.ObservationScaler, err = make("observation_preprocessor", c.Config.ObservationPreprocessor, c.Config.ObservationPreprocessorKwargs, c.spaces.Observation.Width()); err != nil {
		return err
	}
	if c.StateScaler, err = make("state_preprocessor", c.Config.StatePreprocessor, c.Config.StatePreprocessorKwargs, c.spaces.State.Width()); err != nil {
		return err
	}
	c.VScaler, err = make("value_preprocessor", c.Config.ValuePreprocessor, c.Config.ValuePreprocessorKwargs, 1)
	return err
}

func (c *Core) allocate() error {
	sp, n := c.spaces, int64(c.numEnvs)
	fields := []memory.Field{{Name: "observations", Width: sp.Observation.Width()}, {Name: "actions", Width: sp.Action.Width()},
		{Name: "rewards", Width: 1}, {Name: "terminated", Width: 1}, {Name: "truncated", Width: 1}, {Name: "log_prob", Width: 1},
		{Name: "values", Width: 1}, {Name: "final_values", Width: 1}, {Name: "returns", Width: 1}, {Name: "advantages", Width: 1}}
	if w := sp.State.Width(); w > 0 {
		fields = append(fields, memory.Field{Name: "states", Width: w})
		c.evalState, c.nextState = c.resident.Zeros(n, int64(w)), c.resident.Zeros(n, int64(w))
	}
	var err error
	if c.Rollout, err = memory.NewRollout(c.Config.Rollouts, c.numEnvs, append(fields, c.fields...), c.Device); err != nil {
		return err
	}
	o := int64(sp.Observation.Width())
	c.evalObs, c.nextObs = c.resident.Zeros(n, o), c.resident.Zeros(n, o)
	c.actions = make([]float32, c.numEnvs*sp.Action.Width())
	c.rewards, c.flags = make([]float32, c.numEnvs), make([]float32, c.numEnvs)
	c.stdDev = c.resident.Zeros()
	return c.resident.Err()
}

// probe runs every network once, so that a width that does not fit is an error here and not in mid-training.
func (c *Core) probe() error {
	s := tensor.NoGrad().On(c.Device)
	defer s.Close()
	in := models.Inputs{Observations: s.Zeros(1, int64(c.spaces.Observation.Width()))}
	if w := c.spaces.State.Width(); w > 0 {
		in.States = s.Zeros(1, int64(w))
	}
	mode := c.Policy.Mode(s, in)
	v := c.Value.Forward(s, in)
	judged := c.Policy.Evaluate(s, in, mode).LogProb
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: the models do not fit the spaces %v and %v: %w", strings.ToLower(c.name), c.spaces.Observation, c.spaces.Action, err)
	}
	if got := tensor.Shape(mode); len(got) != 2 || got[1] != int64(c.spaces.Action.Width()) {
		return fmt.Errorf("%s: the policy's actions have shape %v, want (N, %d)", strings.ToLower(c.name), got, c.spaces.Action.Width())
	}
	if got := tensor.Shape(judged); len(got) != 2 || got[1] != 1 {
		return fmt.Errorf("%s: the policy's log-probabilities have shape %v, want (N, 1): one an action (reduction \"sum\")", strings.ToLower(c.name), got)
	}
	if got := tensor.Shape(v); len(got) != 2 || got[1] != 1 {
		return fmt.Errorf("%s: the value network's output has shape %v, want (N, 1)", strings.ToLower(c.name), got)
	}
	return nil
}
