package onpolicy

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Restore puts a snapshot into the running agent: a checkpoint's, or the weights of another member of a population.
// Everything is read and checked before anything is changed, so that on an error the agent is as it was.
func (c *State) Restore(snap *checkpoint.Snapshot) error {
	r := reader{snap: snap, name: strings.ToLower(c.name)}
	if agent, err := snap.Text(layout.Agent); err != nil || agent != c.name {
		return fmt.Errorf("%s: the checkpoint is of an agent %q, not %s", r.name, agent, c.name)
	}
	if format, err := snap.Int(layout.Format); err != nil || format != snapshotFormat {
		return fmt.Errorf("%s: the checkpoint's format is %d, this version of gorl reads %d", r.name, format,
			snapshotFormat)
	}
	// Architectures first: their error says more than that of an array of another shape.
	r.architectures(c)
	r.checkRecurrentLayers(c.Core)
	r.entries("", c.Flat, c.Flat.Values)
	for _, o := range c.learner.optimizers {
		r.entries(layout.ExpAvg(o.name, ""), c.Flat, o.ExpAvg)
		r.entries(layout.ExpAvgSq(o.name, ""), c.Flat, o.ExpAvgSq)
		steps := r.integer(layout.OptimizerSteps, o.name)
		r.then(func() error {
			o.Steps = steps
			return nil
		})
	}
	r.readReplays(c)
	r.statistics("", c.scalers)
	timestep, updates, rollout := r.integer(layout.Timestep), r.integer(layout.Updates), r.integer(layout.RolloutSteps)
	// A rollout in progress fits only an agent with the same rollouts and number of environments.
	if rollout > int64(c.Config.Rollouts) || rollout > 0 && c.Rollout == nil {
		r.fail(fmt.Errorf("the checkpoint holds %d timesteps of a rollout, this agent has room for %d in %d "+
			"environments; use the same rollouts and number of environments", rollout, c.Config.Rollouts, c.numEnvs))
		rollout = 0
	}
	if rollout > 0 {
		for _, name := range c.recorded() {
			r.rows(layout.Rollout(name), c.Rollout.Tensor(name), rollout)
		}
	}
	if rollout > 0 && rollout == int64(c.Config.Rollouts) {
		r.rows(layout.Rollout(layout.NextObservations), c.nextObs, -1)
		if c.nextState.T != nil {
			r.rows(layout.Rollout(layout.NextStates), c.nextState, -1)
		}
	}
	r.hidden(c.Core, int(rollout))
	if c.Rollout != nil && rollout > 0 {
		r.marks(layout.Invalid, c.invalid, int(rollout), c.numEnvs)
		r.marks(layout.Idle, c.idle, int(rollout)+1, c.numEnvs)
	}
	r.schedule(c)
	r.gradientScaler(c)
	r.random(c.Core, layout.Random, layout.RandomGenerator)
	if r.err != nil {
		return r.err
	}
	// Nothing below fails if the checks above have passed, but for errors of the device.
	if err := r.apply(); err != nil {
		return err
	}
	if c.Group.Rank() > 0 { // the random numbers are those of rank 0, which saved; go on with others
		if err := c.Reseed(int64(c.Rng.Uint64() >> 1)); err != nil {
			return err
		}
	}
	c.Timestep, c.Updates, c.collector.acted = timestep, updates, false
	c.learner.ApplyRates()
	if c.Rollout == nil {
		return nil
	}
	return c.Rollout.SetLen(int(rollout))
}

// architectures compares the networks' architectures with the agent's, if the snapshot names them.
func (r *reader) architectures(c *State) {
	if r.err != nil {
		return
	}
	theirs, _ := r.snap.Values[layout.Architectures].(map[string]any)
	if len(theirs) == 0 {
		return
	}
	ours := c.Architectures()
	for _, n := range c.networks {
		v, ok := theirs[n.Name]
		if !ok {
			continue
		}
		a, err := description.ArchitectureOf(v)
		if err != nil {
			r.fail(err)
			return
		}
		b, shaped := ours[n.Name]
		if !shaped {
			r.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's has no architecture; make the "+
				"agent from the checkpoint's", n.Name, a))
		} else if !a.Equal(b) {
			r.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's %v; make the agent from the "+
				"checkpoint's architecture", n.Name, a, b))
		}
	}
}

// gradientScaler reads the scale of losses, if the agent has one. A checkpoint of an agent without one leaves it as it
// is.
func (r *reader) gradientScaler(c *State) {
	if c.learner.gradients == nil || r.snap.Values[layout.GradientScaler] == nil {
		return
	}
	scale, err := r.snap.Float(layout.GradientScaler, "scale")
	if err == nil && !(scale > 0) {
		err = fmt.Errorf("the checkpoint's scale of losses is %g; it must be positive", scale)
	}
	r.fail(err)
	good := r.integer(layout.GradientScaler, "good_steps")
	r.then(func() error {
		*c.learner.gradients = gradientScaler{scale, int(good)}
		return nil
	})
}

// readReplays reads the algorithm's replay buffers, each with its length and next row, if the snapshot holds them.
func (r *reader) readReplays(c *State) {
	if _, err := r.snap.Value(layout.Memories); err != nil {
		return
	}
	for _, m := range c.replays {
		r.rows(layout.MemoryRows(m.name), m.Data(), -1)
		length, next := r.integer(layout.Memories, m.name, "length"), r.integer(layout.Memories, m.name, "next")
		if length > m.Capacity() || next >= m.Capacity() {
			r.fail(fmt.Errorf("the checkpoint's %s holds row %d of %d", m.name, max(length, next), m.Capacity()))
		}
		r.then(func() error { return m.SetCursor(length, next) })
	}
}

