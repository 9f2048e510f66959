package trainers

import (
	"maps"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
)

// Complete returns a dictionary for [FromDict] with everything in it that the given one leaves to chance and defaults:
// the seed, and all settings of agent and trainer, under their names in skrl 2.0. FromDict makes the same run of it,
// today and with defaults of another version, and so it does of what YAML keeps of it. A setting that is a Go function
// is left out. The sizes of motion_dataset and reply_buffer are among the agent's settings. What is wrong with dict is
// the error that FromDict has; no agent is made.
func Complete(dict map[string]any, env envs.Env, adjust ...func(*Config)) (map[string]any, error) {
	r, plan, cfg, seed, err := read(dict, env, adjust)
	if err != nil {
		return nil, err
	}
	full := map[string]any{"seed": seed, "models": maps.Clone(r.Models)}
	if r.Memory != nil {
		full["memory"] = maps.Clone(r.Memory)
	}
	agent := config.Dict(plan.settings)
	agent["class"] = plan.class
	full["agent"] = agent
	trainer := config.Dict(cfg)
	trainer["class"] = sequentialTrainer
	if cfg.Seed == seed {
		delete(trainer, "seed") // one place to change it
	}
	full["trainer"] = trainer
	return full, nil
}
