package onpolicy

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/tensor"
)

// All parameters of an agent are views of one flat tensor, their gradients of another: clipping, the optimizer's step,
// copying weights and undoing an update are one operation each, whatever the networks. This file lays them out and
// names them, and registers whatever else snapshots and Rollback must know: optimizers, scalers, memories.

// flatten moves the parameters of all networks into flat memory, where each is named after its network and its place in
// it ("policy/net.0.weight": models name the part after the slash), and makes the optimizer: a group of parameters for
// each network, and one limit of the gradient's norm for all or, where grad_norm_clip has several values, one each.
// Networks from the index separateFrom on are left to an optimizer of their own (0: none are). own is the agent's name
// in errors.
func (c *Core) flatten(separateFrom int, own string) (err error) {
	var params []tensor.Parameter
	for _, n := range c.networks {
		for _, p := range n.Parameters {
			if !tensor.Valid(p.Tensor) {
				return fmt.Errorf("%s: the parameter %q of the %s network is not a tensor or is released; "+
					"an agent closes its networks when it is closed: build one network for each agent",
					strings.ToLower(c.name), p.Name, n.Name)
			}
			p.Name = layout.Parameter(n.Name, p.Name)
			params = append(params, p)
		}
	}
	c.Flat, err = tensor.NewSharedFlat(params, c.Device, c.behind(), own)
	if taken := (*tensor.OwnedError)(nil); errors.As(err, &taken) {
		network, _, _ := strings.Cut(taken.Parameter, "/")
		return fmt.Errorf("%s: the %s network was given to two agents: %s, to which it belongs, and %s; "+
			"build one network for each agent, for instance by Options.Models.Make",
			strings.ToLower(c.name), network, taken.Owner, own)
	}
	if err != nil {
		return err
	}
	var groups []tensor.Group
	for i, n := range c.networks {
		begin, end, err := c.Flat.Segment(layout.Parameter(n.Name, ""))
		if err != nil {
			continue // it shares all of its parameters with an earlier network, which has them already
		}
		c.segments = append(c.segments, tensor.Group{Name: n.Name, Begin: begin, End: end})
		if separateFrom == 0 || i < separateFrom {
			groups, c.stepped = append(groups, c.segments[len(c.segments)-1]), append(c.stepped, i)
		}
	}
	// One limit for the gradients of all networks together, unless each has its own.
	clips := []tensor.Clip{{Begin: 0, End: groups[len(groups)-1].End}}
	if len(c.Config.GradNormClip) > 1 {
		clips = nil
		for _, g := range groups {
			clips = append(clips, tensor.Clip{Begin: g.Begin, End: g.End})
		}
	}
	if c.Optimizer, err = tensor.NewOptimizer(c.Flat, c.OptimizerConfig(), groups, clips); err != nil {
		return err
	}
	c.backup = c.resident.Zeros(c.Flat.Len())
	c.AddOptimizer(layout.Optimizer, c.Optimizer)
	if err = c.newScheduler(); err != nil {
		return err
	}
	c.ApplyRates()
	return nil
}

// CloseFree closes a network unless it belongs to an agent. It does nothing for nil.
func CloseFree(n interface {
	Parameters() []tensor.Parameter
	Close()
}) {
	switch v := reflect.ValueOf(n); {
	case n == nil:
	case v.Kind() == reflect.Pointer && v.IsNil():
		n.Close()
	default:
		closeFree(n.Parameters(), n.Close, nil)
	}
}

// closeFree closes a network unless one of its parameters belongs to an agent. The agent of own does not count.
func closeFree(params []tensor.Parameter, close func(), own *tensor.Flat) {
	for _, p := range params {
		if f := tensor.FlatOf(p.Tensor); f != nil && f != own {
			return
		}
	}
	close()
}

// OptimizerConfig returns the optimizer's rule as the configuration has it.
func (c *Core) OptimizerConfig() tensor.OptimizerConfig {
	return tensor.OptimizerConfig{Kind: c.Config.Optimizer, Betas: c.Config.AdamBetas[:], Eps: c.Config.AdamEpsilon,
		WeightDecay: c.Config.WeightDecay, Momentum: c.Config.SGDMomentum}
}

// Segment returns the range of a network's parameters in flat memory, and an empty one for a name that it does not
// know.
func (c *Core) Segment(name string) tensor.Group {
	for _, g := range c.segments {
		if g.Name == name {
			return g
		}
	}
	return tensor.Group{}
}

