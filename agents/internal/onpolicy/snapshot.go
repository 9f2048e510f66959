package onpolicy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models/description"
)

// snapshotFormat is the version of what Snapshot writes.
const snapshotFormat = 1

// State saves and restores what the other parts hold.
type State struct {
	*Core
	collector *Collector
	learner   *Learner
	replays   []named[*memory.Replay]
	described *description.Policy // see policyValues
}

// AddReplay registers an algorithm's own memory for snapshots with buffers, and for Close.
func (c *State) AddReplay(name string, m *memory.Replay) {
	c.replays = append(c.replays, named[*memory.Replay]{name, m})
}

// Snapshot returns everything needed to continue training. Arrays are named
//
//	policy/net.0.weight              a parameter, by network
//	optimizer/exp_avg/policy/...     the optimizer's moments (exp_avg, exp_avg_sq)
//	value_preprocessor/running_mean  a scaler's statistics
//	random/generator                 the state of the device's random sequence
//	rollout/rewards, reply_buffer/rows  with opt.Buffers: the timesteps recorded so far, an algorithm's memories
//
// and everything else (counters, schedule, hyperparameters, the policy's description) is among the values.
func (c *State) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	snap := checkpoint.NewSnapshot()
	a := newArchive(snap, c.Core, false)
	defer a.views.Close()
	// The order of the parameters is recorded because the optimizers of other libraries number them by it.
	parameters, hyper := []any{}, map[string]any{}
	for _, e := range c.Flat.Entries() {
		parameters = append(parameters, e.Name)
	}
	for k, v := range ReadTunable(c.Config.Tunable()) {
		hyper[k] = v
	}
	snap.Values = map[string]any{layout.Format: snapshotFormat, layout.Agent: c.name, layout.Parameters: parameters,
		layout.LearningRate: c.learner.LearningRate(), layout.Hyperparameters: hyper,
		layout.Optimizer: map[string]any{"kind": c.Config.Optimizer, "weight_decay": c.Config.WeightDecay,
			"epsilon": c.Config.AdamEpsilon, "beta1": c.Config.AdamBetas[0], "beta2": c.Config.AdamBetas[1]},
	}
	if !c.Device.IsCPU() {
		snap.Values[layout.RandomDevice] = c.Device.Kind()
	}
	if all := c.Architectures(); len(all) > 0 {
		tree := make(map[string]any, len(all))
		for name, x := range all {
			tree[name] = x.Values()
		}
		snap.Values[layout.Architectures] = tree
	}
	if opt.Buffers {
		snap.Values[layout.Memories] = map[string]any{}
	}
	c.carry(a, opt.Buffers)
	if a.err == nil { // describing reads the arrays written so far
		snap.Values[layout.Description] = c.policyValues(snap)
	}
	return snap, a.err
}

// Restore puts a snapshot into the running agent: a checkpoint's, or the weights of another member of a population.
// Everything is read and checked before anything is changed, so that on an error the agent is as it was.
func (c *State) Restore(snap *checkpoint.Snapshot) error {
	a := newArchive(snap, c.Core, true)
	defer a.views.Close()
	if agent, err := snap.Text(layout.Agent); err != nil || agent != c.name {
		return c.errorf("the checkpoint is of an agent %q, not %s", agent, c.name)
	}
	if format, err := snap.Int(layout.Format); err != nil || format != snapshotFormat {
		return c.errorf("the checkpoint's format is %d, this version of gorl reads %d", format, snapshotFormat)
	}
	// Architectures first: their error says more than that of an array of another shape.
	c.checkArchitectures(a)
	c.checkParameters(a)
	_, err := snap.Value(layout.Memories)
	c.carry(a, err == nil)
	if a.err != nil {
		return a.err
	}
	// Nothing below fails if the checks above have passed, but for errors of the device.
	if err := a.apply(); err != nil {
		return err
	}
	if c.Group.Rank() > 0 { // the random numbers are those of rank 0, which saved; go on with others
		if err := c.Reseed(int64(c.Rng.Uint64() >> 1)); err != nil {
			return err
		}
	}
	c.collector.acted = false
	c.learner.ApplyRates()
	return nil
}

