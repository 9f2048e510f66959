package ppo

import (
	"context"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// Agent is a PPO agent, made by [New]. It implements [agents.Agent] and all optional interfaces of package agents but
// agents.Composite.
type Agent struct {
	learner *learner
}

var (
	_ agents.Agent       = (*Agent)(nil)
	_ agents.Binder      = (*Agent)(nil)
	_ agents.Tracker     = (*Agent)(nil)
	_ agents.Tunable     = (*Agent)(nil)
	_ agents.Snapshotter = (*Agent)(nil)
	_ agents.Reseeder    = (*Agent)(nil)
	_ agents.Stochastic  = (*Agent)(nil)
	_ agents.Evolvable   = (*Agent)(nil)
)

// Name returns "PPO".
func (a *Agent) Name() string { return a.learner.Name() }

// Spaces returns those the agent was made for.
func (a *Agent) Spaces() spaces.Set { return a.learner.Spaces() }

// Settings returns a copy of the settings as they stand, defaults and later changes included.
func (a *Agent) Settings() Config { return a.learner.cfg.clone() }

// NumEnvs returns the number of environments, 0 until Options, Bind or the first Act has fixed it.
func (a *Agent) NumEnvs() int { return a.learner.NumEnvs() }

// Bind fixes the number of environments and allocates the rollout for them.
func (a *Agent) Bind(numEnvs int) error { return a.learner.Bind(numEnvs) }

// SetTraining switches between training and evaluation, and returns whether the agent was training.
func (a *Agent) SetTraining(on bool) (was bool) { return a.learner.SetTraining(on) }

// SetStochastic makes evaluation sample actions instead of taking the distribution's mean or mode.
func (a *Agent) SetStochastic(on bool) { a.learner.SetStochastic(on) }

// Act returns the actions for N observations, (N, A); the next call overwrites them.
func (a *Agent) Act(in agents.Observation) ([]float32, error) { return a.learner.Act(in) }

// Record stores the transition that followed the last Act. It is an error where rows are missing or a reward is not
// finite.
func (a *Agent) Record(t agents.Transition) error { return a.learner.Record(t) }

// Ready reports whether the rollout is complete.
func (a *Agent) Ready() bool { return a.learner.Ready() }

// Update learns from the rollout, see update.go. An update that fails, diverges (agents.DivergedError) or is cancelled
// is undone.
func (a *Agent) Update(ctx context.Context) error { return a.learner.update(ctx) }

// Tracked calls f for every value tracked since the last call, by tag in sorted order, and forgets them.
func (a *Agent) Tracked(f func(tag string, value float64)) { a.learner.Tracked.Drain(f) }

// Hyperparameters returns the settings that may change while training, by their keys.
func (a *Agent) Hyperparameters() map[string]float64 { return agents.Values(a.learner.cfg.Tunable()) }

// SetHyperparameters changes some of them, all or (on error) none.
func (a *Agent) SetHyperparameters(values map[string]float64) error { return a.learner.tune(values) }

// LearningRate returns the policy's present learning rate, which a schedule may have changed.
func (a *Agent) LearningRate() float64 { return a.learner.LearningRate() }

// Snapshot returns parameters by name, optimizer, scalers, schedule, counters and random states.
func (a *Agent) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	return a.learner.Snapshot(opt)
}

// Restore puts a snapshot of such an agent back, all or (on error) nothing.
func (a *Agent) Restore(snap *checkpoint.Snapshot) error { return a.learner.Restore(snap) }

// Reseed starts all random sequences of the agent anew.
func (a *Agent) Reseed(seed int64) error { return a.learner.Reseed(seed) }

// Architectures returns the architectures of "policy" and "value", where they have one.
func (a *Agent) Architectures() map[string]models.Architecture { return a.learner.Architectures() }

// Close releases the networks and every tensor of the agent. It may be called twice.
func (a *Agent) Close() error { return a.learner.Close() }
