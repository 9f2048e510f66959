package onpolicy

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/joint"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Collector acts and records: Act begins a step of the rollout, Record completes it.
type Collector struct {
	*Core
	// StageRecord, if set, puts an algorithm's own rows of a transition into Transfer; an error refuses the transition.
	// AfterRecord, if set, writes the algorithm's own fields of the step being recorded, when all has been sent.
	StageRecord func(t agents.Transition) error
	AfterRecord func(s *tensor.Scope)
	// RepeatMemories repeats skrl 2.0's mistakes about memories, see repeatMistake and advanceMemories. It is on in
	// skrl's modes. Tests clear it to compare with a skrl that is repaired.
	RepeatMemories bool

	values   *Values
	step     *tensor.Scope     // owns what a call of Act or Record computes
	delivery delivery          // what Record has sent
	ahead    staged            // what the next Act will probably ask for, already on the device
	actions  []float32         // (N, A), what Act returns
	rewards  []float32         // (N), to shape
	unread   []bool            // (N), the rows of final observations that nothing reads
	sampling bool              // evaluation samples actions, too
	draws    *tensor.Generator // of evaluation; nil before its first sample
	drawing  bool              // draws continues the present evaluation
	acted    bool              // Act has begun a step that Record has not completed
	resetErr error             // of the last ResetHidden, which has no error result
}

// allocate makes the rows that every step writes, once.
func (c *Collector) allocate() {
	if len(c.rewards) != c.numEnvs {
		c.actions = make([]float32, c.numEnvs*c.spaces.Action.Width())
		c.rewards, c.unread = make([]float32, c.numEnvs), make([]bool, c.numEnvs)
	}
}

// Act returns actions (N, A) for observations (N, O). While training it writes observations, actions and their
// log-probabilities into the step of the rollout that Record completes; in evaluation it writes nothing.
func (c *Collector) Act(in agents.Observation) (actions []float32, err error) {
	err = c.stream.Do(func() error {
		actions, err = c.actStep(in)
		return err
	})
	return actions, err
}

func (c *Collector) actStep(in agents.Observation) ([]float32, error) {
	if c.numEnvs == 0 {
		if err := c.Bind(len(in.Observations) / c.spaces.Observation.Width()); err != nil {
			return nil, err
		}
	}
	c.allocate()
	if err := joint.CheckObservation(c.prefix, in, c.numEnvs, c.spaces); err != nil {
		return nil, err
	}
	if err := c.spaces.CheckMasks(in.ActionMasks, c.numEnvs); err != nil {
		return nil, c.errorf("%w", err)
	}
	if c.resetErr != nil {
		return nil, c.errorf("ResetHidden: %w", c.resetErr)
	}
	s := c.step
	s.Reset()
	if c.training && c.Rollout.Full() {
		return nil, c.errorf("the rollout is full; call Update before acting on")
	}
	obs, state, err := c.sendRows(s, in)
	if err != nil {
		return nil, err
	}
	inputs := c.Inputs(s, obs, state)
	if len(in.ActionMasks) > 0 {
		inputs.ActionMask = tensor.From(s, in.ActionMasks, int64(c.numEnvs), int64(c.spaces.ActionMask.Width()))
	}
	var executed tensor.Tensor
	if c.training {
		c.store(s, "observations", obs)
		c.store(s, "states", state)
		c.store(s, "action_masks", inputs.ActionMask)
		c.storeStates(s)
		executed = c.drawActions(s, inputs, in.ActionMasks)
		c.values.recordStep(s, inputs)
		c.repeatMistake(s)
		c.acted = true
	} else {
		var gen *tensor.Generator
		if c.sampling {
			gen = c.evaluationDraws(s)
		}
		executed = c.ask(s, inputs, gen).Executed
	}
	return c.actions, c.explain(c.read(s, executed, in.ActionMasks), inputs)
}

// store writes x, unless it is a zero Tensor, into a field of the present step.
func (c *Collector) store(s *tensor.Scope, field string, x tensor.Tensor) {
	if x.T != nil {
		s.Copy(c.Rollout.Row(field), x)
	}
}

// explain returns the error of an Act. If discrete actions could not be drawn because the policy's outputs for these
// inputs are not finite, it returns a DivergedError instead of libtorch's error.
func (c *Collector) explain(err error, in models.Inputs) error {
	if err == nil || c.spaces.Action.Kind == spaces.Box {
		return err
	}
	s := tensor.NoGrad().On(c.Device).Layers(c.Precision)
	defer s.Close()
	if h := c.hiddenOf(layout.Policy); h != nil {
		in = h.addState(in, h.now)
	}
	var d *agents.DivergedError
	if errors.As(c.read(s, c.Policy.Mode(s, in), nil), &d) {
		return d
	}
	return err
}

// sendRows returns observations and states as tensors on the device, valid until the next transfer. Rows that Record
// has sent ahead are there already.
func (c *Collector) sendRows(s *tensor.Scope, in agents.Observation) (obs, state tensor.Tensor, err error) {
	sent := c.ahead
	if !sent.holds(c.scalers, in) { // rows that Record has sent are checked already
		if err := cmp.Or(
			c.CheckFinite("Act", "observations", in.Observations, c.spaces.Observation.Width(), nil),
			c.CheckFinite("Act", "states", in.States, c.spaces.State.Width(), nil),
		); err != nil {
			return obs, state, err
		}
		c.Transfer.Begin()
		if sent, err = c.stageRows(in.Observations, in.States); err != nil {
			return obs, state, err
		}
		c.Transfer.Send(s)
	}
	c.ahead = staged{}
	obs, state = sent.tensors(s)
	return obs, state, s.Err()
}

