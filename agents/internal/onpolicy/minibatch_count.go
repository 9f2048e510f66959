package onpolicy

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/agents"
)

// miniBatches returns how many minibatches a pass over a rollout of numEnvs environments has.
func miniBatches(c *agents.OnPolicy, numEnvs int) int {
	if c.MiniBatchSize > 0 {
		return c.Rollouts * numEnvs / c.MiniBatchSize
	}
	return c.MiniBatches
}

// checkMiniBatches refuses minibatches that do not divide a rollout of numEnvs environments.
func checkMiniBatches(c *agents.OnPolicy, numEnvs int) error {
	rows := math.MaxInt // environment steps of a rollout; so many do not fit into memory
	if c.Rollouts <= math.MaxInt/numEnvs {
		rows = c.Rollouts * numEnvs
	}
	if rows < 2 && c.AdvantageNormalization == "rollout" {
		return fmt.Errorf("a rollout of 1 step of 1 environment has no deviation to normalise advantages by; " +
			"raise \"rollouts\" or the number of environments, or set \"advantage_normalization\" to \"none\"")
	}
	if m := c.MiniBatchSize; m > 0 && rows < math.MaxInt && rows%m != 0 {
		return fmt.Errorf("\"mini_batch_size\" is %d, which does not divide the %d rows of a rollout "+
			"(\"rollouts\" %d × %d environments)", m, rows, c.Rollouts, numEnvs)
	}
	if c.MiniBatchSize == 0 && c.MiniBatches > rows {
		return fmt.Errorf("\"mini_batches\" is %d, but a rollout has only %d rows (\"rollouts\" %d × %d "+
			"environments), and no minibatch may be empty", c.MiniBatches, rows, c.Rollouts, numEnvs)
	}
	return nil
}

// checkSequences refuses minibatches that cannot be made of whole sequences of n environments.
func (c *Core) checkSequences(n int) error {
	if len(c.hiddens) == 0 {
		return nil
	}
	l, parts := c.length, miniBatches(c.Config, n)
	count := c.Config.Rollouts / l * n
	if m := c.Config.MiniBatchSize; m%l != 0 {
		return fmt.Errorf("\"mini_batch_size\" is %d, which is no multiple of the %d timesteps of a sequence "+
			"(\"sequence_length\"): with networks that have memory minibatches are made of whole sequences", m, l)
	}
	if parts > count {
		return fmt.Errorf("\"mini_batches\" is %d, but a rollout has only %d sequences "+
			"(%d of %d timesteps, \"sequence_length\", in each of %d environments), and no minibatch may be empty",
			parts, count, c.Config.Rollouts/l, l, n)
	}
	if c.Config.Skrl() && l > 1 && count%parts != 0 {
		return fmt.Errorf("\"mini_batches\" is %d, which does not divide the %d sequences of a rollout "+
			"(\"sequence_length\" %d, %d environments), as compatibility %q asks", parts, count, l, n,
			c.Config.Compatibility)
	}
	return nil
}
