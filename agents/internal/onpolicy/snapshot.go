package onpolicy

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// snapshotFormat is the version of what Snapshot writes.
const snapshotFormat = 1

// scaler is a running scaler with its name in checkpoints.
type scaler struct {
	name string
	*preprocessors.RunningStandardScaler
}

func (c *Core) allScalers() []scaler {
	all := []scaler{{"observation_preprocessor", c.ObservationScaler}, {"state_preprocessor", c.StateScaler}, {"value_preprocessor", c.VScaler}}
	return append(all, c.extraScalers...)
}

// AddScaler registers an algorithm's own scaler (which may be nil) for snapshots; Close releases it.
func (c *Core) AddScaler(name string, s *preprocessors.RunningStandardScaler) {
	c.extraScalers = append(c.extraScalers, scaler{name, s})
}

// AddOptimizer registers an algorithm's own optimizer over the flat parameters for snapshots, Begin and Rollback; Close
// releases it.
func (c *Core) AddOptimizer(name string, o *tensor.Optimizer) {
	c.optimizers = append(c.optimizers, namedOptimizer{name, o, c.resident.Zeros(c.Flat.Len()), c.resident.Zeros(c.Flat.Len()), 0})
}

// AddReplay registers an algorithm's own memory for snapshots with buffers; Close releases it.
func (c *Core) AddReplay(name string, m *memory.Replay) {
	c.replays = append(c.replays, namedReplay{name, m})
}

type namedReplay struct {
	name string
	*memory.Replay
}

// Snapshot implements [agents.Agent]: parameters by name, optimizer, scalers, schedule, counters, random states.
func (c *Core) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	snap := checkpoint.NewSnapshot()
	w := writer{snap: snap}
	w.entries("", c.Flat, c.Flat.Values)
	steps := map[string]any{}
	for _, o := range c.optimizers {
		w.entries(o.name+"/exp_avg/", c.Flat, o.ExpAvg)
		w.entries(o.name+"/exp_avg_sq/", c.Flat, o.ExpAvgSq)
		steps[o.name] = o.Steps
	}
	for _, s := range c.allScalers() {
		if s.RunningStandardScaler != nil {
			w.float64s(s.name+"/running_mean", s.Mean)
			w.float64s(s.name+"/running_variance", s.Variance)
			w.float64s(s.name+"/current_count", s.Count)
		}
	}
	state, err := c.Gen.State()
	w.fail(err)
	snap.Arrays["random/generator"] = checkpoint.ArrayBytes([]int64{int64(len(state))}, state)
	pcg, err := c.pcg.MarshalBinary()
	w.fail(err)
	values := map[string]any{
		"format": snapshotFormat, "agent": c.name, "timestep": c.Timestep, "updates": c.Updates,
		"random": base64.StdEncoding.EncodeToString(pcg), "optimizer_steps": steps, "rollout_steps": 0,
	}
	if c.Scheduler != nil {
		values["scheduler"] = c.Scheduler.Name()
		state := map[string]any{}
		for k, v := range c.Scheduler.State() {
			state[k] = v
		}
		values["scheduler_state"] = state
	}
	if opt.Buffers {
		cursors := map[string]any{}
		for _, m := range c.replays {
			w.float32s(m.name+"/rows", m.Data())
			cursors[m.name] = map[string]any{"length": m.Len(), "next": m.Next()}
		}
		values["memories"] = cursors
	}
	if opt.Buffers && c.Rollout != nil && c.Rollout.Len() > 0 {
		values["rollout_steps"] = c.Rollout.Len()
		s := tensor.NoGrad()
		defer s.Close()
		for _, name := range c.recorded() {
			rows := s.Narrow(c.Rollout.Tensor(name), 0, 0, int64(c.Rollout.Len()))
			w.fail(s.Err())
			w.float32s("rollout/"+name, rows)
		}
		if c.Rollout.Full() {
			w.float32s("rollout/next_observations", c.nextObs)
			if c.nextState.T != nil {
				w.float32s("rollout/next_states", c.nextState)
			}
		}
	}
	hyper := map[string]any{}
	for k, v := range c.hyper() {
		hyper[k] = v
	}
	values["hyperparameters"] = hyper
	snap.Values = values
	return snap, w.err
}