// statistics reads those of the agent's scalers, under names that begin with prefix.
func (r *reader) statistics(prefix string, c *scalers) {
	for _, s := range c.allScalers() {
		for _, x := range s.statistics() {
			r.float64s(prefix+layout.Statistic(s.name, x.name), x.Tensor)
		}
	}
}

// random continues both random sequences of an agent. It checks their states by setting other sequences to them. The
// host's state is under the value key, the device's in the array generator.
//
// Only the same kind of device understands the state of its generator. An agent on another kind, such as one on the
// CPU that evaluates what CUDA trained, starts a sequence whose seed is a hash of the state. Every restore of the
// checkpoint starts the same one.
func (r *reader) random(c *Core, key, generator string) {
	text, err := r.snap.Text(key)
	r.fail(err)
	pcg, err := base64.StdEncoding.DecodeString(text)
	r.fail(err)
	state := r.bytes(generator)
	if r.err != nil {
		return
	}
	if err := new(rand.PCG).UnmarshalBinary(pcg); err != nil {
		r.fail(fmt.Errorf("the checkpoint's random state: %w", err))
		return
	}
	r.then(func() error { return c.pcg.UnmarshalBinary(pcg) })
	g, err := tensor.NewGenerator(0, c.Device)
	if err == nil {
		defer g.Close()
		err = g.SetState(state)
	}
	if err == nil {
		r.then(func() error { return c.Gen.SetState(state) })
		return
	}
	if kind, _ := r.snap.Values[layout.RandomDevice].(string); cmp.Or(kind, tensor.CPU.Kind()) == c.Device.Kind() {
		r.fail(fmt.Errorf("the checkpoint's generator: %w", err))
		return
	}
	h := fnv.New64a()
	h.Write(state)
	r.then(func() error { return c.Gen.Seed(int64(h.Sum64())) })
}

// schedule reads the state of the learning-rate schedule, if the agent has one. Another schedule is an error.
func (r *reader) schedule(c *State) {
	if c.learner.Scheduler == nil {
		return
	}
	name, err := r.snap.Text(layout.Scheduler)
	if err != nil || name != c.learner.Scheduler.Name() {
		r.fail(fmt.Errorf("the checkpoint's learning-rate schedule is %q, this agent's %q", name,
			c.learner.Scheduler.Name()))
		return
	}
	state := map[string]float64{}
	for k := range c.learner.Scheduler.State() {
		x, err := r.snap.Float(layout.SchedulerState, k)
		r.fail(err)
		state[k] = x
	}
	// Before all other writes, because only the schedule itself knows whether its numbers fit.
	r.writes = slices.Insert(r.writes, 0, func() error {
		if err := c.learner.Scheduler.Restore(state); err != nil {
			return fmt.Errorf("%s: the checkpoint's learning-rate schedule: %w", r.name, err)
		}
		return nil
	})
}

// marks reads marks (steps, n) of the rollout in progress into dst. Snapshots have the array if some rows are marked.
func (r *reader) marks(array string, dst []bool, steps, n int) {
	rows := make([]bool, steps*n)
	name := layout.Rollout(array)
	if _, has := r.snap.Arrays[name]; has {
		data, err := r.snap.Bools(name, int64(steps), int64(n))
		r.fail(err)
		copy(rows, data)
	}
	r.then(func() error {
		copy(dst, rows)
		return nil
	})
}

// checkRecurrentLayers refuses a snapshot whose networks have recurrent layers if this agent's have none, and the other
// way round.
func (r *reader) checkRecurrentLayers(c *Core) {
	if r.err != nil {
		return
	}
	recurrent := func(parameter string) (network string, is bool) {
		network, name, _ := layout.CutParameter(parameter)
		return network, strings.Contains(name, "weight_hh_l")
	}
	ours := map[string]string{}
	for _, e := range c.Flat.Entries() {
		if network, is := recurrent(e.Name); is {
			ours[network] = e.Name
		}
	}
	theirs := map[string]string{}
	for _, n := range c.networks {
		for name := range r.snap.Arrays {
			if network, is := recurrent(name); is && network == n.Name {
				theirs[network] = name
			}
		}
		own, other := ours[n.Name], theirs[n.Name]
		switch {
		case own == "" && other != "":
			r.fail(fmt.Errorf("the checkpoint's %s network has recurrent layers (%s), "+
				"this agent's has none; make the agent with the networks of the checkpoint", n.Name, other))
		case own != "" && other == "":
			r.fail(fmt.Errorf("the checkpoint's %s network has no recurrent layers, "+
				"this agent's has (%s); make the agent with the networks of the checkpoint", n.Name, own))
		}
	}
}

// hidden reads the states of networks with memory. Without a rollout in progress they start from zero if the snapshot
// has none, or has those of another number of environments.
func (r *reader) hidden(c *Core, rollout int) {
	if len(c.hiddens) == 0 || c.Rollout == nil {
		return
	}
	if rollout > 0 {
		if l := r.integer(layout.SequenceLength); r.err == nil && l != int64(c.length) {
			r.fail(fmt.Errorf("the checkpoint holds a rollout in sequences of %d timesteps, "+
				"this agent's have %d; use the same sequence_length", l, c.length))
		}
	}
	for _, h := range c.hiddens {
		a, ok := r.snap.Arrays[layout.Hidden(h.name)]
		if rollout == 0 && (!ok || len(a.Shape) == 2 && a.Shape[0] != int64(c.numEnvs)) {
			r.then(func() error {
				s := tensor.NoGrad()
				defer s.Close()
				s.Fill(h.now, 0)
				return s.Err()
			})
		} else {
			r.float32s(layout.Hidden(h.name), h.now)
		}
		if rollout > 0 {
			r.rows(layout.Sequences(h.name), h.stored, int64(c.countBegun(rollout)))
		}
	}
}
