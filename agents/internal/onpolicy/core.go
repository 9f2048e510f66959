// Package onpolicy is what PPO and AMP have in common: acting, recording a rollout, estimating advantages, handing out
// minibatches, and the optimizer over flat parameters. The algorithms themselves, what is computed from a minibatch,
// are in agents/ppo and agents/amp.
package onpolicy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// An agent has two random sequences: libtorch's, for actions, shuffling and minibatches on the device, and Go's, for
// what is drawn on the host. One seed starts both; these constants keep them apart.
const (
	pcgStream       = 0x9e3779b97f4a7c15
	generatorStream = 0x5851f42d4c957f2d
)

// NamedNetwork is one of the agent's networks. Its name begins the names of its parameters in snapshots
// ("policy/net.0.weight").
type NamedNetwork struct {
	Name       string
	Parameters []tensor.Parameter
	Close      func()
	// Network is the network itself; snapshots record its architecture where it has one.
	Network any
}

// Options is what a Core is made of. Networks are listed in optimizer order: policy, value, then Extra.
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
	// Policy draws actions (N, A); Value predicts standardised returns (N, 1).
	Policy models.Policy
	Value  models.Network
	// Extra are an algorithm's further networks: the discriminator, a second critic. Critics are those of them that
	// estimate values.
	Extra   []NamedNetwork
	Critics []*Critic
	// Fields are an algorithm's own fields of the rollout, and Scratch those among them that an update computes and that
	// snapshots leave out.
	Fields  []memory.Field
	Scratch []string
	Seed    int64
	// Group is this rank's part of all that train the agent, nil where there is one.
	Group *distributed.Group
	// SeparateFrom is the index of the first network that the shared optimizer does not step; 0 means that it steps all.
	SeparateFrom int
}

// Core is the common part of an on-policy agent. An algorithm embeds it in its own type, which users do not see, and
// reads its fields and calls its methods in the order of the algorithm. N is the number of environments, T that of a
// rollout's steps.
type Core struct {
	Config *agents.OnPolicy
	Policy models.Policy
	Value  models.Network
	// Flat holds all parameters in one tensor and all gradients in another, which the networks' tensors are views of.
	Flat *tensor.Flat
	// Optimizer steps the networks that share it (all but those from Options.SeparateFrom on).
	Optimizer *tensor.Optimizer
	// Scheduler changes the learning rates; nil for constant ones.
	Scheduler schedulers.Scheduler
	// The scalers standardise observations, states and returns; nil ones leave them as they are.
	ObservationScaler, StateScaler, VScaler *preprocessors.RunningStandardScaler
	// Group is this rank's part of all that train the agent, nil where there is one.
	Group *distributed.Group
	// Rollout holds the T timesteps to learn from; nil before Bind.
	Rollout *memory.Rollout
	// Gen and Rng are the agent's random sequences on the device and on the host.
	Gen *tensor.Generator
	Rng *rand.Rand
	// Device is where all tensors live. Figures collects what Tracked shows.
	Device  tensor.Device
	Figures *Tracker
	// Transfer takes what the host has for the device there.
	Transfer *tensor.Transfer
	// Precision is the type in which layers compute (mixed_precision), float32 where it is off.
	Precision tensor.Precision
	// Timestep counts recorded timesteps, Updates counts updates. Snapshots have both.
	Timestep, Updates int64
	// Shuffle returns the numbers from 0 to n−1 in a random order, in which an epoch goes through the rollout's rows. It
	// is a field because tests of package agents replay recorded orders through it.
	Shuffle func(s *tensor.Scope, n int64) tensor.Tensor
	// Estimator is Value with the fields of its estimates.
	Estimator *Critic
	// Overwrites repeats skrl 2.0's mistakes about memories, see overwriteState and goOn: New sets it for skrl's
	// mode. Tests clear it to compare with a skrl that is repaired.
	Overwrites bool
	// Fetched is what an Overlap has asked the environment for, for the next update; otherwise nil.
	Fetched []float32
	// Differ says that minibatches of an update are not made alike, so that none is recorded for others (graphs.go).
	Differ bool
	// StageRecord, where set, puts an algorithm's own rows of a transition into Transfer; an error refuses the
	// transition. AfterRecord writes its own fields of the step being recorded, when all has been sent.
	StageRecord func(t agents.Transition) error
	AfterRecord func(s *tensor.Scope)

	name      string
	spaces    spaces.Set
	numEnvs   int
	obsRows   *memory.Packing // how rows of observations and states are kept
	stateRows *memory.Packing
	fields    []memory.Field
	scratch   []string // fields that are not part of a snapshot
	pcg       *rand.PCG
	training  bool
	sampling  bool  // actions in evaluation, too
	acted     bool  // Act has begun a step that Record has not completed
	resetErr  error // of the last ResetHidden, which has no error result
	networks  []NamedNetwork
	segments  []tensor.Group // the flat range of each network
	stepped   []int          // the network of each group of Optimizer

	stream    *tensor.Stream // on which the agent acts, records and learns, where its device is of CUDA
	resident  *tensor.Scope  // owns what lives as long as the agent
	step      *tensor.Scope  // owns what a call of Act or Record computes
	delivery  delivery       // what Record has sent
	ahead     staged         // what the next Act will probably ask for, already on the device
	nextObs   tensor.Tensor  // (N, O), what follows the rollout's last step
	nextState tensor.Tensor  // (N, S)
	actions   []float32      // (N, A), what Act returns
	rewards   []float32      // (N), to shape
	invalid   []bool         // (T·N), the rows of the rollout that show no transition
	checks    checks         // state of the checks for NaN, infinities and outliers
	backup    tensor.Tensor  // the parameters when the update began
	none      tensor.Tensor  // a scalar 0, the figure of a loss that is off
	seenKL    []float64      // of the epoch's minibatches, where kl_threshold asks for them
	stdDev    tensor.Tensor
	hasStdDev bool
	undo      undo
	flags     tensor.Tensor   // (ranks), how often the losses of each were not finite in this update
	gradients *gradientScaler // with mixed precision in float16, otherwise nil
	graphs    *graphs         // recorded minibatches; nil where none can be

	period     string // when a schedule that looks at the divergence steps, "" where there is none
	gaussianKL bool   // whether that divergence is the closed form
	movingKL   bool   // whether the divergence is that from the previous epoch, not from the rollout
	gaussian   bool   // whether the policy says mean and standard deviation of its actions

	critics   []*Critic     // Estimator and Options.Critics
	joined    bool          // policy and value network share a trunk
	hiddens   []*hidden     // of the networks with memory
	firstRows tensor.Tensor // the rows with which the rollout's sequences begin
	stepRows  tensor.Tensor // (L, 1), how far behind them the sequences' steps are
	order     tensor.Tensor // with mini_batch_order "random_once" the order of the rows in the present update

	extraScalers []scaler
	optimizers   []namedOptimizer
	replays      []namedReplay
	described    *description.Policy // see policyValues
}

