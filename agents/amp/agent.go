package amp

import "github.com/gorl-dev/gorl/agents"

// Agent is an AMP agent, made by [New]. Its methods are those of [agents.Complete], and Settings:
//
//   - Name is "AMP", and Architectures those of "policy", "value", "discriminator" and "style_value", where they have one;
//   - Act and Record are errors where rows are missing, Record also where a reward is not finite;
//   - an Update that fails, diverges ([agents.DivergedError]) or is cancelled is undone, see update.go;
//   - Snapshot holds parameters by name, optimizer, scalers, schedule, counters and random states.
type Agent struct {
	agents.Complete // the learner, as far as users see it
	learner         *learner
}

// Settings returns a copy of the settings as they stand, defaults and later changes included.
func (a *Agent) Settings() Config { return a.learner.cfg.clone() }