// carry carries everything that continues training, and with buffers the memories and the rollout in progress.
func (c *State) carry(a *archive, buffers bool) {
	a.entries("", c.Flat, c.Flat.Values)
	for _, o := range c.learner.optimizers {
		a.entries(layout.ExpAvg(o.name, ""), c.Flat, o.of.ExpAvg)
		a.entries(layout.ExpAvgSq(o.name, ""), c.Flat, o.of.ExpAvgSq)
		assign(a, &o.of.Steps, a.integer(o.of.Steps, layout.OptimizerSteps, o.name))
	}
	if buffers {
		c.carryReplays(a)
	}
	a.statistics("", c.scalers)
	assign(a, &c.Timestep, a.integer(c.Timestep, layout.Timestep))
	assign(a, &c.Updates, a.integer(c.Updates, layout.Updates))
	c.carryRollout(a, buffers)
	c.carrySchedule(a)
	// A checkpoint of an agent without a scale of losses leaves it as it is.
	if g := c.learner.gradients; g != nil && (!a.reading || a.snap.Values[layout.GradientScaler] != nil) {
		scale := carryNumber(a, g.scale, a.snap.Float, []string{layout.GradientScaler, "scale"})
		if a.reading && !(scale > 0) {
			a.fail(fmt.Errorf("the checkpoint's scale of losses is %g; it must be positive", scale))
		}
		good := a.integer(int64(g.good), layout.GradientScaler, "good_steps")
		assign(a, g, gradientScaler{scale, int(good)})
	}
	a.random(c.Core, layout.Random, layout.RandomGenerator)
}

// carryReplays carries the algorithm's memories, with how far each is filled and where it writes next.
func (c *State) carryReplays(a *archive) {
	for _, m := range c.replays {
		r := m.of
		a.array(layout.MemoryRows(m.name), r.Data())
		length := a.integer(r.Len(), layout.Memories, m.name, "length")
		next := a.integer(r.Next(), layout.Memories, m.name, "next")
		if length > r.Capacity() || next >= r.Capacity() {
			a.fail(fmt.Errorf("the checkpoint's %s holds row %d of %d", m.name, max(length, next), r.Capacity()))
		}
		a.then(func() error { return r.SetCursor(length, next) })
	}
}

// carryRollout carries the rollout in progress. Of a complete one, which an update is to learn from, what follows its
// last step is needed, too. A rollout fits only an agent with the same rollouts and number of environments.
func (c *State) carryRollout(a *archive, buffers bool) {
	var steps int64
	if c.Rollout != nil && buffers {
		steps = int64(c.Rollout.Len())
	}
	steps = a.integer(steps, layout.RolloutSteps)
	if steps > int64(c.Config.Rollouts) || steps > 0 && c.Rollout == nil {
		a.fail(fmt.Errorf("the checkpoint holds %d timesteps of a rollout, this agent has room for %d in %d "+
			"environments; use the same rollouts and number of environments", steps, c.Config.Rollouts, c.numEnvs))
		return
	}
	if c.Rollout == nil {
		return
	}
	if steps > 0 {
		for _, name := range c.recorded() {
			a.array(layout.Rollout(name), a.first(steps, c.Rollout.Tensor(name)))
		}
		a.marks(layout.Invalid, c.invalid[:int(steps)*c.numEnvs], c.numEnvs)
		a.marks(layout.Idle, c.idle[:int(steps+1)*c.numEnvs], c.numEnvs)
	}
	if steps == int64(c.Config.Rollouts) {
		a.array(layout.Rollout(layout.NextObservations), c.nextObs)
		if c.nextState.T != nil {
			a.array(layout.Rollout(layout.NextStates), c.nextState)
		}
	}
	if buffers || a.reading {
		c.carryHidden(a, steps)
	}
	a.then(func() error { return c.Rollout.SetLen(int(steps)) })
}

