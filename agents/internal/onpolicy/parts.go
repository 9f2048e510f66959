package onpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/joint"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Algorithm is an agent as [Overlap] and [Serial] drive it: [Parts] with an Update and the hyperparameters of the
// algorithm.
type Algorithm interface {
	joint.Whole
	agents.Distributed
	LearningRate() float64
}

// Parts are what an algorithm embeds: it adds Update and the settings that only it has.
type Parts struct {
	*Core
	*Values
	*Collector
	*Learner
	*State
}

// New assembles the parts: parameters in flat memory with their optimizer, scalers, random sequences. It runs every
// network once, so that a width that does not fit is an error here. The networks belong to the Parts from then on, and
// New closes them if it fails. A network that belongs to other Parts is an error, and stays open.
func New(o Options) (p Parts, err error) {
	networks := append([]NamedNetwork{{layout.Policy, o.Policy}, {layout.Value, o.Value}}, o.Extra...)
	// On an error everything made so far is closed: the parts with their networks or, before there are any, the
	// networks.
	defer func() {
		switch {
		case err == nil:
		case p.Core != nil:
			_ = p.Close()
			p = Parts{}
		default:
			for _, n := range networks {
				closeFree(n, nil)
			}
		}
	}()
	core, err := newCore(o)
	if err != nil {
		return p, err
	}
	core.networks = networks
	values := &Values{Core: core, Estimator: &Critic{Name: layout.Value, Network: o.Value, Values: "values",
		Final: "final_values"}}
	values.critics = append([]*Critic{values.Estimator}, o.Critics...)
	p = Parts{Core: core, Values: values, Learner: newLearner(core), Collector: &Collector{Core: core,
		RepeatMemories: o.Config.Skrl(), values: values,
		step: tensor.NoGrad().On(core.Device).Layers(core.Precision)}}
	p.State = &State{Core: core, collector: p.Collector, learner: p.Learner}
	for _, step := range []func() error{
		func() error { return core.findMemories(values.critics) },
		func() (err error) { core.stream, err = tensor.NewStream(core.Device); return err },
		func() (err error) { core.Gen, err = tensor.NewGenerator(0, core.Device); return err },
		func() error { return core.Reseed(o.Seed) },
		func() error {
			return p.flatten(o.SeparateFrom, fmt.Sprintf("the %s agent with seed %d", o.Name, o.Seed))
		},
		func() error { return core.shareParameters(o.Settings) },
		core.makeScalers, p.checkChoices, core.checkRanks, p.newGraphs,
		func() (err error) { p.gaussian, err = core.probe(); return err },
		func() error { return p.CheckSettings(core.Config) },
	} {
		if err = step(); err != nil {
			return p, err
		}
	}
	core.computed = values.computed()
	for _, f := range o.Fields {
		if f.Computed {
			core.computed = append(core.computed, f.Name)
		}
	}
	if o.NumEnvs > 0 {
		err = p.Bind(o.NumEnvs)
	}
	return p, err
}

// newCore checks the options and makes the core, still without parameters, scalers and random sequences.
func newCore(o Options) (*Core, error) {
	name, cfg := strings.ToLower(o.Name), o.Config
	if err := o.Spaces.Validate(); err != nil {
		return nil, err
	}
	if o.NumEnvs < 0 {
		return nil, fmt.Errorf("%s: NumEnvs is %d; want a positive number, or 0 to learn it from the trainer", name,
			o.NumEnvs)
	}
	device, err := tensor.ParseDevice(ownDevice(o.Group, cfg.Device, tensor.CUDADevices()))
	if err != nil {
		return nil, fmt.Errorf("%s: \"device\": %w", name, err)
	}
	precision, err := precisionOf(cfg, device)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if got, want := o.Policy.ActionWidth(), o.Spaces.Action.Width(); got != want {
		return nil, fmt.Errorf("%s: the policy's actions have %d values, the action space %v has %d", name, got,
			o.Spaces.Action, want)
	}
	pcg := new(rand.PCG)
	return &Core{
		Config: cfg, Policy: o.Policy, Value: o.Value, Device: device, Precision: precision, Figures: NewTracker(),
		Transfer: tensor.NewTransfer(device), Experience: &Experience{},
		Random: &Random{Rng: rand.New(pcg), pcg: pcg, offset: int64(o.Group.Rank())},
		ranks:  &ranks{Group: o.Group, apart: cfg.Skrl()}, hiddenStates: &hiddenStates{
			joined: models.SharesTrunk(o.Policy, o.Value), length: cmp.Or(cfg.SequenceLength, cfg.Rollouts)},
		scalers: &scalers{obsRows: memory.NewPacking(o.Spaces.Observation),
			stateRows: memory.NewPacking(o.Spaces.State)},
		name: o.Name, prefix: strings.ToLower(o.Name),
		spaces: o.Spaces, fields: o.Fields, raw: o.RawObservations, training: true,
		resident: tensor.NoGrad().On(device),
	}, nil
}

