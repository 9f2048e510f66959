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
func (c *Core) Restore(snap *checkpoint.Snapshot) error {
	apply, err := c.prepare(snap)
	if err != nil {
		return err
	}
	return apply()
}

// prepare checks a snapshot against the agent and returns the function that puts it back.
func (c *Core) prepare(snap *checkpoint.Snapshot) (apply func() error, err error) {
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
	r.memory(c)
	r.entries("", c.Flat, c.Flat.Values)
	steps := make([]int64, len(c.optimizers))
	for i, o := range c.optimizers {
		r.entries(layout.ExpAvg(o.name, ""), c.Flat, o.ExpAvg)
		r.entries(layout.ExpAvgSq(o.name, ""), c.Flat, o.ExpAvgSq)
		steps[i] = r.integer(layout.OptimizerSteps, o.name)
	}
	cursors := r.memories(c)
	r.statistics("", c)
	timestep, updates, rollout := r.integer(layout.Timestep), r.integer(layout.Updates), r.integer(layout.RolloutSteps)
	// A rollout in progress fits only an agent with the same rollouts and number of environments.
	if rollout > int64(c.Config.Rollouts) || rollout > 0 && c.Rollout == nil {
		r.fail(fmt.Errorf("the checkpoint holds %d timesteps of a rollout, this agent has room for %d in %d environments; use the same rollouts and number of environments",
			rollout, c.Config.Rollouts, c.numEnvs))
		rollout = 0
	}
	if rollout > 0 {
		for _, name := range c.recorded() {
			r.steps(layout.Rollout(name), c.Rollout.Tensor(name), rollout)
		}
	}
	if rollout > 0 && rollout == int64(c.Config.Rollouts) {
		r.kept(layout.Rollout(layout.NextObservations), c.nextObs)
		if c.nextState.T != nil {
			r.kept(layout.Rollout(layout.NextStates), c.nextState)
		}
	}
	r.hidden(c, int(rollout))
	r.invalidRows(c, int(rollout))
	text, err := snap.Text(layout.Random)
	r.fail(err)
	pcg, err := base64.StdEncoding.DecodeString(text)
	r.fail(err)
	schedule := r.schedule(c)
	gradients := r.gradientScaler(c)
	drawOn := r.random(c, layout.RandomGenerator, pcg)
	if r.err != nil {
		return nil, r.err
	}
	return func() error { // nothing below fails where the checks above have passed, but for errors of the device
		if schedule != nil {
			if err := c.Scheduler.Restore(schedule); err != nil {
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
		for i, o := range c.optimizers {
			o.Steps = steps[i]
		}
		for i, at := range cursors {
			if err := c.replays[i].SetCursor(at[0], at[1]); err != nil {
				return err
			}
		}
		if gradients != nil {
			*c.gradients = *gradients
		}
		c.Timestep, c.Updates, c.acted = timestep, updates, false
		c.ApplyRates()
		if c.Rollout == nil {
			return nil
		}
		return c.Rollout.SetLen(int(rollout))
	}, nil
}

// reader checks the arrays of a snapshot against tensors, collects the writes, and keeps the first error.
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

// architectures compares the networks' architectures with the agent's, where the snapshot names them.
func (r *reader) architectures(c *Core) {
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
			r.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's has no architecture; make the agent from the checkpoint's", n.Name, a))
		} else if !a.Equal(b) {
			r.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's %v; make the agent from the checkpoint's architecture", n.Name, a, b))
		}
	}
}

// gradientScaler reads the scale of losses, nil where the agent has none. A checkpoint of an agent without one leaves it as
// it is.
func (r *reader) gradientScaler(c *Core) *gradientScaler {
	if c.gradients == nil || r.snap.Values[layout.GradientScaler] == nil {
		return nil
	}
	scale, err := r.snap.Float(layout.GradientScaler, "scale")
	if err == nil && !(scale > 0) {
		err = fmt.Errorf("the checkpoint's scale of losses is %g; it must be positive", scale)
	}
	r.fail(err)
	return &gradientScaler{scale, int(r.integer(layout.GradientScaler, "good_steps"))}
}

// integer reads a number that must not be negative.
func (r *reader) integer(path ...string) int64 {
	n, err := r.snap.Int(path...)
	if err == nil && n < 0 {
		err = fmt.Errorf("the checkpoint's %q is %d", strings.Join(path, "."), n)
	}
	r.fail(err)
	return n
}

