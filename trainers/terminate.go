package trainers

import (
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
)

// terminator carries from agent to environment which episodes are to end. The zero value carries nothing.
type terminator struct {
	agent agents.Terminator
	env   envs.Terminator
}

// newTerminator returns that of an agent in an environment. It is an error where the agent ends episodes and the
// environment cannot.
func newTerminator(env envs.Env, agent agents.Agent) (terminator, error) {
	a, ok := agents.As[agents.Terminator](agent)
	if !ok || !a.Terminates() {
		return terminator{}, nil
	}
	e, ok := envs.As[envs.Terminator](env)
	if !ok {
		return terminator{}, fmt.Errorf("trainers: the agent ends episodes by itself (\"termination_style_reward\"), and the environment "+
			"(%T) cannot be told to end one: it is no envs.Terminator, as those of package envs/mujoco are (the walker, the humanoid, the "+
			"quadruped); set \"termination_style_reward\" to 0, or implement it", env)
	}
	return terminator{a, e}, nil
}

// requestTerminations passes the agent's terminations to the environment, which ends these episodes in its next step.
func (t terminator) requestTerminations() error {
	if t.agent == nil {
		return nil
	}
	return t.env.Terminate(t.agent.Terminations())
}
