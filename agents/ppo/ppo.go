// Package ppo is proximal policy optimisation (Schulman et al. 2017) with generalised advantage estimation.
//
// Make an agent with [New] from an environment's spaces, models (see [MLPs]) and settings; a trainer drives it. The
// whole algorithm is in update.go.
package ppo

import (
	"errors"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/config"
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
// but [agents.Terminator]. LearningRate returns the policy's present learning rate.
//
// Act and Record return an error, before anything changes, if rows are missing or hold NaN or infinities. A method
// that is called while another one runs, or after Close, does nothing and returns an error; if the method has no
// error to return, the next method returns the error of an overlap. NumEnvs, LearningRate, Hyperparameters and
// Settings may be called at any time by any goroutine, and after Close.
type Agent struct {
	*serial // its methods guard those of learner or, with overlap, of the two halves
	learner *learner
}

// serial has the methods of an Agent.
type serial = onpolicy.Serial[Config]

// Settings returns a copy of the settings as they stand, with defaults and later changes.
func (a *Agent) Settings() Config {
	c := a.serial.Settings()
	return c.clone()
}