// New assembles the common part: parameters in flat memory with their optimizer, scalers, random sequences. It runs
// every network once, so that a width that does not fit is an error here. The networks belong to the Core from then
// on, and New closes them if it fails. A network that belongs to another Core is an error, and stays open.
func New(o Options) (c *Core, err error) {
	cfg := o.Config
	networks := append([]NamedNetwork{
		{layout.Policy, o.Policy.Parameters(), o.Policy.Close, o.Policy},
		{layout.Value, o.Value.Parameters(), o.Value.Close, o.Value},
	}, o.Extra...)
	// On an error everything made so far is closed: the Core with its networks, or, before there is one, the networks.
	var made *Core // because `return nil, err` sets c to nil
	defer func() {
		switch {
		case err == nil:
		case made != nil:
			_ = made.Close()
		default:
			for _, n := range networks {
				closeFree(n.Parameters, n.Close, nil)
			}
		}
	}()
	if err := o.Spaces.Validate(); err != nil {
		return nil, err
	}
	if o.NumEnvs < 0 {
		return nil, fmt.Errorf("%s: NumEnvs is %d; want a positive number, or 0 to learn it from the trainer",
			strings.ToLower(o.Name), o.NumEnvs)
	}
	device, err := tensor.ParseDevice(ownDevice(o.Group, cfg.Device, tensor.CUDADevices()))
	if err != nil {
		return nil, fmt.Errorf("%s: \"device\": %w", strings.ToLower(o.Name), err)
	}
	precision, err := precisionOf(cfg, device)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.ToLower(o.Name), err)
	}
	if got, want := o.Policy.ActionWidth(), o.Spaces.Action.Width(); got != want {
		return nil, fmt.Errorf("%s: the policy's actions have %d values, the action space %v has %d", strings.ToLower(o.Name),
			got, o.Spaces.Action, want)
	}
	c = &Core{
		Config: cfg, Policy: o.Policy, Value: o.Value, Device: device, name: o.Name, spaces: o.Spaces, fields: o.Fields,
		training: true, Figures: NewTracker(), Precision: precision, Group: o.Group,
		resident: tensor.NoGrad().On(device), step: tensor.NoGrad().On(device).Layers(precision),
		pcg: rand.NewPCG(uint64(ownSeed(o.Group, o.Seed)), pcgStream), Transfer: tensor.NewTransfer(device),
	}
	c.Rng = rand.New(c.pcg)
	if precision == tensor.Float16 {
		c.gradients = newGradientScaler()
	}
	c.Shuffle = func(s *tensor.Scope, n int64) tensor.Tensor { return s.RandPerm(c.Gen, n) }
	c.obsRows, c.stateRows = memory.NewPacking(o.Spaces.Observation), memory.NewPacking(o.Spaces.State)
	c.networks, made = networks, c
	c.Estimator = &Critic{Name: layout.Value, Network: o.Value, Values: "values", Final: "final_values"}
	c.critics = append([]*Critic{c.Estimator}, o.Critics...)
	c.joined, c.Overwrites = models.SharesTrunk(o.Policy, o.Value), cfg.Skrl()
	if err = c.remember(); err != nil {
		return nil, err
	}
	if c.stream, err = tensor.NewStream(device); err != nil {
		return nil, err
	}
	c.scratch = append([]string{"returns", "advantages", "log_prob_before", "importance"}, o.Scratch...)
	for _, k := range c.critics { // an update computes these values of the whole rollout at once
		if !c.stepwise(k) {
			c.scratch = append(c.scratch, k.Values)
		}
	}
	if c.Gen, err = tensor.NewGenerator(ownSeed(o.Group, o.Seed)^generatorStream, device); err != nil {
		return nil, err
	}
	if err = c.flatten(o.SeparateFrom, fmt.Sprintf("the %s agent with seed %d", o.Name, o.Seed)); err != nil {
		return nil, err
	}
	if err = c.shareParameters(o.Settings); err != nil {
		return nil, err
	}
	if err = c.scalers(); err != nil {
		return nil, err
	}
	if err = cmp.Or(c.checkChoices(), c.checkRanks(), c.newGraphs()); err != nil {
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

// Bind fixes the number of environments and allocates what depends on it. A second call with the same number does
// nothing.
func (c *Core) Bind(numEnvs int) error {
	switch {
	case numEnvs <= 0:
		return fmt.Errorf("%s: the number of environments is %d; it must be positive", strings.ToLower(c.name), numEnvs)
	case c.numEnvs == numEnvs:
		return nil
	case c.numEnvs != 0:
		return fmt.Errorf("%s: the agent acts in %d environments, not %d", strings.ToLower(c.name), c.numEnvs, numEnvs)
	}
	rows := math.MaxInt // environment steps of a rollout; so many do not fit into memory
	if c.Config.Rollouts <= math.MaxInt/numEnvs {
		rows = c.Config.Rollouts * numEnvs
	}
	if rows < 2 && c.Config.AdvantageNormalization == "rollout" {
		return fmt.Errorf("%s: a rollout of 1 step of 1 environment has no deviation to normalise advantages by; raise \"rollouts\" or the number of environments, or set \"advantage_normalization\" to \"none\"", strings.ToLower(c.name))
	}
	if m := c.Config.MiniBatchSize; m > 0 && rows < math.MaxInt && rows%m != 0 {
		return fmt.Errorf("%s: \"mini_batch_size\" is %d, which does not divide the %d rows of a rollout (\"rollouts\" %d × %d environments)",
			strings.ToLower(c.name), m, rows, c.Config.Rollouts, numEnvs)
	}
	if c.Config.MiniBatchSize == 0 && c.Config.MiniBatches > rows {
		return fmt.Errorf("%s: \"mini_batches\" is %d, but a rollout has only %d rows (\"rollouts\" %d × %d environments), and no minibatch may be empty",
			strings.ToLower(c.name), c.Config.MiniBatches, rows, c.Config.Rollouts, numEnvs)
	}
	if err := c.checkSequences(numEnvs); err != nil {
		return err
	}
	c.numEnvs = numEnvs
	return c.allocate()
}

// allocate makes the rollout (T, N, width a field) and the rows that every step writes, so that a step allocates
// nothing.
func (c *Core) allocate() error {
	sp, n := c.spaces, int64(c.numEnvs)
	fields := []memory.Field{c.obsRows.Field("observations"), {Name: "actions", Width: sp.Action.Width()},
		{Name: "rewards", Width: 1}, {Name: "terminated", Width: 1}, {Name: "truncated", Width: 1}, {Name: "log_prob", Width: 1},
		{Name: "values", Width: 1}, {Name: "final_values", Width: 1}, {Name: "returns", Width: 1}, {Name: "advantages", Width: 1}}
	if sp.State.Width() > 0 {
		fields = append(fields, c.stateRows.Field("states"))
		c.nextState = c.stateRows.Zeros(c.resident, n)
	}
	if len(c.hiddens) > 0 { // where memories begin anew behind a step
		fields = append(fields, memory.Field{Name: "ended", Width: 1})
	}
	if c.Config.Overlap {
		fields = append(fields, memory.Field{Name: "log_prob_before", Width: 1}, memory.Field{Name: "importance", Width: 1})
	}
	fields = append(append(fields, c.distributionFields()...), c.fields...)
	var err error
	if c.Rollout, err = memory.NewRollout(c.Config.Rollouts, c.numEnvs, fields, c.Device); err != nil {
		return err
	}
	c.nextObs = c.obsRows.Zeros(c.resident, n)
	c.actions = make([]float32, c.numEnvs*sp.Action.Width())
	c.rewards, c.checks.unread = make([]float32, c.numEnvs), make([]bool, c.numEnvs)
	c.invalid = make([]bool, c.Config.Rollouts*c.numEnvs)
	c.stdDev, c.none = c.resident.Zeros(), c.resident.Zeros()
	c.allocateHidden()
	return c.resident.Err()
}

// probe runs every network once, so that a width that does not fit is an error of the constructor and not of the first
// step.
func (c *Core) probe() error {
	s := tensor.NoGrad().On(c.Device).Layers(c.Precision)
	defer s.Close()
	in := c.ZeroInputs(s)
	mode := c.Policy.Mode(s, in)
	v := c.Value.Forward(s, in)
	e := c.Policy.Evaluate(s, in, mode)
	judged := e.LogProb
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: the models do not fit the spaces %v and %v: %w", strings.ToLower(c.name), c.spaces.Observation,
			c.spaces.Action, err)
	}
	if got := tensor.Shape(mode); len(got) != 2 || got[1] != int64(c.spaces.Action.Width()) {
		return fmt.Errorf("%s: the policy's actions have shape %v, want (N, %d)", strings.ToLower(c.name), got,
			c.spaces.Action.Width())
	}
	if got := tensor.Shape(judged); len(got) != 2 || got[1] != 1 {
		return fmt.Errorf("%s: the policy's log-probabilities have shape %v, want (N, 1): one an action (reduction \"sum\")",
			strings.ToLower(c.name), got)
	}
	if got := tensor.Shape(v); len(got) != 2 || got[1] != 1 {
		return fmt.Errorf("%s: the value network's output has shape %v, want (N, 1)", strings.ToLower(c.name), got)
	}
	c.gaussian = e.Mean.T != nil && e.StdDev.T != nil
	return c.CheckSettings(c.Config)
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

