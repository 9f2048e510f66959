// Package ppo is proximal policy optimisation (Schulman et al. 2017) with generalised advantage estimation.
//
// Make an agent with [New] from an environment's spaces, models (see [MLPs]) and settings; a trainer drives it. The
// whole algorithm is in update.go.
package ppo

import (
	"context"
	"errors"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Options is what an agent is made of.
type Options struct {
	// Spaces describes one environment. NumEnvs is the number of environments that act together; 0 leaves it to the
	// trainer.
	Spaces  spaces.Set
	NumEnvs int
	// Models are the networks, for instance from [MLPs].
	Models Models
	// Dict holds settings by the keys of skrl's documentation, see [FromDict]. nil keeps all defaults.
	Dict map[string]any
	// Seed starts every random sequence of the agent. Equal seeds reproduce a run bit for bit on the same machine.
	Seed int64
	// Group is this process's part if several train the agent (distributed.Join). All give the same settings, models
	// and seed. Parameters are then rank 0's everywhere, and each rank draws its own random numbers. nil is one
	// process.
	Group *distributed.Group
}

// Config are PPO's settings; every one is documented at [agents.OnPolicy].
type Config struct {
	agents.OnPolicy `yaml:",inline"`
}

// DefaultConfig returns skrl's defaults for PPO, except that truncated episodes bootstrap (time_limit_bootstrap).
func DefaultConfig() Config {
	c := Config{OnPolicy: agents.DefaultOnPolicy()}
	c.LearningEpochs = 8
	c.LearningRate = []float64{1e-3}
	return c
}

// clone returns a copy that shares no slice with c.
func (c *Config) clone() Config { return Config{OnPolicy: onpolicy.Clone(&c.OnPolicy)} }

// Validate says which setting makes no sense.
func (c *Config) Validate() error {
	if err := config.Check(*c, "ppo"); err != nil {
		return err
	}
	return onpolicy.Validate(&c.OnPolicy, "ppo", 2)
}

// FromDict merges a dictionary of settings, as in skrl's documentation (1.4's names or 2.0's), over the defaults. With
// "compatibility" the defaults are those of that release of skrl. All problems are reported together.
func FromDict(dict map[string]any, sp spaces.Set) (Config, error) {
	c := DefaultConfig()
	err := onpolicy.Merge(dict, sp, &c, &c.OnPolicy, config.Options{Prefix: "ppo"}, c.Validate)
	return c, err
}

func init() { config.Declare("agents", "PPO", DefaultConfig(), onpolicy.OlderNames...) }

// learner is the inside of an [Agent]: what all on-policy agents share, and PPO's settings.
type learner struct {
	onpolicy.Parts
	cfg *Config
}

// New makes an agent. It returns an error, before anything changes, if spaces, models or settings are wrong, and
// closes the models then. A network that belongs to another agent is also an error, and stays open.
func New(o Options) (*Agent, error) {
	cfg, err := FromDict(o.Dict, o.Spaces)
	if err == nil {
		err = onpolicy.CheckSpaces("ppo", o.Spaces)
	}
	switch made := o.Models.Make != nil && o.Models.Policy == nil && o.Models.Value == nil; {
	case err != nil:
	case made:
		o.Models.Policy, o.Models.Value, err = o.Models.Make(o.Seed)
	case cfg.Overlap:
		err = onpolicy.NeedsMake("ppo")
	}
	if err == nil && (o.Models.Policy == nil || o.Models.Value == nil) {
		err = errors.New("ppo: Options.Models needs a Policy and a Value network; ppo.MLPs makes them")
	}
	if err != nil {
		onpolicy.CloseFree(o.Models.Policy)
		onpolicy.CloseFree(o.Models.Value)
		return nil, err
	}
	options := onpolicy.Options{Name: "PPO", Spaces: o.Spaces, NumEnvs: o.NumEnvs, Config: &cfg.OnPolicy,
		Settings: &cfg, Policy: o.Models.Policy, Value: o.Models.Value, Seed: o.Seed, Group: o.Group}
	parts, err := onpolicy.New(options)
	if err != nil {
		return nil, err
	}
	a := &learner{parts, &cfg}
	var actor onpolicy.Algorithm = a // or, with overlap, the agent that acts while a learns
	if cfg.Overlap {
		if options.Policy, options.Value, err = o.Models.Make(o.Seed); err != nil {
			_ = a.Close()
			return nil, err
		}
		if actor, err = onpolicy.NewOverlap(a, parts, options); err != nil {
			return nil, err
		}
	}
	return &Agent{onpolicy.NewSerial(actor, o.Seed, cfg.clone), a}, nil
}

// Hyperparameters returns the settings that may change while training, by key.
func (a *learner) Hyperparameters() map[string]float64 { return onpolicy.ReadTunable(a.cfg.Tunable()) }

// SetHyperparameters changes settings that may change while training, all or none.
func (a *learner) SetHyperparameters(values map[string]float64) error {
	next := a.cfg.clone()
	if err := a.Assign(&next.OnPolicy, next.Tunable(), values, next.Validate); err != nil {
		return err
	}
	*a.cfg = next
	return a.ApplySettings()
}

// Agent is a PPO agent, made by [New]. It implements [agents.Agent] and every optional interface of package agents
// but [agents.Terminator].
//
// Act and Record return an error, before anything changes, if rows are missing or hold NaN or infinities. A method
// that is called while another one runs, or after Close, does nothing and returns an error; if the method has no
// error to return, the next method returns the error of an overlap. NumEnvs, LearningRate, Hyperparameters and
// Settings may be called at any time by any goroutine, and after Close.
type Agent struct {
	serial  *onpolicy.Serial[Config] // guards the methods of learner or, with overlap, of the two halves
	learner *learner
}

// Name returns "PPO".
func (a *Agent) Name() string { return a.serial.Name() }

// Spaces returns the spaces that the agent was made for.
func (a *Agent) Spaces() spaces.Set { return a.serial.Spaces() }

// NumEnvs returns the number of environments N, or 0 until it is known.
func (a *Agent) NumEnvs() int { return a.serial.NumEnvs() }

// Bind fixes the number of environments. A trainer calls it; without it the first Act does.
func (a *Agent) Bind(numEnvs int) error { return a.serial.Bind(numEnvs) }

// Ranks returns this process's part if several train the agent, otherwise nil.
func (a *Agent) Ranks() *distributed.Group { return a.serial.Ranks() }

// Settings returns a copy of the settings as they stand, with defaults and later changes.
func (a *Agent) Settings() Config {
	c := a.serial.Settings()
	return c.clone()
}

// Act returns one row of actions per environment, (N, A), which the next call overwrites. In training it samples
// them, in evaluation it takes the distribution's mean or mode.
func (a *Agent) Act(in agents.Observation) ([]float32, error) { return a.serial.Act(in) }

// Record stores the transition that followed the last Act. In evaluation it only resets memories where episodes ended.
func (a *Agent) Record(t agents.Transition) error { return a.serial.Record(t) }

// Ready reports whether the rollout is complete, so that Update can learn from it.
func (a *Agent) Ready() bool { return a.serial.Ready() }

// Update learns from the rollout. If it fails, diverges ([agents.DivergedError]) or is cancelled, it is undone as a
// whole and can be called again. With overlap it starts the update and returns.
func (a *Agent) Update(ctx context.Context) error { return a.serial.Update(ctx) }

// Wait waits for the update in progress, if there is one (overlap), and returns its error.
func (a *Agent) Wait(ctx context.Context) error { return a.serial.Wait(ctx) }

// SetTraining switches between training and evaluation, and returns whether the agent was training.
func (a *Agent) SetTraining(on bool) (was bool) { return a.serial.SetTraining(on) }

// SetStochastic makes Act sample in evaluation (true), or take the distribution's mean or mode (false, the default).
func (a *Agent) SetStochastic(on bool) { a.serial.SetStochastic(on) }

// HiddenSizes returns the widths of the networks' states, by network. It is empty if no network has memory.
func (a *Agent) HiddenSizes() map[string]int { return a.serial.HiddenSizes() }

// ResetHidden says that the given environments, or all, were reset between the last Record and the next Act.
func (a *Agent) ResetHidden(environments ...int) { a.serial.ResetHidden(environments...) }

// Plan tells the learning-rate schedule how many timesteps the run has. The notes list conflicts of the settings with
// that length.
func (a *Agent) Plan(timesteps int) (notes []string) { return a.serial.Plan(timesteps) }

// LearningRate returns the policy's present learning rate.
func (a *Agent) LearningRate() float64 { return a.serial.LearningRate() }

// Hyperparameters returns the settings that may change while training, by key.
func (a *Agent) Hyperparameters() map[string]float64 { return a.serial.Hyperparameters() }

// SetHyperparameters changes some of the settings that Hyperparameters returns, all or (on error) none.
func (a *Agent) SetHyperparameters(values map[string]float64) error {
	return a.serial.SetHyperparameters(values)
}

// Tracked calls f for every figure since the last call (losses, learning rate), by tag in sorted order.
func (a *Agent) Tracked(f func(tag string, value float64)) { a.serial.Tracked(f) }

// Noted calls f for every note since the last call, such as an outlier that a scaler has learned from.
func (a *Agent) Noted(f func(note string)) { a.serial.Noted(f) }

// Architectures returns the architectures of the networks "policy" and "value" that have one.
func (a *Agent) Architectures() map[string]description.Architecture { return a.serial.Architectures() }

// Snapshot returns everything needed to continue training: parameters by name, optimizer, scalers, schedule, counters
// and random states. opt adds the rollout.
func (a *Agent) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	return a.serial.Snapshot(opt)
}

// Restore puts a snapshot back, all or (on error) nothing.
func (a *Agent) Restore(snap *checkpoint.Snapshot) error { return a.serial.Restore(snap) }

// Reseed starts all random sequences from seed.
func (a *Agent) Reseed(seed int64) error { return a.serial.Reseed(seed) }

// Close releases the networks and every tensor. It may be called twice. If another method is running, it returns an
// error and releases nothing.
func (a *Agent) Close() error { return a.serial.Close() }