// memories reads the algorithm's memories, where the snapshot holds them, and returns each one's length and next row.
func (r *reader) memories(c *Core) [][2]int64 {
	if _, err := r.snap.Value(layout.Memories); err != nil {
		return nil
	}
	var at [][2]int64
	for _, m := range c.replays {
		r.kept(layout.MemoryRows(m.name), m.Data())
		length, next := r.integer(layout.Memories, m.name, "length"), r.integer(layout.Memories, m.name, "next")
		if length > m.Capacity() || next >= m.Capacity() {
			r.fail(fmt.Errorf("the checkpoint's %s holds row %d of %d", m.name, max(length, next), m.Capacity()))
		}
		at = append(at, [2]int64{length, next})
	}
	return at
}

// statistics reads those of the agent's scalers, under names that begin with prefix.
func (r *reader) statistics(prefix string, c *Core) {
	for _, s := range c.allScalers() {
		for _, x := range s.statistics() {
			r.float64s(prefix+layout.Statistic(s.name, x.name), x.Tensor)
		}
	}
}

// random checks the states of the random sequences, the device's in the array generator, by setting others to them, and
// returns what continues the device's.
//
// The state of a device's generator is understood by the same kind of device alone. An agent on another kind, such as
// one on the CPU that evaluates what was trained on CUDA, begins a sequence whose seed is a hash of the state: every
// restore of the checkpoint gives the same one.
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

// float32s reads an array of the tensor's shape; float64s is the same in double precision.
func (r *reader) float32s(name string, t tensor.Tensor) {
	data, err := r.snap.Float32s(name, tensor.Shape(t)...)
	r.fail(err)
	r.writes = append(r.writes, func() error { return tensor.Write(t, data) })
}

// kept reads rows as a memory keeps them, numbers or bytes.
func (r *reader) kept(name string, t tensor.Tensor) {
	if tensor.TypeOf(t) != tensor.Uint8 {
		r.float32s(name, t)
		return
	}
	data, err := r.snap.Bytes(name, tensor.Shape(t)...)
	r.fail(err)
	r.writes = append(r.writes, func() error { return tensor.Write(t, data) })
}

// steps reads the first n timesteps of a field of the rollout.
func (r *reader) steps(name string, t tensor.Tensor, n int64) {
	shape := append([]int64{n}, tensor.Shape(t)[1:]...)
	if tensor.TypeOf(t) == tensor.Uint8 {
		data, err := r.snap.Bytes(name, shape...)
		r.fail(err)
		r.writes = append(r.writes, func() error { return writeSteps(t, n, data) })
		return
	}
	data, err := r.snap.Float32s(name, shape...)
	r.fail(err)
	r.writes = append(r.writes, func() error { return writeSteps(t, n, data) })
}

// writeSteps writes the first n steps of a field.
func writeSteps[T tensor.Element](t tensor.Tensor, n int64, data []T) error {
	s := tensor.NoGrad()
	defer s.Close()
	rows := s.Narrow(t, 0, 0, n)
	if err := s.Err(); err != nil {
		return err
	}
	return tensor.Write(rows, data)
}

func (r *reader) float64s(name string, t tensor.Tensor) {
	data, err := r.snap.Float64s(name, tensor.Shape(t)...)
	r.fail(err)
	r.writes = append(r.writes, func() error { return tensor.Write(t, data) })
}

// entries reads the parts of a flat tensor by the names of its table of contents. A part of another shape is an error.
func (r *reader) entries(prefix string, f *tensor.Flat, flat tensor.Tensor) {
	all := make([]float32, f.Len())
	for _, e := range f.Entries() {
		data, err := r.snap.Float32s(prefix+e.Name, e.Shape...)
		r.fail(err)
		copy(all[e.Offset:e.Offset+e.Size], data)
	}
	r.writes = append(r.writes, func() error { return tensor.Write(flat, all) })
}

// schedule reads the state of the learning-rate schedule, nil where the agent has none. Another schedule is an error.
func (r *reader) schedule(c *Core) map[string]float64 {
	if c.Scheduler == nil {
		return nil
	}
	name, err := r.snap.Text(layout.Scheduler)
	if err != nil || name != c.Scheduler.Name() {
		r.fail(fmt.Errorf("the checkpoint's learning-rate schedule is %q, this agent's %q", name, c.Scheduler.Name()))
		return nil
	}
	state := map[string]float64{}
	for k := range c.Scheduler.State() {
		x, err := r.snap.Float(layout.SchedulerState, k)
		r.fail(err)
		state[k] = x
	}
	return state
}
