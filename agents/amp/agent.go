package amp

import (
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/exclusive"
)

// Agent is an AMP agent, made by [New]. It implements [agents.Agent] and every optional interface of package agents.
// LearningRate returns the policy's present learning rate.
//
// Act and Record return an error, before anything changes, if rows are missing or hold NaN or infinities. A method
// that is called while another one runs, or after Close, does nothing and returns an error; if the method has no
// error to return, the next method returns the error of an overlap. NumEnvs, LearningRate, Hyperparameters and
// Settings may be called at any time by any goroutine, and after Close.
type Agent struct {
	*serial // its methods guard those of learner or, with overlap, of the two halves
	learner *learner
}

// serial has the methods of an Agent that PPO has, too.
type serial = onpolicy.Serial[Config]

// Settings returns a copy of the settings as they stand, with defaults and later changes.
func (a *Agent) Settings() Config {
	c := a.serial.Settings()
	return c.clone()
}

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
