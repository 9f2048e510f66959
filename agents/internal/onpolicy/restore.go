package onpolicy

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// Restore puts a snapshot into the running agent: a checkpoint's, or the weights of another member of a population.
// Everything is read and checked before anything is changed, so that on an error the agent is as it was.
func (c *State) Restore(snap *checkpoint.Snapshot) error {
	apply, err := c.prepare(snap)
	if err != nil {
		return err
	}
	return apply()
}

// prepare checks a snapshot against the agent and returns the function that puts it back.
func (c *State) prepare(snap *checkpoint.Snapshot) (apply func() error, err error) {
	r := reader{snap: snap, name: strings.ToLower(c.name)}
	if agent, err := snap.Text(layout.Agent); err != nil || agent != c.name {
		return nil, fmt.Errorf("%s: the checkpoint is of an agent %q, not %s", r.name, agent, c.name)
	}
	if format, err := snap.Int(layout.Format); err != nil || format != snapshotFormat {
		return nil, fmt.Errorf("%s: the checkpoint's format is %d, this version of gorl reads %d", r.name, format,
			snapshotFormat)
	}
	// Architectures first: their error says more than that of an array of another shape.
	r.architectures(c)
	r.checkRecurrentLayers(c.Core)
	r.entries("", c.Flat, c.Flat.Values)
	steps := make([]int64, len(c.learner.optimizers))
	for i, o := range c.learner.optimizers {
		r.entries(layout.ExpAvg(o.name, ""), c.Flat, o.ExpAvg)
		r.entries(layout.ExpAvgSq(o.name, ""), c.Flat, o.ExpAvgSq)
		steps[i] = r.integer(layout.OptimizerSteps, o.name)
	}
	cursors := r.readReplays(c)
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
	text, err := snap.Text(layout.Random)
	r.fail(err)
	pcg, err := base64.StdEncoding.DecodeString(text)
	r.fail(err)
	schedule := r.schedule(c)
	gradients := r.gradientScaler(c)
	drawOn := r.random(c.Core, layout.RandomGenerator, pcg)
	if r.err != nil {
		return nil, r.err
	}
	return func() error { // nothing below fails if the checks above have passed, but for errors of the device
		if schedule != nil {
			if err := c.learner.Scheduler.Restore(schedule); err != nil {
				return fmt.Errorf("%s: the checkpoint's learning-rate schedule: %w", r.name, err)
			}
		}
		if err := c.pcg.UnmarshalBinary(pcg); err != nil {
			return err
		}
		if err := drawOn(); err != nil {
			return err
		}
		if c.Group.Rank() > 0 { // the random numbers are those of rank 0, which saved; go on with others
			if err := c.Reseed(int64(c.Rng.Uint64() >> 1)); err != nil {
				return err
			}
		}
		for _, w := range r.writes {
			if err := w(); err != nil {
				return err
			}
		}
		for i, o := range c.learner.optimizers {
			o.Steps = steps[i]
		}
		for i, at := range cursors {
			if err := c.replays[i].SetCursor(at[0], at[1]); err != nil {
				return err
			}
		}
		if gradients != nil {
			*c.learner.gradients = *gradients
		}
		c.Timestep, c.Updates, c.collector.acted = timestep, updates, false
		c.learner.ApplyRates()
		if c.Rollout == nil {
			return nil
		}
		return c.Rollout.SetLen(int(rollout))
	}, nil
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

// gradientScaler reads the scale of losses, nil if the agent has none. A checkpoint of an agent without one leaves it
// as it is.
func (r *reader) gradientScaler(c *State) *gradientScaler {
	if c.learner.gradients == nil || r.snap.Values[layout.GradientScaler] == nil {
		return nil
	}
	scale, err := r.snap.Float(layout.GradientScaler, "scale")
	if err == nil && !(scale > 0) {
		err = fmt.Errorf("the checkpoint's scale of losses is %g; it must be positive", scale)
	}
	r.fail(err)
	return &gradientScaler{scale, int(r.integer(layout.GradientScaler, "good_steps"))}
}

// readReplays reads the algorithm's replay buffers, if the snapshot holds them, and returns each one's length and next
// row.
func (r *reader) readReplays(c *State) [][2]int64 {
	if _, err := r.snap.Value(layout.Memories); err != nil {
		return nil
	}
	var at [][2]int64
	for _, m := range c.replays {
		r.rows(layout.MemoryRows(m.name), m.Data(), -1)
		length, next := r.integer(layout.Memories, m.name, "length"), r.integer(layout.Memories, m.name, "next")
		if length > m.Capacity() || next >= m.Capacity() {
			r.fail(fmt.Errorf("the checkpoint's %s holds row %d of %d", m.name, max(length, next), m.Capacity()))
		}
		at = append(at, [2]int64{length, next})
	}
	return at
}

// statistics reads those of the agent's scalers, under names that begin with prefix.
func (r *reader) statistics(prefix string, c *scalers) {
	for _, s := range c.allScalers() {
		for _, x := range s.statistics() {
			r.float64s(prefix+layout.Statistic(s.name, x.name), x.Tensor)
		}
	}
}

// random checks the states of both random sequences by setting other sequences to them. The device's state is in the
// array generator. random returns a function that continues the device's sequence.
//
// Only the same kind of device understands the state of its generator. An agent on another kind, such as one on the
// CPU that evaluates what CUDA trained, starts a sequence whose seed is a hash of the state. Every restore of the
// checkpoint starts the same one.
func (r *reader) random(c *Core, generator string, pcg []byte) (drawOn func() error) {
	state := r.bytes(generator)
	if r.err != nil {
		return nil
	}
	if err := new(rand.PCG).UnmarshalBinary(pcg); err != nil {
		r.fail(fmt.Errorf("the checkpoint's random state: %w", err))
		return nil
	}
	g, err := tensor.NewGenerator(0, c.Device)
	if err == nil {
		defer g.Close()
		err = g.SetState(state)
	}
	if err == nil {
		return func() error { return c.Gen.SetState(state) }
	}
	if kind, _ := r.snap.Values[layout.RandomDevice].(string); cmp.Or(kind, tensor.CPU.Kind()) == c.Device.Kind() {
		r.fail(fmt.Errorf("the checkpoint's generator: %w", err))
		return nil
	}
	h := fnv.New64a()
	h.Write(state)
	return func() error { return c.Gen.Seed(int64(h.Sum64())) }
}

// schedule reads the state of the learning-rate schedule, nil if the agent has none. Another schedule is an error.
func (r *reader) schedule(c *State) map[string]float64 {
	if c.learner.Scheduler == nil {
		return nil
	}
	name, err := r.snap.Text(layout.Scheduler)
	if err != nil || name != c.learner.Scheduler.Name() {
		r.fail(fmt.Errorf("the checkpoint's learning-rate schedule is %q, this agent's %q", name,
			c.learner.Scheduler.Name()))
		return nil
	}
	state := map[string]float64{}
	for k := range c.learner.Scheduler.State() {
		x, err := r.snap.Float(layout.SchedulerState, k)
		r.fail(err)
		state[k] = x
	}
	return state
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
	r.writes = append(r.writes, func() error {
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
			r.writes = append(r.writes, func() error {
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
