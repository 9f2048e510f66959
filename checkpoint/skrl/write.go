package skrl

import (
	"fmt"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// Options configure how a snapshot becomes a checkpoint of skrl.
type Options struct {
	// Like is a checkpoint of the skrl agent that is to load the file. It gives the names and the order of parameters.
	// Without Like, names are those of skrl's model instantiators (net_container.0.weight). Networks with recurrent
	// layers, which the instantiators cannot make, get the names of skrl's examples (gru.weight_ih_l0, net.0.weight).
	Like *Checkpoint
	// WithoutRest omits what skrl's agents cannot hold: the second critic of separate_critics, and a
	// RunningMeanAbsScaler. By default they are an error.
	WithoutRest bool
}

// Write writes an agent's snapshot as a file that skrl's agent.load reads, and replaces the file at path: see [New].
func Write(path string, snap *checkpoint.Snapshot, opt Options) error {
	c, err := New(snap, opt)
	if err != nil {
		return err
	}
	return c.WriteFile(path)
}

// New returns a checkpoint of an agent's snapshot: its networks, its optimizer's state and its running scalers. skrl
// stores no counters, schedules, memories or random states. It has one optimizer with one learning rate, so a
// discriminator's own optimizer becomes a part of that. The checkpoint shares the snapshot's memory.
func New(snap *checkpoint.Snapshot, opt Options) (*Checkpoint, error) {
	list, err := groups(snap)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Path: "the new checkpoint"}
	var order []string // the snapshot's parameters, as skrl's optimizer goes over them
	for _, g := range list {
		if g.role == layout.StyleValue {
			if !opt.WithoutRest {
				return nil, fmt.Errorf("skrl: the agent has two critics (separate_critics), skrl's has one; set " +
					"WithoutRest to write it without the second")
			}
			continue
		}
		state, names, err := network(g, opt)
		if err != nil {
			return nil, err
		}
		for _, m := range g.modules {
			c.Modules = append(c.Modules, Module{m, state})
		}
		order = append(order, names...)
	}
	adam, err := adamOf(snap, order)
	if err != nil {
		return nil, err
	}
	c.Modules = append(c.Modules, Module{layout.Optimizer, adam.dict()})
	for _, name := range layout.Scalers() {
		if _, other := snap.Arrays[layout.Statistic(name, layout.RunningMeanAbs)]; other && !opt.WithoutRest {
			return nil, fmt.Errorf("skrl: the agent's %s is a RunningMeanAbsScaler, which skrl does not have", name)
		}
		if !hasScaler(snap, name) {
			continue
		}
		d, err := writeScaler(snap, name)
		if err != nil {
			return nil, err
		}
		c.Modules = append(c.Modules, Module{name, d})
	}
	return c, nil
}

// network returns the state_dict of a group, and the snapshot's names in its order.
func network(g group, opt Options) (state *torchfile.Dict, names []string, err error) {
	state = torchfile.NewOrderedDict()
	if opt.Like != nil {
		pairs, err := opt.Like.fit(g)
		if err != nil {
			return nil, nil, err
		}
		if pairs == nil {
			return nil, nil, fmt.Errorf("skrl: the checkpoint given as Like has no %s", g.modules[0])
		}
		for _, p := range pairs {
			state.Set(p.file.name, p.agent.array)
			names = append(names, p.agent.name)
		}
		return state, names, nil
	}
	for _, p := range g.parameters {
		name := instantiator(p.name)
		if g.recurrent() {
			name = canonical(p.name)
		}
		if _, twice := state.Get(name); twice {
			return nil, nil, fmt.Errorf("skrl: two parameters of the %s would be called %s; give Options.Like", g.role,
				name)
		}
		state.Set(name, p.array)
		names = append(names, p.name)
	}
	return state, names, nil
}

// adamOf returns Adam's state with the moments of all parameters.
func adamOf(snap *checkpoint.Snapshot, order []string) (*Adam, error) {
	kind, settings := optimizerValues(snap)
	a := &settings
	var err error
	if a.LearningRate, err = currentRate(snap); err != nil {
		return nil, err
	}
	switch {
	case kind == "sgd", kind == "adamw" && a.WeightDecay != 0: // AdamW without decay is Adam
		return nil, fmt.Errorf("skrl: the agent's optimizer is %s with weight_decay %g; skrl's is Adam", kind,
			a.WeightDecay)
	case !(a.LearningRate > 0):
		return nil, fmt.Errorf("skrl: optimizer: the learning rate is %g", a.LearningRate)
	}
	for _, name := range order {
		optimizer := optimizerOf(snap, name)
		step, err := snap.Int(layout.OptimizerSteps, optimizer)
		if err != nil {
			return nil, err
		}
		m, err := momentsOf(snap, optimizer, name, step)
		if err != nil {
			return nil, err
		}
		a.moments = append(a.moments, m)
	}
	return a, nil
}

// currentRate returns the learning rate of the schedule, or the configured one.
func currentRate(snap *checkpoint.Snapshot) (rate float64, err error) {
	for _, path := range [][]string{{layout.SchedulerState, layout.LearningRate}, {layout.LearningRate},
		{layout.Hyperparameters, layout.LearningRate}} {
		if rate, err = snap.Float(path...); err == nil {
			return rate, nil
		}
	}
	return 0, fmt.Errorf("skrl: the snapshot has no learning rate: %w", err)
}