// Inputs standardises raw observations (n, O) and states (n, S; a zero Tensor for none) for the networks. Rows that are
// kept as bytes become numbers first.
func (c *scalers) Inputs(s *tensor.Scope, obs, state tensor.Tensor) models.Inputs {
	in := models.Inputs{Observations: c.ObservationScaler.Forward(s, c.obsRows.Float32(s, obs))}
	if state.T != nil {
		in.States = c.StateScaler.Forward(s, c.stateRows.Float32(s, state))
	}
	return in
}

// drawActions samples actions, or draws them from the action space in the first random_timesteps. It stores them with
// their log-probability under the policy. The actions that are executed differ from the stored ones if the policy
// clips them.
func (c *Collector) drawActions(s *tensor.Scope, inputs models.Inputs, masks []float32) tensor.Tensor {
	var a models.Action
	if c.Timestep < int64(c.Config.RandomTimesteps) {
		w := c.spaces.Action.Width()
		drawn := make([]float32, c.numEnvs*w)
		c.spaces.SampleActions(c.Rng, drawn, masks)
		a.Actions = tensor.From(s, drawn, int64(c.numEnvs), int64(w))
		if h := c.hiddenOf(layout.Policy); h != nil { // it remembers what it has not acted on, too
			inputs = h.addState(inputs, h.now)
			c.ask(s, inputs, nil)
		}
		e := c.Policy.Evaluate(s, inputs, a.Actions)
		a.Executed, a.LogProb, a.Mean, a.StdDev = a.Actions, e.LogProb, e.Mean, e.StdDev
	} else {
		a = c.ask(s, inputs, c.Gen)
	}
	c.recordDistribution(s, a.Mean, a.StdDev)
	s.Copy(c.Rollout.Row("actions"), a.Actions)
	s.Copy(c.Rollout.Row("log_prob"), a.LogProb)
	return a.Executed
}

// ask returns the policy's actions, drawn with gen or, if gen is nil, the mean or mode, which is Executed alone. A
// policy with memory reads the state of the present mode. In evaluation its memory advances, in training Record
// advances it.
func (c *Collector) ask(s *tensor.Scope, in models.Inputs, gen *tensor.Generator) (a models.Action) {
	h := c.hiddenOf(layout.Policy)
	switch {
	case h == nil && gen == nil:
		return models.Action{Executed: c.Policy.Mode(s, in)}
	case h == nil:
		return c.Policy.Sample(s, in, gen)
	}
	p, now, next := c.Policy.(models.RecurrentPolicy), h.evaluation, h.evaluation
	var after tensor.Tensor
	if c.training {
		now, next = h.now, h.after
	}
	if in = h.addState(in, now); gen == nil {
		a.Executed, after = p.ModeHidden(s, in)
	} else {
		a, after = p.SampleHidden(s, in, gen)
	}
	s.Copy(next, after)
	return a
}

// staged are observations and states in a transfer; without states, or without both, the parts are zero.
type staged struct{ obs, state tensor.Part }

// stageRows puts observations and states (nil for none) into the transfer.
func (c *Core) stageRows(obs, state []float32) (rows staged, err error) {
	if rows.obs, err = c.obsRows.Stage(c.Transfer, obs); err != nil {
		return rows, c.errorf("observations: %w", err)
	}
	if c.spaces.State.Width() > 0 {
		if rows.state, err = c.stateRows.Stage(c.Transfer, state); err != nil {
			return rows, c.errorf("states: %w", err)
		}
	}
	return rows, nil
}

// tensors are the rows on the device.
func (r staged) tensors(s *tensor.Scope) (obs, state tensor.Tensor) {
	if r.state.Valid() {
		state = r.state.Tensor(s)
	}
	return r.obs.Tensor(s), state
}

// holds reports whether these are the rows of an observation, bit for bit, and still in the transfer.
func (r staged) holds(c *scalers, in agents.Observation) bool {
	return r.obs.Valid() && c.obsRows.Same(r.obs, in.Observations) && (!r.state.Valid() ||
		c.stateRows.Same(r.state, in.States))
}

// read copies actions to the host. It returns a DivergedError if one is infinite or NaN, because no environment
// should get it. An action that masks (N, K) forbid is an error, too: a custom policy may not apply them.
func (c *Collector) read(s *tensor.Scope, actions tensor.Tensor, masks []float32) error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := tensor.Read(actions, c.actions); err != nil {
		return err
	}
	if i, w := number.FirstNonFinite(c.actions), c.spaces.Action.Width(); i >= 0 {
		return &agents.DivergedError{Agent: c.name, Detail: fmt.Sprintf("action %d of environment %d is %g", i%w,
			i/w, c.actions[i])}
	}
	if len(masks) == 0 {
		return nil
	}
	if err := c.spaces.CheckAllowed(c.actions, masks); err != nil {
		return c.errorf("the policy %T does not apply Inputs.ActionMask: %w", c.Policy, err)
	}
	return nil
}
