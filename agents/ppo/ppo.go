// Package ppo is proximal policy optimisation (Schulman et al. 2017) with generalised advantage estimation.
//
// Make an agent with [New] from an environment's spaces, models (see [MLPs]) and settings; a trainer drives it. The
// whole algorithm is in update.go.
package ppo

import (
	"errors"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/distributed"
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
		o.Models.close()
		return nil, err
	}
	options := onpolicy.Options{Name: "PPO", Spaces: o.Spaces, NumEnvs: o.NumEnvs, Config: &cfg.OnPolicy,
		Settings: &cfg, Policy: o.Models.Policy, Value: o.Models.Value, Seed: o.Seed, Group: o.Group}
	parts, err := onpolicy.New(options)
	if err != nil {
		return nil, err
	}
	a := &learner{parts, &cfg}
	if !cfg.Overlap {
		return guard(a, a, o.Seed), nil
	}
	if options.Policy, options.Value, err = o.Models.Make(o.Seed); err != nil {
		_ = a.Close()
		return nil, err
	}
	both, err := onpolicy.NewOverlap(a, parts, options)
	if err != nil {
		return nil, err
	}
	return guard(a, both, o.Seed), nil
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
