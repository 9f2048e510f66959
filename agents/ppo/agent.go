package ppo

import (
	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
)

// Agent is a PPO agent, made by [New]. Its methods are those of [agents.Complete], and Settings:
//
//   - Name is "PPO", and Architectures those of "policy" and "value", where they have one;
//   - Act and Record refuse rows that are missing, and NaN and infinities, before anything changes;
//   - an Update that fails, diverges ([agents.DivergedError]) or is cancelled is undone, see update.go;
//   - a method that is called while another one runs is refused with an error, and so is every method after Close; a
//     method that returns no error then does nothing, and after an overlap the next method returns the error;
//   - NumEnvs, LearningRate, Hyperparameters and Settings may be called at any time by any goroutine, and after Close;
//   - Snapshot holds parameters by name, optimizer, scalers, schedule, counters and random states.
type Agent struct {
	agents.Complete // guarded
	guarded         *onpolicy.Guarded
	learner         *learner
}

// guard returns the agent of a learner. shown is the learner or, with overlap, the agent that acts while it learns.
func guard(a *learner, shown agents.Complete, seed int64) *Agent {
	g := onpolicy.Guard(shown, seed, func() any { return a.cfg.clone() })
	return &Agent{g, g, a}
}

// Settings returns a copy of the settings as they stand, defaults and later changes included.
func (a *Agent) Settings() Config {
	c := a.guarded.Settings().(Config)
	return c.clone()
}
