package onpolicy

// ApplySettings brings schedule and optimizer in line with settings that have changed.
func (c *Core) ApplySettings() error {
	if c.Scheduler != nil && c.Scheduler.Base() != c.Config.LearningRate[0] {
		if err := c.Scheduler.SetBase(c.Config.LearningRate[0]); err != nil {
			return err
		}
	}
	c.ApplyRates()
	return nil
}

// Reseed implements [agents.Agent].
func (c *Core) Reseed(seed int64) error {
	c.pcg.Seed(uint64(seed), pcgStream)
	return c.Gen.Seed(seed ^ generatorStream)
}
