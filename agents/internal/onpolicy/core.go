// Package onpolicy is the common half of PPO and AMP. The algorithms themselves, which compute losses from a
// minibatch, are agents/ppo and agents/amp; this package calls neither.
//
// [New] (parts.go) makes the [Parts] that an algorithm embeds: networks, their flat parameters and the optimizer. Core
// (core.go) is what the others share: settings, networks, scalers, random sequences and the rollout. Values
// (bootstrap.go) asks the critics. Collector acts and records (act.go, record.go), also in evaluation (evaluation.go).
// Learner makes updates: read learner.go for their frame, minibatches.go for the passes over a rollout, and losses.go
// for what a minibatch computes. State saves and restores (snapshot.go, archive.go). [Overlap] lets two sets of Parts
// act and learn at once, and [Serial] refuses calls that overlap.
package onpolicy

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Options is what Parts are made of. Networks are listed in optimizer order: policy, value, then Extra.
type Options struct {
	// Name is the algorithm's name, which snapshots and errors have.
	Name string
	// Spaces and NumEnvs are those of the agent's options.
	Spaces  spaces.Set
	NumEnvs int
	// Config is the agent's own copy of the settings, which it changes while training. Settings points to the complete
	// settings of the algorithm, which contain Config.
	Config   *agents.OnPolicy
	Settings any
	// Policy draws actions (N, A). Value predicts standardised returns (N, 1).
	Policy models.Policy
	Value  models.Network
	// Extra lists the algorithm's further networks: a discriminator, a second critic. Critics are those of them that
	// estimate values.
	Extra   []NamedNetwork
	Critics []*Critic
	// Fields are the algorithm's own fields of the rollout. RawObservations gives every minibatch the observations as
	// they were observed (Batch.Raw).
	Fields          []Field
	RawObservations bool
	// Seed starts the agent's random sequences.
	Seed int64
	// Group is this rank's part of all that train the agent. It is nil if one process trains it.
	Group *distributed.Group
	// SeparateFrom is the index of the first network that the shared optimizer does not step; 0 means that it steps
	// all.
	SeparateFrom int
}

// Field is a field of the rollout.
type Field struct {
	memory.Field
	// Computed marks a field that an update computes; snapshots leave it out.
	Computed bool
	// Minibatch gives every minibatch its rows (Batch.Field).
	Minibatch bool
}

// Core is what Values, Collector, Learner and State share. N is the number of environments, T the number of steps of a
// rollout.
type Core struct {
	Config *agents.OnPolicy
	Policy models.Policy
	Value  models.Network
	// Flat holds all parameters in one tensor and all gradients in another, which the networks' tensors are views of.
	Flat *tensor.Flat
	// Device is where all tensors live. Precision is the type in which layers compute (mixed_precision).
	Device    tensor.Device
	Precision tensor.Precision
	// Transfer takes what the host has for the device there.
	Transfer *tensor.Transfer
	// Figures collects what Tracked and Noted show.
	Figures *Tracker
	// Timestep counts recorded timesteps, Updates counts updates. Snapshots have both.
	Timestep, Updates int64

	*Experience
	*Random
	*ranks
	*scalers
	*hiddenStates

	name          string
	prefix        string // the name in lower case, for errors
	spaces        spaces.Set
	numEnvs       int
	networks      []NamedNetwork
	fields        []Field // the algorithm's own
	raw           bool    // whether minibatches have raw observations
	distributions bool    // whether the rollout has mean and standard deviation of the actions
	training      bool
	stream        *tensor.Stream // on which the agent acts, records and learns, if its device is of CUDA
	resident      *tensor.Scope  // owns what lives as long as the agent
}

// errorf returns an error that begins with the algorithm's name.
func (c *Core) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", c.prefix, fmt.Errorf(format, args...))
}

// Bind fixes the number of environments and allocates what depends on it. A second call with the same number does
// nothing.
func (c *Core) Bind(numEnvs int) error {
	switch {
	case numEnvs <= 0:
		return c.errorf("the number of environments is %d; it must be positive", numEnvs)
	case c.numEnvs == numEnvs:
		return nil
	case c.numEnvs != 0:
		return c.errorf("the agent acts in %d environments, not %d", c.numEnvs, numEnvs)
	}
	if err := cmp.Or(checkMiniBatches(c.Config, numEnvs), c.checkSequences(numEnvs)); err != nil {
		return c.errorf("%w", err)
	}
	c.numEnvs = numEnvs
	return c.allocate()
}