// NumEnvs returns N, 0 before Bind.
func (c *Core) NumEnvs() int { return c.numEnvs }

// SetTraining switches between training and evaluation, and returns the mode before. SetTraining(false) begins the
// memories of evaluation anew, also in evaluation.
func (c *Core) SetTraining(on bool) (was bool) {
	was, c.training = c.training, on
	if !on {
		c.ResetHidden()
	}
	return was
}

// Training reports whether the agent is in training.
func (c *Core) Training() bool { return c.training }

// SetStochastic makes evaluation sample actions, from the agent's own random sequence, instead of taking the mean or
// mode.
func (c *Core) SetStochastic(on bool) { c.sampling = on }

// Reseed starts both random sequences anew, as New does.
func (c *Core) Reseed(seed int64) error {
	seed = ownSeed(c.Group, seed)
	c.pcg.Seed(uint64(seed), pcgStream)
	return c.Gen.Seed(seed ^ generatorStream)
}

// Close releases networks, memories and all tensors. It may be called twice.
func (c *Core) Close() error {
	for _, n := range c.networks {
		closeFree(n.Parameters, n.Close, c.Flat)
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
		if s.Scaler != nil {
			s.Close()
		}
	}
	if c.Rollout != nil {
		c.Rollout.Close()
	}
	c.graphs.close()
	tensor.Free(c.order)
	if c.Gen != nil {
		c.Gen.Close()
	}
	c.resident.Close()
	c.step.Close()
	c.Transfer.Close()
	c.stream.Close()
	return nil
}
