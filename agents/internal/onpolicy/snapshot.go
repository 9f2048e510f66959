package onpolicy

import (
	"encoding/base64"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/tensor"
)

// snapshotFormat is the version of what Snapshot writes.
const snapshotFormat = 1

// State saves and restores what the other parts hold.
type State struct {
	*Core
	collector *Collector
	learner   *Learner
	replays   []namedReplay
	described *description.Policy // see policyValues
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
	w := writer{snap: snap}
	w.entries("", c.Flat, c.Flat.Values)
	steps := map[string]any{}
	for _, o := range c.learner.optimizers {
		w.entries(layout.ExpAvg(o.name, ""), c.Flat, o.ExpAvg)
		w.entries(layout.ExpAvgSq(o.name, ""), c.Flat, o.ExpAvgSq)
		steps[o.name] = o.Steps
	}
	w.statistics("", c.scalers)
	state, err := c.Gen.State()
	w.fail(err)
	snap.Arrays[layout.RandomGenerator] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
	pcg, err := c.pcg.MarshalBinary()
	w.fail(err)
	// The order of the parameters is recorded because the optimizers of other libraries number them by it.
	parameters := []any{}
	for _, e := range c.Flat.Entries() {
		parameters = append(parameters, e.Name)
	}
	values := map[string]any{
		layout.Format: snapshotFormat, layout.Agent: c.name, layout.Timestep: c.Timestep, layout.Updates: c.Updates,
		layout.Random: base64.StdEncoding.EncodeToString(pcg), layout.OptimizerSteps: steps, layout.RolloutSteps: 0,
		layout.Parameters: parameters, layout.LearningRate: c.learner.LearningRate(),
		layout.Optimizer: map[string]any{"kind": c.Config.Optimizer, "weight_decay": c.Config.WeightDecay,
			"epsilon": c.Config.AdamEpsilon, "beta1": c.Config.AdamBetas[0], "beta2": c.Config.AdamBetas[1]},
	}
	if !c.Device.IsCPU() {
		values[layout.RandomDevice] = c.Device.Kind()
	}
	if g := c.learner.gradients; g != nil {
		values[layout.GradientScaler] = map[string]any{"scale": g.scale, "good_steps": g.good}
	}
	if tree := c.architectureValues(); tree != nil {
		values[layout.Architectures] = tree
	}
	if c.learner.Scheduler != nil {
		values[layout.Scheduler] = c.learner.Scheduler.Name()
		state := map[string]any{}
		for k, v := range c.learner.Scheduler.State() {
			state[k] = v
		}
		values[layout.SchedulerState] = state
	}
	// The algorithm's memories, with how far each is filled and where it writes next.
	if opt.Buffers {
		cursors := map[string]any{}
		for _, m := range c.replays {
			w.rows(layout.MemoryRows(m.name), m.Data())
			cursors[m.name] = map[string]any{"length": m.Len(), "next": m.Next()}
		}
		values[layout.Memories] = cursors
	}
	// The rollout in progress. Of a complete one, which an update is to learn from, what follows its last step is
	// needed, too.
	if opt.Buffers && c.Rollout != nil && c.Rollout.Len() > 0 {
		values[layout.RolloutSteps] = c.Rollout.Len()
		s := tensor.NoGrad()
		defer s.Close()
		for _, name := range c.recorded() {
			rows := s.Narrow(c.Rollout.Tensor(name), 0, 0, int64(c.Rollout.Len()))
			w.fail(s.Err())
			w.rows(layout.Rollout(name), rows)
		}
		if invalid := c.recordedInvalid(); slices.Contains(invalid, true) {
			shape := []int64{int64(c.Rollout.Len()), int64(c.numEnvs)}
			snap.Arrays[layout.Rollout(layout.Invalid)] = checkpoint.ArrayBool(shape, invalid)
		}
		if idle := c.recordedIdle(); slices.Contains(idle, true) {
			shape := []int64{int64(c.Rollout.Len()) + 1, int64(c.numEnvs)}
			snap.Arrays[layout.Rollout(layout.Idle)] = checkpoint.ArrayBool(shape, idle)
		}
		if c.Rollout.Full() {
			w.rows(layout.Rollout(layout.NextObservations), c.nextObs)
			if c.nextState.T != nil {
				w.rows(layout.Rollout(layout.NextStates), c.nextState)
			}
		}
	}
	// The states of networks with memory: the present ones, and those from which the sequences of the rollout begin.
	if opt.Buffers && c.Rollout != nil && len(c.hiddens) > 0 {
		values[layout.SequenceLength] = c.length
		s := tensor.NoGrad()
		defer s.Close()
		for _, h := range c.hiddens {
			w.float32s(layout.Hidden(h.name), h.now)
			if n := c.countBegun(c.Rollout.Len()); n > 0 {
				stored := s.Narrow(h.stored, 0, 0, int64(n))
				w.fail(s.Err())
				w.float32s(layout.Sequences(h.name), stored)
			}
		}
	}
	hyper := map[string]any{}
	for k, v := range ReadTunable(c.Config.Tunable()) {
		hyper[k] = v
	}
	values[layout.Hyperparameters] = hyper
	if w.err == nil { // describing reads the arrays written so far
		values[layout.Description] = c.policyValues(snap)
	}
	snap.Values = values
	return snap, w.err
}

// statistics writes those of the agent's scalers, under names that begin with prefix.
func (w *writer) statistics(prefix string, c *scalers) {
	for _, s := range c.allScalers() {
		for _, x := range s.statistics() {
			w.float64s(prefix+layout.Statistic(s.name, x.name), x.Tensor)
		}
	}
}

// writer puts tensors into a snapshot and keeps the first error.
type writer struct {
	snap *checkpoint.Snapshot
	err  error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// float32s writes one tensor; float64s is the same in double precision, which scalers count in.
func (w *writer) float32s(name string, t tensor.Tensor) {
	data, err := tensor.Float32s(t)
	w.fail(err)
	w.snap.Arrays[name] = checkpoint.ArrayFloat32(tensor.Shape(t), data)
}

// rows writes rows as a memory keeps them, numbers or bytes.
func (w *writer) rows(name string, t tensor.Tensor) {
	if w.err != nil || tensor.TypeOf(t) != tensor.Uint8 {
		w.float32s(name, t)
		return
	}
	data := make([]uint8, tensor.Numel(t))
	w.fail(tensor.Read(t, data))
	w.snap.Arrays[name] = checkpoint.ArrayBytes(tensor.Shape(t), data)
}

func (w *writer) float64s(name string, t tensor.Tensor) {
	data, err := tensor.Float64s(t)
	w.fail(err)
	w.snap.Arrays[name] = checkpoint.ArrayFloat64(tensor.Shape(t), data)
}

// entries writes the parts of a flat tensor under a prefix and the names of its table of contents.
func (w *writer) entries(prefix string, f *tensor.Flat, flat tensor.Tensor) {
	data, err := tensor.Float32s(flat)
	w.fail(err)
	for _, e := range f.Entries() {
		w.snap.Arrays[prefix+e.Name] = checkpoint.ArrayFloat32(e.Shape, data[e.Offset:e.Offset+e.Size])
	}
}

// namedReplay is a memory with its name in snapshots.
type namedReplay struct {
	name string
	*memory.Replay
}

// AddReplay registers an algorithm's own memory for snapshots with buffers, and for Close.
func (c *State) AddReplay(name string, m *memory.Replay) {
	c.replays = append(c.replays, namedReplay{name, m})
}
