package agents

import "fmt"

// DivergedError says that training has produced numbers that are not finite. The agent stands as it did before the
// update that produced them.
type DivergedError struct {
	// Agent is the algorithm and Detail what was not finite.
	Agent, Detail string
}

// Error implements error.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("%s diverged: %s; lower the learning rate, limit gradients (grad_norm_clip) or actions "+
		"(clip_actions), or check the environment's observations", e.Agent, e.Detail)
}
