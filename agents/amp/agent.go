package amp

import (
	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/exclusive"
)

// The guarded methods that only AMP has, as errors name them.
var (
	callEncode       exclusive.Method = "Encode"
	callLatents      exclusive.Method = "Latents"
	callStyleRewards exclusive.Method = "StyleRewards"
	callTerminations exclusive.Method = "Terminations"
)

// Agent is an AMP agent, made by [New]. Its methods are those of [agents.Complete], and Settings:
//
//   - Name is "AMP", and Architectures those of "policy", "value", "discriminator" and "style_value", where they have one;
//   - Act and Record return an error, before anything changes, if rows are missing or hold NaN or infinities;
//   - an Update that fails, diverges ([agents.DivergedError]) or is cancelled is undone, see update.go;
//   - a method that is called while another one runs, or after Close, does nothing and returns an error; if the method
//     has no error to return, the next method returns the error of an overlap;
//   - NumEnvs, LearningRate, Hyperparameters and Settings may be called at any time by any goroutine, and after Close;
//   - Snapshot holds parameters by name, optimizer, scalers, schedule, counters and random states.
type Agent struct {
	agents.Complete // the same as guarded
	guarded         *onpolicy.Guarded
	learner         *learner
}

// guard returns the Agent of a learner, with a guard around the methods of actor. actor is the learner itself or, with
// overlap, the agent that acts while the learner learns.
func guard(a *learner, actor agents.Complete, seed int64) *Agent {
	g := onpolicy.Guard(actor, seed, func() any { return a.cfg.clone() })
	return &Agent{g, g, a}
}

// Settings returns a copy of the settings as they stand, defaults and later changes included.
func (a *Agent) Settings() Config {
	c := a.guarded.Settings().(Config)
	return c.clone()
}
