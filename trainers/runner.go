package trainers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
)

// sequentialTrainer is the class of trainer there is.
const sequentialTrainer = "SequentialTrainer"

// maxConfigFile is more than any configuration needs.
const maxConfigFile = 16 << 20

// FromFile is [FromYAML] of the file at path.
func FromFile(path string, env envs.Env, adjust ...func(*Config)) (*Trainer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	if info.Size() > maxConfigFile {
		return nil, fmt.Errorf("trainers: %s has %d bytes; a configuration has at most %d", path, info.Size(), maxConfigFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	t, err := FromYAML(data, env, adjust...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// FromYAML is [FromDict] of a YAML document.
func FromYAML(data []byte, env envs.Env, adjust ...func(*Config)) (*Trainer, error) {
	dict, err := config.FromYAML(data)
	if err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	return FromDict(dict, env, adjust...)
}

// FromDict makes models, agent and trainer for env from a dictionary as skrl's Runner reads it from YAML: the sections
// seed, models, memory, motion_dataset, reply_buffer, agent and trainer, under the names of skrl 2.0 or 1.4. Unknown
// sections and keys are errors.
//
//   - seed: null or nothing draws one at random.
//   - models: one model a role (policy, value; for AMP discriminator, and style_value with separate_critics), each as
//     [models.ParseSpec] reads it; with separate: false policy and value share a trunk. "input: STATES" means
//     observations where the environment has no state space, as in skrl 1.4. Or, in short, {mlp: [64, 64], activation: elu}:
//     the models of [ppo.MLPs] or [amp.MLPs].
//   - memory: class RandomMemory, and memory_size, the agent's rollouts or negative for as many.
//   - motion_dataset and reply_buffer: class RandomMemory, and memory_size, for AMP.
//   - agent: class PPO or AMP, and its settings. The agent's experiment says where the trainer writes.
//   - trainer: class SequentialTrainer, and the settings of [Config], which win over the experiment's.
//
// AMP imitates the motion of env, or of what env wraps, which must be an [envs.MotionSource]. Each adjust changes the
// trainer's configuration last, to set what YAML cannot say, such as Progress. The trainer's agent is the caller's to
// close: t.Agent().Close().
func FromDict(dict map[string]any, env envs.Env, adjust ...func(*Config)) (*Trainer, error) {
	_, plan, cfg, seed, err := read(dict, env, adjust)
	if err != nil {
		return nil, err
	}
	agent, err := plan.build(seed)
	if err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	t, err := Sequential(env, agent, cfg)
	if err != nil {
		return nil, errors.Join(err, agent.Close())
	}
	return t, nil
}

// read reads and checks a dictionary; nothing is made yet.
func read(dict map[string]any, env envs.Env, adjust []func(*Config)) (r runner, p plan, cfg Config, seed int64, err error) {
	if env == nil {
		return r, p, cfg, 0, fmt.Errorf("trainers: there is no environment")
	}
	if err = config.Merge(&r, dict, config.Options{Prefix: "trainers", Aliases: map[string]config.Alias{
		"replay_buffer": {Key: "reply_buffer"},
	}}); err != nil {
		return r, p, cfg, 0, err
	}
	r.env, r.sp = env, env.Spaces()
	if err = r.sp.Validate(); err != nil {
		return r, p, cfg, 0, fmt.Errorf("trainers: the environment's %w", err)
	}
	if seed, err = r.seed(); err != nil {
		return r, p, cfg, 0, err
	}
	if p, err = r.plan(); err != nil {
		return r, p, cfg, 0, err
	}
	if cfg, err = r.trainer(p.common, seed); err != nil {
		return r, p, cfg, 0, err
	}
	for _, f := range adjust {
		f(&cfg)
	}
	return r, p, cfg, seed, cfg.Validate()
}

// section reads the class of a section and returns its other keys.
func section(name string, dict map[string]any, classes ...string) (class string, rest map[string]any, err error) {
	rest = map[string]any{}
	for k, v := range dict {
		rest[k] = v
	}
	delete(rest, "class")
	given, ok := dict["class"].(string)
	if !ok {
		return "", nil, fmt.Errorf("trainers: %s.class is missing or no text; want %s", name, strings.Join(classes, " or "))
	}
	for _, c := range classes {
		if strings.EqualFold(c, given) {
			return c, rest, nil
		}
	}
	hint := ""
	if n := config.Nearest(given, classes); n != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", n)
	}
	return "", nil, fmt.Errorf("trainers: %s.class is %q%s; want %s", name, given, hint, strings.Join(classes, " or "))
}

// seed reads the seed, or draws one.
func (r *runner) seed() (int64, error) {
	if r.Seed == nil {
		return rand.Int64N(1 << 31), nil
	}
	var k struct {
		Seed int64 `yaml:"seed" config:"min=0"`
	}
	err := config.Merge(&k, map[string]any{"seed": r.Seed}, config.Options{Prefix: "trainers"})
	return k.Seed, err
}

// trainer reads the trainer's section over what the agent's experiment says.
func (r *runner) trainer(agent *agents.OnPolicy, seed int64) (Config, error) {
	_, dict, err := section("trainer", r.Trainer, sequentialTrainer)
	if err != nil {
		return Config{}, err
	}
	e := agent.Experiment
	cfg := DefaultConfig()
	cfg.Seed = seed
	cfg.Name, cfg.WriteInterval, cfg.CheckpointInterval = e.ExperimentName, e.WriteInterval, e.CheckpointInterval
	if e.Directory != "" {
		cfg.Directory = e.Directory
	}
	err = config.Merge(&cfg, dict, config.Options{Prefix: "trainers: trainer"})
	return cfg, err
}
