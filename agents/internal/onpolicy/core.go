// Package onpolicy is what PPO and AMP have in common: acting, recording a rollout, estimating advantages, handing out
// minibatches, and the optimizer over flat parameters. The algorithms themselves, what is computed from a minibatch, are
// in agents/ppo and agents/amp.
package onpolicy

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// One seed starts two sequences; these keep them apart.
const (
	pcgStream       = 0x9e3779b97f4a7c15
	generatorStream = 0x5851f42d4c957f2d
)

// NamedNetwork is a part of the agent with parameters of its own, in optimizer order.
type NamedNetwork struct {
	Name       string
	Parameters []tensor.Parameter
	Close      func()
	Network    any // whose architecture snapshots name, where it has one
}

// Options is what an agent is made of.
type Options struct {
	Name    string // the algorithm
	Spaces  spaces.Set
	NumEnvs int
	Config  *agents.OnPolicy // the agent's own, which may change while training
	Policy  models.Policy
	Value   models.Network
	Extra   []NamedNetwork // after policy and value: the discriminator, a second critic
	Fields  []memory.Field // of the rollout beside the common ones
	Scratch []string       // those of Fields that an update computes and forgets
	Seed    int64
	// SeparateFrom excludes the networks from this index on from the shared optimizer (0: none).
	SeparateFrom int
}

// Core is the common part of an on-policy agent.
type Core struct {
	Config                                  *agents.OnPolicy
	Policy                                  models.Policy
	Value                                   models.Network
	Flat                                    *tensor.Flat
	Optimizer                               *tensor.Optimizer
	Scheduler                               schedulers.Scheduler // nil for a constant rate
	ObservationScaler, StateScaler, VScaler *preprocessors.RunningStandardScaler
	Rollout                                 *memory.Rollout
	Gen                                     *tensor.Generator
	Rng                                     *rand.Rand
	Device                                  tensor.Device
	Tracked                                 *Tracker
	// Timestep counts recorded steps of the batch of environments, Updates counts updates.
	Timestep, Updates int64
	// AfterRecord, where set, writes an algorithm's own fields of the step being recorded.
	AfterRecord func(s *tensor.Scope, t agents.Transition) error

	name     string
	spaces   spaces.Set
	numEnvs  int
	fields   []memory.Field
	scratch  []string // fields that are not part of a snapshot
	pcg      *rand.PCG
	training bool
	sampling bool // actions in evaluation, too
	acted    bool
	networks []NamedNetwork
	segments []tensor.Group
	stepped  []int // the network of each group of Optimizer

	resident  *tensor.Scope
	step      *tensor.Scope
	evalObs   tensor.Tensor
	evalState tensor.Tensor
	nextObs   tensor.Tensor
	nextState tensor.Tensor
	actions   []float32
	rewards   []float32
	flags     []float32
	backup    tensor.Tensor
	seenKL    []float64 // of the epoch's minibatches, where kl_threshold asks for them
	stdDev    tensor.Tensor
	hasStdDev bool
	undo      undo

	extraScalers []scaler
	optimizers   []namedOptimizer
	replays      []namedReplay
	described    *description.Policy // see policyValues
}