// Plan gives the schedule the number of updates in a run of so many timesteps. It returns notes if the run has no
// update, or if the learning rate becomes 0 before the run ends.
func (c *Core) Plan(timesteps int) (notes []string) {
	// Rollouts that end within learning_starts are thrown away.
	rollout, skipped := c.Config.Rollouts, c.Config.LearningStarts/c.Config.Rollouts
	if timesteps > 0 && timesteps/rollout <= skipped {
		notes = append(notes, fmt.Sprintf("%s: nothing is learned: the run has %d timesteps, and the first update "+
			"comes after %d (\"rollouts\" %d, \"learning_starts\" %d); make the run longer or these smaller",
			strings.ToLower(c.name), timesteps, (skipped+1)*rollout, rollout, c.Config.LearningStarts))
	}
	schedule, ok := c.Scheduler.(interface{ Plan(epochs int64) })
	if !ok {
		return notes
	}
	// skrl steps the schedule once an epoch.
	updates, each := max(1, timesteps/rollout-skipped), 1
	if c.Config.Skrl() {
		each = c.Config.LearningEpochs
	}
	schedule.Plan(int64(updates * each))
	c.ApplyRates()
	curve, ok := schedule.(*schedulers.Curve)
	if !ok {
		return notes
	}
	if from, ok := curve.Vanishes(); ok {
		notes = append(notes, fmt.Sprintf("%s: the learning rate is 0 from update %d of %d on, so that nothing more is learned: %s ends before "+
			"the run does; total_iters: auto (CosineLR: T_max) of learning_rate_scheduler_kwargs makes it end with the run",
			strings.ToLower(c.name), int(from)/each+1, updates, curve.Name()))
	}
	return notes
}

// ApplySettings makes schedule and optimizer follow settings that have changed.
func (c *Core) ApplySettings() error {
	if c.Scheduler != nil && c.Scheduler.Base() != c.Config.LearningRate[0] {
		if err := c.Scheduler.SetBase(c.Config.LearningRate[0]); err != nil {
			return err
		}
	}
	if k, ok := c.Scheduler.(*schedulers.KLAdaptive); ok && c.Config.ScheduleKLThreshold != k.Config().KLThreshold {
		if err := k.SetThreshold(c.Config.ScheduleKLThreshold); err != nil {
			return err
		}
		kwargs := maps.Clone(c.Config.LearningRateSchedulerKwargs)
		kwargs["kl_threshold"] = c.Config.ScheduleKLThreshold
		c.Config.LearningRateSchedulerKwargs = kwargs
	}
	c.ApplyRates()
	return nil
}

// ApplyRates sets the optimizer's learning rates and limits of gradients from the configuration. A schedule scales all
// rates, or that of the policy, by the factor by which it has changed the first.
func (c *Core) ApplyRates() {
	factor := 1.0
	if c.Scheduler != nil {
		factor = c.Scheduler.LearningRate() / c.Config.LearningRate[0]
	}
	for i := range c.Optimizer.Groups {
		rate := c.Config.LearningRate[min(c.stepped[i], len(c.Config.LearningRate)-1)]
		if c.stepped[i] == 0 || c.Config.LearningRateSchedulerNetworks != "policy" {
			rate *= factor
		}
		c.Optimizer.Groups[i].LearningRate = rate
	}
	for i := range c.Optimizer.Clips {
		c.Optimizer.Clips[i].MaxNorm = c.Config.GradNormClip[min(c.stepped[i], len(c.Config.GradNormClip)-1)]
	}
}

// LearningRate returns the policy's present learning rate.
func (c *Core) LearningRate() float64 { return c.Optimizer.Groups[0].LearningRate }

// namedOptimizer is an optimizer with its name in snapshots, and its moments as they were when the update began.
type namedOptimizer struct {
	name string
	*tensor.Optimizer
	avg, avgSq tensor.Tensor
	steps      int64
}

// AddOptimizer registers an algorithm's own optimizer over the flat parameters for snapshots, Rollback and Close.
func (c *Core) AddOptimizer(name string, o *tensor.Optimizer) {
	c.optimizers = append(c.optimizers,
		namedOptimizer{name, o, c.resident.Zeros(c.Flat.Len()), c.resident.Zeros(c.Flat.Len()), 0})
}

// namedReplay is a memory with its name in snapshots.
type namedReplay struct {
	name string
	*memory.Replay
}

// AddReplay registers an algorithm's own memory for snapshots with buffers, and for Close.
func (c *Core) AddReplay(name string, m *memory.Replay) {
	c.replays = append(c.replays, namedReplay{name, m})
}
