package amp

import (
	"context"
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// Agent is an AMP agent, made by [New]. It implements [agents.Agent] and every optional interface of package agents.
//
// Act and Record return an error, before anything changes, if rows are missing or hold NaN or infinities. A method
// that is called while another one runs, or after Close, does nothing and returns an error; if the method has no
// error to return, the next method returns the error of an overlap. NumEnvs, LearningRate, Hyperparameters and
// Settings may be called at any time by any goroutine, and after Close.
type Agent struct {
	serial  *onpolicy.Serial[Config] // guards the methods of learner or, with overlap, of the two halves
	learner *learner
}

// Name returns "AMP".
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

// Architectures returns the architectures of the networks "policy", "value", "discriminator" and "style_value" that
// have one.
func (a *Agent) Architectures() map[string]description.Architecture { return a.serial.Architectures() }

// Snapshot returns everything needed to continue training: parameters by name, optimizer, scalers, schedule, counters
// and random states. opt adds the rollout and the memories of motion.
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

// guarded runs a method that only AMP has, by its name.
func (a *Agent) guarded(method exclusive.Method, f func() ([]float32, error)) (rows []float32, err error) {
	err = onpolicy.Do(a.serial, &method, func() error {
		rows, err = f()
		return err
	})
	return rows, err
}

// Act implements [agents.Agent]. In training with latent_mode "calm" it refuses latents that Latents has not returned,
// because the encoder learns from the motion behind them.
func (a *learner) Act(in agents.Observation) ([]float32, error) {
	w, rows, width := a.windows, len(in.Observations), a.Spaces().Observation.Width()
	if w == nil || !a.Training() || rows == 0 || rows%width != 0 || a.NumEnvs() > 0 && rows != a.NumEnvs()*width {
		return a.Parts.Act(in) // it refuses a wrong number of rows
	}
	if i := w.update(in.Observations, rows/width); i >= 0 {
		return nil, fmt.Errorf("amp: the last %d values of environment %d's observation are a latent that "+
			"Agent.Latents has not returned since the last update; \"latent_mode\" \"calm\" learns from the motion "+
			"behind each latent: give wrappers.Skills that source, skills.SetSource(agent.Latents)", w.size, i)
	}
	return a.Parts.Act(in)
}

// Record implements [agents.Agent]. It looks up the next latents at once, because an update replaces the table.
func (a *learner) Record(t agents.Transition) error {
	err := a.Parts.Record(t)
	if err == nil && a.windows != nil && a.Training() {
		a.windows.update(t.NextObservations, a.NumEnvs())
	}
	return err
}