// New assembles the common part. The models belong to it from then on, also when it fails.
func New(o Options) (c *Core, err error) {
	cfg := o.Config
	networks := append([]NamedNetwork{
		{layout.Policy, o.Policy.Parameters(), o.Policy.Close, o.Policy},
		{layout.Value, o.Value.Parameters(), o.Value.Close, o.Value},
	}, o.Extra...)
	var made *Core // c itself is nil again where an error is returned
	defer func() {
		switch {
		case err == nil:
		case made != nil:
			_ = made.Close()
		default:
			for _, n := range networks {
				n.Close()
			}
		}
	}()
	if err := o.Spaces.Validate(); err != nil {
		return nil, err
	}
	if o.NumEnvs < 0 {
		return nil, fmt.Errorf("%s: NumEnvs is %d; want a positive number, or 0 to learn it from the trainer", strings.ToLower(o.Name), o.NumEnvs)
	}
	device, err := tensor.ParseDevice(cfg.Device)
	if err != nil {
		return nil, fmt.Errorf("%s: \"device\": %w", strings.ToLower(o.Name), err)
	}
	if got, want := o.Policy.ActionWidth(), o.Spaces.Action.Width(); got != want {
		return nil, fmt.Errorf("%s: the policy's actions have %d values, the action space %v has %d", strings.ToLower(o.Name), got, o.Spaces.Action, want)
	}
	c = &Core{
		Config: cfg, Policy: o.Policy, Value: o.Value, Device: device, name: o.Name, spaces: o.Spaces, fields: o.Fields,
		training: true, Tracked: NewTracker(), resident: tensor.NoGrad().On(device), step: tensor.NoGrad().On(device),
		pcg: rand.NewPCG(uint64(o.Seed), pcgStream),
	}
	c.Rng = rand.New(c.pcg)
	c.scratch = append([]string{"returns", "advantages"}, o.Scratch...)
	if !cfg.Skrl() {
		c.scratch = append(c.scratch, "values")
	}
	c.networks, made = networks, c
	if c.Gen, err = tensor.NewGenerator(o.Seed^generatorStream, device); err != nil {
		return nil, err
	}
	if err = c.flatten(o.SeparateFrom); err != nil {
		return nil, err
	}
	if err = c.scalers(); err != nil {
		return nil, err
	}
	if err = c.checkChoices(); err != nil {
		return nil, err
	}
	if err = c.probe(); err != nil {
		return nil, err
	}
	if o.NumEnvs > 0 {
		err = c.Bind(o.NumEnvs)
	}
	return c, err
}

// Bind implements [agents.Agent]: it allocates what depends on the number of environments.
func (c *Core) Bind(numEnvs int) error {
	switch {
	case numEnvs <= 0:
		return fmt.Errorf("%s: the number of environments is %d; it must be positive", strings.ToLower(c.name), numEnvs)
	case c.numEnvs == numEnvs:
		return nil
	case c.numEnvs != 0:
		return fmt.Errorf("%s: the agent acts in %d environments, not %d", strings.ToLower(c.name), c.numEnvs, numEnvs)
	}
	rows := c.Config.Rollouts * numEnvs
	if rows < 2 {
		return fmt.Errorf("%s: a rollout of 1 step of 1 environment has no deviation to normalise advantages by; raise \"rollouts\" or the number of environments", strings.ToLower(c.name))
	}
	if c.Config.Skrl() && c.Config.MiniBatches > rows {
		return fmt.Errorf("%s: \"mini_batches\" is %d, but a rollout has %d rows; skrl drops the remainder, which would be all of them", strings.ToLower(c.name), c.Config.MiniBatches, rows)
	}
	c.numEnvs = numEnvs
	return c.allocate()
}

// Name implements [agents.Agent].
func (c *Core) Name() string { return c.name }

// Spaces implements [agents.Agent].
func (c *Core) Spaces() spaces.Set { return c.spaces }

// NumEnvs implements [agents.Agent].
func (c *Core) NumEnvs() int { return c.numEnvs }

// SetTraining implements [agents.Agent].
func (c *Core) SetTraining(on bool) { c.training = on }

// SetStochastic lets the agent sample actions in evaluation, too, instead of taking the distribution's mean or mode. They
// are drawn from the agent's own random sequence.
func (c *Core) SetStochastic(on bool) { c.sampling = on }

// Training implements [agents.Agent].
func (c *Core) Training() bool { return c.training }

// Close implements [agents.Agent].
func (c *Core) Close() error {
	for _, n := range c.networks {
		n.Close()
	}
	for _, o := range c.optimizers {
		o.Close()
	}
	for _, m := range c.replays {
		m.Close()
	}
	if c.Flat != nil {
		c.Flat.Close()
	}
	for _, s := range c.allScalers() {
		s.Close()
	}
	if c.Rollout != nil {
		c.Rollout.Close()
	}
	if c.Gen != nil {
		c.Gen.Close()
	}
	c.resident.Close()
	c.step.Close()
	return nil
}
