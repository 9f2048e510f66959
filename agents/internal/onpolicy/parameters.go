package onpolicy

import (
	"errors"
	"reflect"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tensor"
)

// All parameters of an agent are views of one flat tensor, their gradients of another: clipping, the optimizer's step,
// copying weights and undoing an update are one operation each, whatever the networks. This file lays them out and
// names them, and registers whatever else snapshots and Rollback must know: optimizers, scalers, memories.

// NamedNetwork is one of the agent's networks. Its name begins the names of its parameters in snapshots
// ("policy/net.0.weight").
type NamedNetwork struct {
	Name       string
	Parameters []tensor.Parameter
	Close      func()
	// Network is the network itself. Snapshots record its architecture if it has one.
	Network any
}

// flatten moves the parameters of all networks into flat memory, where each is named after its network and its place in
// it ("policy/net.0.weight": models name the part after the slash), and makes the optimizer: a group of parameters for
// each network, and one limit of the gradient's norm for all or, if grad_norm_clip has several values, one each.
// Networks from the index separateFrom on are left to an optimizer of their own (0: none are). own is the agent's name
// in errors.
func (c *Learner) flatten(separateFrom int, own string) (err error) {
	var params []tensor.Parameter
	for _, n := range c.networks {
		for _, p := range n.Parameters {
			if !tensor.Valid(p.Tensor) {
				return c.errorf("the parameter %q of the %s network is not a tensor or is released; "+
					"an agent closes its networks when it is closed: build one network for each agent", p.Name, n.Name)
			}
			p.Name = layout.Parameter(n.Name, p.Name)
			params = append(params, p)
		}
	}
	c.Flat, err = tensor.NewSharedFlat(params, c.Device, c.sharedSize(), own)
	if taken := (*tensor.OwnedError)(nil); errors.As(err, &taken) {
		network, _, _ := strings.Cut(taken.Parameter, "/")
		return c.errorf("the %s network was given to two agents: %s, to which it belongs, and %s; "+
			"build one network for each agent, for instance by Options.Models.Make", network, taken.Owner, own)
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
func (c *Learner) OptimizerConfig() tensor.OptimizerConfig {
	return tensor.OptimizerConfig{Kind: c.Config.Optimizer, Betas: c.Config.AdamBetas[:], Eps: c.Config.AdamEpsilon,
		WeightDecay: c.Config.WeightDecay, Momentum: c.Config.SGDMomentum}
}

// Segment returns the range of a network's parameters in flat memory, and an empty one for a name that it does not
// know.
func (c *Learner) Segment(name string) tensor.Group {
	for _, g := range c.segments {
		if g.Name == name {
			return g
		}
	}
	return tensor.Group{}
}

// namedOptimizer is an optimizer with its name in snapshots, and its moments as they were when the update began.
type namedOptimizer struct {
	name string
	*tensor.Optimizer
	avg, avgSq tensor.Tensor
	steps      int64
}

// AddOptimizer registers an algorithm's own optimizer over the flat parameters for snapshots, Rollback and Close.
func (c *Learner) AddOptimizer(name string, o *tensor.Optimizer) {
	c.optimizers = append(c.optimizers,
		namedOptimizer{name, o, c.resident.Zeros(c.Flat.Len()), c.resident.Zeros(c.Flat.Len()), 0})
}