// carryHidden carries the states of networks with memory: the present ones, and those from which the sequences of a
// rollout of so many steps begin. Without a rollout in progress they start from zero if the snapshot has none, or has
// those of another number of environments.
func (c *State) carryHidden(a *archive, steps int64) {
	if len(c.hiddens) == 0 {
		return
	}
	if steps > 0 || !a.reading {
		if l := a.integer(int64(c.length), layout.SequenceLength); l != int64(c.length) {
			a.fail(fmt.Errorf("the checkpoint holds a rollout in sequences of %d timesteps, "+
				"this agent's have %d; use the same sequence_length", l, c.length))
		}
	}
	for _, h := range c.hiddens {
		x, ok := a.snap.Arrays[layout.Hidden(h.name)]
		if a.reading && steps == 0 && (!ok || len(x.Shape) == 2 && x.Shape[0] != int64(c.numEnvs)) {
			a.then(func() error {
				a.views.Fill(h.now, 0)
				return a.views.Err()
			})
		} else {
			a.array(layout.Hidden(h.name), h.now)
		}
		if begun := int64(c.countBegun(int(steps))); begun > 0 {
			a.array(layout.Sequences(h.name), a.first(begun, h.stored))
		}
	}
}

// carrySchedule carries the state of the learning-rate schedule, if the agent has one. Another schedule is an error.
func (c *State) carrySchedule(a *archive) {
	schedule := c.learner.Scheduler
	if schedule == nil {
		return
	}
	if !a.reading {
		a.snap.Values[layout.Scheduler] = schedule.Name()
	}
	if name, err := a.snap.Text(layout.Scheduler); err != nil || name != schedule.Name() {
		a.fail(fmt.Errorf("the checkpoint's learning-rate schedule is %q, this agent's %q", name, schedule.Name()))
		return
	}
	state := map[string]float64{}
	for k, x := range schedule.State() {
		state[k] = carryNumber(a, x, a.snap.Float, []string{layout.SchedulerState, k})
	}
	// Before all other writes, because only the schedule itself knows whether its numbers fit.
	a.writes = slices.Insert(a.writes, 0, func() error {
		if err := schedule.Restore(state); err != nil {
			return c.errorf("the checkpoint's learning-rate schedule: %w", err)
		}
		return nil
	})
}

// checkArchitectures compares the networks' architectures with the agent's, if the snapshot names them.
func (c *State) checkArchitectures(a *archive) {
	theirs, _ := a.snap.Values[layout.Architectures].(map[string]any)
	ours := c.Architectures()
	for _, n := range c.networks {
		v, ok := theirs[n.Name]
		if !ok {
			continue
		}
		their, err := description.ArchitectureOf(v)
		if our, shaped := ours[n.Name]; err != nil {
			a.fail(err)
		} else if !shaped {
			a.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's has no architecture; make the "+
				"agent from the checkpoint's", n.Name, their))
		} else if !their.Equal(our) {
			a.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's %v; make the agent from the "+
				"checkpoint's architecture", n.Name, their, our))
		}
	}
}

// checkParameters refuses a snapshot whose networks have parameters that this agent's have not, such as those of
// recurrent layers, and the other way round.
func (c *State) checkParameters(a *archive) {
	const advice = "make the agent with the networks of the checkpoint"
	own, networks := map[string]bool{}, map[string]bool{}
	for _, e := range c.Flat.Entries() {
		network, _, _ := layout.CutParameter(e.Name)
		own[e.Name], networks[network] = true, true
		if _, has := a.snap.Arrays[e.Name]; !has {
			a.fail(fmt.Errorf("the checkpoint has no array %q, which this agent has; %s", e.Name, advice))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.snap.Arrays)) {
		if network, _, _ := layout.CutParameter(name); networks[network] && !own[name] {
			a.fail(fmt.Errorf("the checkpoint has the array %q, which this agent has not; %s", name, advice))
		}
	}
}