// recorded lists the fields of the rollout that a snapshot holds: those that steps record, not those that an update computes.
func (c *Core) recorded() []string {
	var names []string
	for _, f := range c.Rollout.Fields() {
		if !slices.Contains(c.scratch, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

func (c *Core) hyper() map[string]float64 { return agents.Values(c.Config.Tunable()) }

// writer puts tensors into a snapshot and remembers the first error.
type writer struct {
	snap *checkpoint.Snapshot
	err  error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) float32s(name string, t tensor.Tensor) {
	data, err := tensor.Float32s(t)
	w.fail(err)
	w.snap.Arrays[name] = checkpoint.ArrayFloat32(tensor.Shape(t), data)
}

func (w *writer) float64s(name string, t tensor.Tensor) {
	data, err := tensor.Float64s(t)
	w.fail(err)
	w.snap.Arrays[name] = checkpoint.ArrayFloat64(tensor.Shape(t), data)
}

// entries writes the parts of a flat tensor by the names of its table of contents.
func (w *writer) entries(prefix string, f *tensor.Flat, flat tensor.Tensor) {
	data, err := tensor.Float32s(flat)
	w.fail(err)
	for _, e := range f.Entries() {
		w.snap.Arrays[prefix+e.Name] = checkpoint.ArrayFloat32(e.Shape, data[e.Offset:e.Offset+e.Size])
	}
}

// Restore implements [agents.Agent]. Everything is read and checked before anything is changed.
func (c *Core) Restore(snap *checkpoint.Snapshot) error {
	apply, err := c.Prepare(snap)
	if err != nil {
		return err
	}
	return apply()
}

// Prepare checks a snapshot and returns what puts it back.
func (c *Core) Prepare(snap *checkpoint.Snapshot) (apply func() error, err error) {
	r := reader{snap: snap, name: strings.ToLower(c.name)}
	if agent, err := snap.Text("agent"); err != nil || agent != c.name {
		return nil, fmt.Errorf("%s: the checkpoint is of an agent %q, not %s", r.name, agent, c.name)
	}
	if format, err := snap.Int("format"); err != nil || format != snapshotFormat {
		return nil, fmt.Errorf("%s: the checkpoint's format is %d, this version of gorl reads %d", r.name, format, snapshotFormat)
	}
	r.entries("", c.Flat, c.Flat.Values)
	steps := make([]int64, len(c.optimizers))
	for i, o := range c.optimizers {
		r.entries(o.name+"/exp_avg/", c.Flat, o.ExpAvg)
		r.entries(o.name+"/exp_avg_sq/", c.Flat, o.ExpAvgSq)
		steps[i] = r.integer("optimizer_steps", o.name)
	}
	cursors := r.memories(c)
	for _, s := range c.allScalers() {
		if s.RunningStandardScaler != nil {
			r.float64s(s.name+"/running_mean", s.Mean)
			r.float64s(s.name+"/running_variance", s.Variance)
			r.float64s(s.name+"/current_count", s.Count)
		}
	}
	generator := r.bytes("random/generator")
	timestep, updates, rollout := r.integer("timestep"), r.integer("updates"), r.integer("rollout_steps")
	if rollout > int64(c.Config.Rollouts) || rollout > 0 && c.Rollout == nil {
		r.fail(fmt.Errorf("the checkpoint holds %d steps of a rollout, this agent has room for %d in %d environments; use the same rollouts and number of environments",
			rollout, c.Config.Rollouts, c.numEnvs))
		rollout = 0
	}
	if rollout > 0 {
		for _, name := range c.recorded() {
			r.steps("rollout/"+name, c.Rollout.Tensor(name), rollout)
		}
	}
	if rollout > 0 && rollout == int64(c.Config.Rollouts) {
		r.float32s("rollout/next_observations", c.nextObs)
		if c.nextState.T != nil {
			r.float32s("rollout/next_states", c.nextState)
		}
	}
	text, err := snap.Text("random")
	r.fail(err)
	pcg, err := base64.StdEncoding.DecodeString(text)
	r.fail(err)
	schedule := r.schedule(c)
	r.random(c.Device, pcg, generator)
	if r.err != nil {
		return nil, r.err
	}
	return func() error {
		if schedule != nil {
			if err := c.Scheduler.Restore(schedule); err != nil {
				return fmt.Errorf("%s: the checkpoint's learning-rate schedule: %w", r.name, err)
			}
		}
		if err := c.pcg.UnmarshalBinary(pcg); err != nil {
			return err
		}
		if err := c.Gen.SetState(generator); err != nil {
			return err
		}
		for _, w := range r.writes {
			if err := w(); err != nil {
				return err
			}
		}
		for i, o := range c.optimizers {
			o.Steps = steps[i]
		}
		for i, at := range cursors {
			if err := c.replays[i].SetCursor(at[0], at[1]); err != nil {
				return err
			}
		}
		c.Timestep, c.Updates, c.acted = timestep, updates, false
		c.ApplyRates()
		if c.Rollout == nil {
			return nil
		}
		return c.Rollout.SetLen(int(rollout))
	}, nil
}

// reader checks the arrays of a snapshot against tensors and collects the writes.
type reader struct {
	snap   *checkpoint.Snapshot
	name   string
	writes []func() error
	err    error
}

func (r *reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", r.name, err)
	}
}

func (r *reader) integer(path ...string) int64 {
	n, err := r.snap.Int(path...)
	if err == nil && n < 0 {
		err = fmt.Errorf("the checkpoint's %q is %d", strings.Join(path, "."), n)
	}
	r.fail(err)
	return n
}

// memories reads the registered memories, where the snapshot holds them.
func (r *reader) memories(c *Core) [][2]int64 {
	if _, err := r.snap.Value("memories"); err != nil {
		return nil
	}
	var at [][2]int64
	for _, m := range c.replays {
		r.float32s(m.name+"/rows", m.Data())
		length, next := r.integer("memories", m.name, "length"), r.integer("memories", m.name, "next")
		if length > m.Capacity() || next >= m.Capacity() {
			r.fail(fmt.Errorf("the checkpoint's %s holds row %d of %d", m.name, max(length, next), m.Capacity()))
		}
		at = append(at, [2]int64{length, next})
	}
	return at
}

// random checks the states of the random sequences.
func (r *reader) random(d tensor.Device, pcg, generator []byte) {
	if r.err != nil {
		return
	}
	if err := new(rand.PCG).UnmarshalBinary(pcg); err != nil {
		r.fail(fmt.Errorf("the checkpoint's random state: %w", err))
		return
	}
	g, err := tensor.NewGenerator(0, d)
	if err == nil {
		defer g.Close()
		err = g.SetState(generator)
	}
	if err != nil {
		r.fail(fmt.Errorf("the checkpoint's generator: %w", err))
	}
}

func (r *reader) bytes(name string) []byte {
	a, ok := r.snap.Arrays[name]
	if !ok {
		r.fail(fmt.Errorf("the checkpoint has no array %q", name))
		return nil
	}
	b, err := a.Bytes()
	r.fail(err)
	return b
}

func (r *reader) float32s(name string, t tensor.Tensor) {
	data, err := r.snap.Float32s(name, tensor.Shape(t)...)
	r.fail(err)
	r.writes = append(r.writes, func() error { return tensor.Write(t, data) })
}

// steps reads the first n steps of a field of the rollout.
func (r *reader) steps(name string, t tensor.Tensor, n int64) {
	data, err := r.snap.Float32s(name, append([]int64{n}, tensor.Shape(t)[1:]...)...)
	r.fail(err)
	r.writes = append(r.writes, func() error {
		s := tensor.NoGrad()
		defer s.Close()
		rows := s.Narrow(t, 0, 0, n)
		if err := s.Err(); err != nil {
			return err
		}
		return tensor.Write(rows, data)
	})
}

func (r *reader) float64s(name string, t tensor.Tensor) {
	data, err := r.snap.Float64s(name, tensor.Shape(t)...)
	r.fail(err)
	r.writes = append(r.writes, func() error { return tensor.Write(t, data) })
}

func (r *reader) entries(prefix string, f *tensor.Flat, flat tensor.Tensor) {
	all := make([]float32, f.Len())
	for _, e := range f.Entries() {
		data, err := r.snap.Float32s(prefix+e.Name, e.Shape...)
		r.fail(err)
		copy(all[e.Offset:e.Offset+e.Size], data)
	}
	r.writes = append(r.writes, func() error { return tensor.Write(flat, all) })
}

func (r *reader) schedule(c *Core) map[string]float64 {
	if c.Scheduler == nil {
		return nil
	}
	name, err := r.snap.Text("scheduler")
	if err != nil || name != c.Scheduler.Name() {
		r.fail(fmt.Errorf("the checkpoint's learning-rate schedule is %q, this agent's %q", name, c.Scheduler.Name()))
		return nil
	}
	state := map[string]float64{}
	for k := range c.Scheduler.State() {
		x, err := r.snap.Float("scheduler_state", k)
		r.fail(err)
		state[k] = x
	}
	return state
}
