package ppo

import (
	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/recipes"
	"github.com/gorl-dev/gorl/spaces"
)

// Config are PPO's settings; every one is documented at [agents.OnPolicy].
type Config struct {
	agents.OnPolicy `yaml:",inline"`
}

// DefaultConfig returns skrl's defaults for PPO, except that truncated episodes bootstrap (time_limit_bootstrap).
func DefaultConfig() Config {
	c := Config{OnPolicy: agents.DefaultOnPolicy()}
	c.LearningEpochs = 8
	c.LearningRate = []float64{1e-3}
	return c
}

func init() { config.Declare("agents", "PPO", DefaultConfig(), onpolicy.OlderNames...) }

// clone returns a copy that shares no slice with c.
func (c *Config) clone() Config { return Config{OnPolicy: onpolicy.Clone(&c.OnPolicy)} }

// Validate says which setting makes no sense.
func (c *Config) Validate() error {
	if err := config.Check(*c, "ppo"); err != nil {
		return err
	}
	return onpolicy.Validate(&c.OnPolicy, "ppo", 2)
}

// FromDict merges a dictionary of settings, as in skrl's documentation (1.4's names or 2.0's), over the defaults. With
// "compatibility" the defaults are those of that release of skrl. All problems are reported together.
func FromDict(dict map[string]any, sp spaces.Set) (Config, error) {
	c := DefaultConfig()
	if v := dict["compatibility"]; v == agents.SKRL2 || v == agents.SKRL21 {
		c.TimeLimitBootstrap = false
	}
	own, err := onpolicy.Rename("ppo", dict, sp)
	if err != nil {
		return c, err
	}
	err = config.Merge(&c, own, config.Options{Prefix: "ppo", Hints: recipes.Hints()})
	if err == nil {
		err = c.Validate()
	}
	return c, err
}