// allocate makes the rollout (T, N, width a field) and the rows that every step writes, so that a step allocates
// nothing.
func (c *Core) allocate() error {
	sp, n := c.spaces, int64(c.numEnvs)
	fields := []memory.Field{c.obsRows.Field("observations"), {Name: "actions", Width: sp.Action.Width()},
		{Name: "rewards", Width: 1}, {Name: "terminated", Width: 1}, {Name: "truncated", Width: 1},
		{Name: "log_prob", Width: 1}, {Name: "values", Width: 1}, {Name: "final_values", Width: 1},
		{Name: "returns", Width: 1}, {Name: "advantages", Width: 1}}
	if sp.State.Width() > 0 {
		fields = append(fields, c.stateRows.Field("states"))
		c.nextState = c.stateRows.Zeros(c.resident, n)
	}
	if w := sp.ActionMask.Width(); w > 0 {
		fields = append(fields, memory.Field{Name: "action_masks", Width: w, DType: spaces.Uint8})
	}
	if len(c.hiddens) > 0 { // hidden states are cleared after a step that ends an episode
		fields = append(fields, memory.Field{Name: "ended", Width: 1})
	}
	if c.Config.Overlap {
		fields = append(fields, memory.Field{Name: "log_prob_before", Width: 1}, memory.Field{Name: "importance",
			Width: 1})
	}
	fields = append(fields, c.distributionFields()...)
	for _, f := range c.fields {
		fields = append(fields, f.Field)
	}
	var err error
	if c.Rollout, err = memory.NewRollout(c.Config.Rollouts, c.numEnvs, fields, c.Device); err != nil {
		return err
	}
	c.nextObs = c.obsRows.Zeros(c.resident, n)
	c.invalid = make([]bool, c.Config.Rollouts*c.numEnvs)
	c.idle = make([]bool, (c.Config.Rollouts+1)*c.numEnvs)
	c.allocateHidden()
	return c.resident.Err()
}

// probe runs every network once, so that a width that does not fit is an error of the constructor and not of the first
// step. It reports whether the policy gives mean and standard deviation of its actions.
func (c *Core) probe() (gaussian bool, err error) {
	s := tensor.NoGrad().On(c.Device).Layers(c.Precision)
	defer s.Close()
	in := c.ZeroInputs(s)
	mode := c.Policy.Mode(s, in)
	v := c.Value.Forward(s, in)
	e := c.Policy.Evaluate(s, in, mode)
	judged := e.LogProb
	if err := s.Err(); err != nil {
		return false, c.errorf("the models do not fit the spaces %v and %v: %w", c.spaces.Observation,
			c.spaces.Action, err)
	}
	return e.Mean.T != nil && e.StdDev.T != nil, cmp.Or(
		c.CheckOutput("the policy's actions have", mode, c.spaces.Action.Width(), ""),
		c.CheckOutput("the policy's log-probabilities have", judged, 1, ": one an action (reduction \"sum\")"),
		c.CheckOutput("the value network's output has", v, 1, ""))
}

// CheckOutput returns an error unless the output of a probe has the shape (N, width). what begins the error, and hint
// ends it.
func (c *Core) CheckOutput(what string, out tensor.Tensor, width int, hint string) error {
	if got := tensor.Shape(out); len(got) != 2 || got[1] != int64(width) {
		return c.errorf("%s shape %v, want (N, %d)%s", what, got, width, hint)
	}
	return nil
}

// ZeroInputs returns one row of zeros as the networks read it, for probes of their widths.
func (c *Core) ZeroInputs(s *tensor.Scope) models.Inputs {
	in := models.Inputs{Observations: s.Zeros(1, int64(c.spaces.Observation.Width()))}
	if w := c.spaces.State.Width(); w > 0 {
		in.States = s.Zeros(1, int64(w))
	}
	return in
}

// Name returns the algorithm's name.
func (c *Core) Name() string { return c.name }

// Spaces returns the spaces that the agent was made for.
func (c *Core) Spaces() spaces.Set { return c.spaces }

// NumEnvs returns N, or 0 before Bind.
func (c *Core) NumEnvs() int { return c.numEnvs }

// Training reports whether the agent is in training.
func (c *Core) Training() bool { return c.training }

// Ready reports whether the rollout is complete. An agent in evaluation is never ready.
func (c *Core) Ready() bool { return c.training && c.Rollout != nil && c.Rollout.Full() }

// Tracked calls f for every value tracked since the last call, by tag in sorted order, and forgets them.
func (c *Core) Tracked(f func(tag string, value float64)) { c.Figures.Drain(f) }

// Noted implements [agents.Noter].
func (c *Core) Noted(f func(note string)) { c.Figures.Notes(f) }

// One seed starts both sequences of Random; these constants keep them apart.
const (
	pcgStream       = 0x9e3779b97f4a7c15
	generatorStream = 0x5851f42d4c957f2d
)

// Random are an agent's two random sequences: Gen for actions, shuffling and minibatches on the device, Rng for what is
// drawn on the host.
type Random struct {
	Gen *tensor.Generator
	Rng *rand.Rand

	pcg    *rand.PCG
	offset int64 // added to seeds, so that each rank draws its own numbers
}

// Reseed starts both random sequences from seed.
func (r *Random) Reseed(seed int64) error {
	r.pcg.Seed(uint64(seed+r.offset), pcgStream)
	return r.Gen.Seed((seed + r.offset) ^ generatorStream)
}