// Close releases networks, memories and all tensors. It may be called twice.
func (p Parts) Close() error {
	c := p.Core
	for _, n := range c.networks {
		closeFree(n, c.Flat)
	}
	p.Learner.close()
	for _, m := range p.replays {
		m.of.Close()
	}
	if c.Flat != nil {
		c.Flat.Close()
	}
	for _, s := range c.all {
		s.Close()
	}
	if c.Rollout != nil {
		c.Rollout.Close()
	}
	if c.Gen != nil {
		c.Gen.Close()
	}
	if p.Collector.draws != nil {
		p.Collector.draws.Close()
	}
	c.resident.Close()
	p.Collector.step.Close()
	c.Transfer.Close()
	c.stream.Close()
	return nil
}

// NamedNetwork is one of the agent's networks. Its name begins the names of its parameters in snapshots
// ("policy/net.0.weight"). Snapshots record its architecture if it has one.
type NamedNetwork struct {
	Name string
	Network
}

// Network is what agents own of policies and of other networks alike.
type Network interface {
	Parameters() []tensor.Parameter
	Close()
}

// flatten moves the parameters of all networks into one flat tensor, and their gradients into another. Clipping, the
// optimizer's step, copying weights and undoing an update are one operation each then. Each parameter is named after
// its network and its place in it ("policy/net.0.weight": models name the part after the slash).
//
// flatten also makes the optimizer: a group of parameters for each network, and one limit of the gradient's norm for
// all or, if grad_norm_clip has several values, one each. Networks from the index separateFrom on are left to an
// optimizer of their own (0: none are). own is the agent's name in errors.
func (c *Learner) flatten(separateFrom int, own string) (err error) {
	var params []tensor.Parameter
	for _, n := range c.networks {
		for _, p := range n.Parameters() {
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
		if separateFrom == 0 || i < separateFrom {
			groups = append(groups, tensor.Group{Name: n.Name, Begin: begin, End: end})
			c.stepped = append(c.stepped, i)
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
	c.AddOptimizer(layout.Optimizer, c.Optimizer)
	if err = c.newScheduler(); err != nil {
		return err
	}
	c.ApplyRates()
	return nil
}

// CloseFree closes a network unless it belongs to an agent. It does nothing for nil.
func CloseFree(n Network) {
	switch v := reflect.ValueOf(n); {
	case n == nil:
	case v.Kind() == reflect.Pointer && v.IsNil():
		n.Close()
	default:
		closeFree(n, nil)
	}
}

// closeFree closes a network unless one of its parameters belongs to an agent. The agent of own does not count.
func closeFree(n Network, own *tensor.Flat) {
	for _, p := range n.Parameters() {
		if f := tensor.FlatOf(p.Tensor); f != nil && f != own {
			return
		}
	}
	n.Close()
}

// OptimizerConfig returns the optimizer's rule as the configuration has it.
func (c *Learner) OptimizerConfig() tensor.OptimizerConfig {
	return tensor.OptimizerConfig{Kind: c.Config.Optimizer, Betas: c.Config.AdamBetas[:], Eps: c.Config.AdamEpsilon,
		WeightDecay: c.Config.WeightDecay, Momentum: c.Config.SGDMomentum}
}

// named is an optimizer or a memory with its name in snapshots.
type named[T any] struct {
	name string
	of   T
}

// AddOptimizer registers an algorithm's own optimizer over the flat parameters for snapshots, Rollback and Close.
func (c *Learner) AddOptimizer(name string, o *tensor.Optimizer) {
	c.optimizers = append(c.optimizers, named[*tensor.Optimizer]{name, o})
}
