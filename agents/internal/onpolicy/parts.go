package onpolicy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Algorithm is an agent as [Overlap] and [Serial] drive it: [Parts] with an Update and the hyperparameters of the
// algorithm.
type Algorithm interface {
	agents.Agent
	agents.Binder
	agents.Tracker
	agents.Noter
	agents.Tunable
	agents.Planner
	agents.Snapshotter
	agents.Reseeder
	agents.Stochastic
	agents.Evolvable
	agents.Recurrent
	agents.Overlapping
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
	networks := append([]NamedNetwork{
		{layout.Policy, o.Policy.Parameters(), o.Policy.Close, o.Policy},
		{layout.Value, o.Value.Parameters(), o.Value.Close, o.Value},
	}, o.Extra...)
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
				closeFree(n.Parameters, n.Close, nil)
			}
		}
	}()
	core, err := newCore(o)
	if err != nil {
		return p, err
	}
	core.networks = networks
	values := newValues(core, o)
	p = Parts{Core: core, Values: values, Collector: newCollector(core, values), Learner: newLearner(core)}
	p.State = &State{Core: core, collector: p.Collector, learner: p.Learner}
	for _, step := range []func() error{
		func() error { return core.findMemories(values.critics) },
		func() (err error) { core.stream, err = tensor.NewStream(core.Device); return err },
		func() error { return core.start(o.Seed) },
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
	return &Core{
		Config: cfg, Policy: o.Policy, Value: o.Value, Device: device, Precision: precision, Figures: NewTracker(),
		Transfer: tensor.NewTransfer(device), Experience: &Experience{},
		Random: newRandom(int64(o.Group.Rank())),
		ranks:  &ranks{Group: o.Group, apart: cfg.Skrl()}, hiddenStates: &hiddenStates{
			joined: models.SharesTrunk(o.Policy, o.Value), steps: cfg.Rollouts, length: cmp.Or(cfg.SequenceLength,
				cfg.Rollouts)},
		scalers: &scalers{obsRows: memory.NewPacking(o.Spaces.Observation),
			stateRows: memory.NewPacking(o.Spaces.State)},
		name: o.Name, spaces: o.Spaces, fields: o.Fields, raw: o.RawObservations, training: true,
		resident: tensor.NoGrad().On(device),
	}, nil
}

// Close releases networks, memories and all tensors. It may be called twice.
func (p Parts) Close() error {
	c := p.Core
	for _, n := range c.networks {
		closeFree(n.Parameters, n.Close, c.Flat)
	}
	p.Learner.close()
	for _, m := range p.replays {
		m.Close()
	}
	if c.Flat != nil {
		c.Flat.Close()
	}
	for _, s := range c.allScalers() {
		if s.Scaler != nil {
			s.Close()
		}
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
