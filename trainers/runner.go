package trainers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/spaces"
)

// sequentialTrainer is the only class of trainers, by its name in skrl.
const sequentialTrainer = "SequentialTrainer"

// FromFile is [FromYAML] of the file at path, which has at most 16 MiB. Errors about a setting begin with the file and
// the line.
func FromFile(path string, env envs.Env, adjust ...func(*Config)) (*Trainer, error) {
	sections, source, err := runfile.ReadWithSource(path, nil)
	if err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	t, err := FromDict(sections, env, adjust...)
	return t, source.Explain(err)
}

// FromYAML is [FromDict] of a YAML document. Errors of YAML carry line numbers.
func FromYAML(data []byte, env envs.Env, adjust ...func(*Config)) (*Trainer, error) {
	sections, err := runfile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("trainers: %w", err)
	}
	return FromDict(sections, env, adjust...)
}

// FromDict makes models, agent and trainer for env from a dictionary as skrl's Runner reads it from YAML: the sections
// seed, models, memory, motion_dataset, reply_buffer, agent and trainer, under the names of skrl 2.0 or 1.4. Unknown
// sections and keys are errors.
//
//   - seed: null or nothing draws one at random.
//   - models: one model a role (policy, value; for AMP discriminator, and style_value with separate_critics), each as
//     [models.ParseSpec] reads it; with separate: false policy and value share a trunk. "input: STATES" means
//     observations if the environment has no state space, as in skrl 1.4. Or, in short,
//     {mlp: [64, 64], activation: elu}: the models of [ppo.MLPs] or [amp.MLPs]. The section then takes the settings of
//     [models.Initialization], too.
//   - memory: class RandomMemory, and memory_size: the agent's rollouts, or a negative number, which means the same.
//   - motion_dataset and reply_buffer: class RandomMemory, and memory_size, for AMP.
//   - agent: class PPO, AMP, IPPO or MAPPO, and its settings. The agent's experiment names the folder that the trainer
//     writes to. IPPO and MAPPO take settings and models for all agents, or a dictionary with those of each agent by
//     name (see [ippo.Groups]). Their policies never read the shared state: there, STATES means observations.
//   - trainer: class SequentialTrainer, which may be left out, and the settings of [Config]. They override the
//     experiment's.
//
// AMP imitates the motion of env, which must be an [envs.MotionSource] or wrap one. Each adjust changes the trainer's
// configuration last, for settings that YAML does not have, such as Progress. The caller closes the trainer's agent:
// t.Agent().Close(). If FromDict returns an error, only env is left to close.
func FromDict(dict map[string]any, env envs.Env, adjust ...func(*Config)) (*Trainer, error) {
	return FromDictIn(nil, dict, env, adjust...)
}

// FromDictIn is [FromDict] for one of several processes that train one agent together. All of them call it with the
// same dictionary, each with environments of its own. If the seed is drawn at random, rank 0 draws it for all.
func FromDictIn(group *distributed.Group, dict map[string]any, env envs.Env, adjust ...func(*Config)) (*Trainer,
	error) {
	if env == nil {
		return nil, fmt.Errorf("trainers: there is no environment")
	}
	sp := env.Spaces()
	if err := sp.Validate(); err != nil {
		return nil, fmt.Errorf("trainers: the environment's %w", err)
	}
	r, err := newRunner(dict, sp)
	if err != nil {
		return nil, err
	}
	r.env, r.group = env, group
	if r.seed, err = share(rank{Group: group}, func() (int64, error) { return r.seed, nil }); err != nil {
		return nil, err
	}
	if err := group.RequireEqual(map[string]any{"models": r.Models, "memory": r.Memory}); err != nil {
		return nil, err
	}
	agent, err := r.agent()
	if err != nil {
		return nil, err
	}
	t, err := r.sequential(agent, adjust)
	if err != nil {
		return nil, errors.Join(err, agent.Close())
	}
	return t, nil
}

// runner builds a trainer from a dictionary: newRunner reads the sections, agent makes the agent, and sequential the
// trainer. The trainer keeps its runner for Dict.
type runner struct {
	// The sections as they were given. models completes Models by defaults, and agent changes Agent.
	Seed          any            `yaml:"seed"`
	Models        map[string]any `yaml:"models"`
	Memory        map[string]any `yaml:"memory"`
	MotionDataset map[string]any `yaml:"motion_dataset"`
	ReplyBuffer   map[string]any `yaml:"reply_buffer"`
	Agent         map[string]any `yaml:"agent"`
	Trainer       map[string]any `yaml:"trainer"`

	// group is nil for a single process. sp has the spaces of env. seed is the given seed, or a random one.
	env     envs.Env
	group   *distributed.Group
	sp      spaces.Set
	seed    int64
	class   string         // the agent's
	trainer map[string]any // the section without its class
	sizes   map[string]int // the memory_size of the sections of memories

	// Settings of the agent, known after it was made: settings returns all as a new dictionary, and common has those of
	// the algorithm or, with several agents, of the first one.
	settings func() map[string]any
	common   *agents.OnPolicy
}

// newRunner splits a dictionary into its sections and checks them, with the empty set for spaces that are not known.
// It makes neither models nor an agent. A file of rl_games is an error that names the package for such files.
func newRunner(dict map[string]any, sp spaces.Set) (*runner, error) {
	// Without this check all keys of such a file would be reported as unknown.
	if params, ok := dict["params"]; ok {
		return nil, &config.Error{Prefix: "trainers", Path: "params", Given: params,
			Reason: "it is the section of a file of rl_games; package trainers/rlgames makes a dictionary of it"}
	}
	r := &runner{sp: sp, sizes: map[string]int{}}
	if err := config.Merge(r, dict, config.Options{Prefix: "trainers", Aliases: map[string]config.Alias{
		"replay_buffer": {Key: "reply_buffer"},
	}}); err != nil {
		return nil, err
	}
	errs := make([]error, 4)
	r.seed, errs[0] = r.readSeed()
	var agent map[string]any
	if r.class, agent, errs[1] = section("agent", r.Agent, agentClasses...); errs[1] == nil {
		r.Agent = agent
		errs[1] = cmp.Or(r.checkSeats(), r.checkAgent())
	}
	// The class of the trainer may be left out, because there is only one.
	if r.trainer = maps.Clone(r.Trainer); r.trainer["class"] != nil {
		_, r.trainer, errs[2] = section("trainer", r.Trainer, sequentialTrainer)
	}
	delete(r.trainer, "class")
	if errs[2] == nil {
		_, errs[2] = r.readTrainer(DefaultConfig())
	}
	// The models of several agents depend on other settings of the agent.
	if errs[1] == nil || slices.Contains(agentClasses[:2], r.class) && r.checkSeats() == nil {
		errs[3] = r.checkModels()
	}
	for _, m := range r.memories() {
		if m.dict != nil {
			size, err := memorySize(m.name, m.dict)
			r.sizes[m.name], errs = size, append(errs, err)
		}
	}
	return r, errors.Join(errs...)
}

// readSeed returns the given seed, or draws one below 2³¹ if there is none. A negative seed is an error.
func (r *runner) readSeed() (int64, error) {
	if r.Seed == nil {
		return rand.Int64N(1 << 31), nil
	}
	var k struct {
		Seed int64 `yaml:"seed" config:"min=0"`
	}
	err := config.Merge(&k, map[string]any{"seed": r.Seed}, config.Options{Prefix: "trainers"})
	return k.Seed, err
}

// agent makes the agent of r.class with its models. The caller closes it. Afterwards settings and common are set.
func (r *runner) agent() (agents.Agent, error) {
	r.Agent = withoutNullScale(r.Agent)
	if err := r.ampMemories(); err != nil {
		return nil, err
	}
	build := map[string]func() (agents.Agent, error){"PPO": r.ppo, "AMP": r.amp, "IPPO": r.ippo, "MAPPO": r.ippo}
	agent, err := build[r.class]()
	if err != nil {
		return nil, err
	}
	// Only the finished agent knows its rollouts, which may be a default.
	if err := r.checkMemory(); err != nil {
		_ = agent.Close()
		return nil, err
	}
	return agent, nil
}

// withoutNullScale returns a copy of the agent's settings. Like skrl's runner it reads a reward scale of null as none.
func withoutNullScale(agent map[string]any) map[string]any {
	agent = maps.Clone(agent)
	if agent["rewards_shaper_scale"] == nil {
		delete(agent, "rewards_shaper_scale")
	}
	return agent
}

// ppo makes a PPO agent.
func (r *runner) ppo() (agents.Agent, error) {
	m, full, err := readModels(r.Models, r.sp, "policy", "value")
	if err != nil {
		return nil, err
	}
	r.Models = full
	a, err := ppo.New(ppo.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: m.ppo(), Dict: r.Agent, Seed: r.seed,
		Group: r.group})
	if err != nil {
		return nil, config.Under("trainers", "agent", err)
	}
	// The settings with all defaults, for Dict.
	settings := a.Settings()
	r.settings, r.common = func() map[string]any { return config.Dict(settings) }, &settings.OnPolicy
	return a, nil
}

// ippo makes an IPPO or MAPPO agent.
func (r *runner) ippo() (agents.Agent, error) {
	specs, full, err := r.groupModels()
	if err != nil {
		return nil, err
	}
	r.Models = full
	a, err := ippo.New(ippo.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Centralised: r.class == "MAPPO",
		Models: func(g ippo.Group) ppo.Models { return specs[g.Name].ppo() }, Dict: r.Agent, Seed: r.seed,
		Group: r.group})
	if err != nil {
		return nil, config.Under("trainers", "agent", err)
	}
	first := a.Agents()[0].(*ppo.Agent).Settings()
	r.settings, r.common = a.Dict, &first.OnPolicy
	return a, nil
}

// amp makes an AMP agent. The reference motion comes from the environment or from one that it wraps. A differential
// discriminator compares with zero and needs no motion.
func (r *runner) amp() (agents.Agent, error) {
	motions, ok := envs.As[envs.MotionSource](r.env)
	if !ok && r.Agent["discriminator_mode"] != "differential" {
		return nil, fmt.Errorf("trainers: agent.class is AMP, but the environment (%T) has no reference motion; it "+
			"must have the method "+
			"CollectReferenceMotions (one of mjlab or Isaac Lab: the setting motions; any in Python: the setting "+
			"reference_motions, or a method collect_reference_motions). "+
			"Where its AMP observations are differences from a motion, set discriminator_mode to differential", r.env)
	}
	if r.sp.AMPObservation.Kind == spaces.None {
		return nil, fmt.Errorf("trainers: agent.class is AMP, but the environment has no AMP observations for the " +
			"discriminator")
	}
	roles, err := r.ampRoles()
	if err != nil {
		return nil, err
	}
	m, full, err := readModels(r.Models, r.sp, roles...)
	if err != nil {
		return nil, err
	}
	r.Models = full
	a, err := amp.New(amp.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: m.amp(), Motions: motions,
		Dict: r.Agent, Seed: r.seed, Group: r.group})
	if err != nil {
		return nil, config.Under("trainers", "agent", err)
	}
	settings := a.Settings()
	r.settings, r.common = func() map[string]any { return config.Dict(settings) }, &settings.OnPolicy
	return a, nil
}

// sequential makes the trainer. The settings of the agent's experiment come first, those of the trainer's section
// override them, and adjust changes the result. The trainer's seed is the dictionary's unless its section has one.
func (r *runner) sequential(agent agents.Agent, adjust []func(*Config)) (*Trainer, error) {
	// Defaults first, then the experiment of the agent.
	e := r.common.Experiment
	cfg := DefaultConfig()
	cfg.Seed = r.seed
	cfg.Name, cfg.WriteInterval, cfg.CheckpointInterval = e.ExperimentName, e.WriteInterval, e.CheckpointInterval
	if e.Directory != "" {
		cfg.Directory = e.Directory
	}
	cfg, err := r.readTrainer(cfg)
	if err != nil {
		return nil, err
	}
	if err := trackExperiment(&cfg, e); err != nil {
		return nil, err
	}
	for _, f := range adjust {
		f(&cfg)
	}
	t, err := New(r.env, agent, cfg)
	if err != nil {
		return nil, err
	}
	t.made = r
	return t, nil
}

// readTrainer reads the trainer's section over cfg.
func (r *runner) readTrainer(cfg Config) (Config, error) {
	err := config.Merge(&cfg, r.trainer, config.Options{Aliases: map[string]config.Alias{
		"evaluate_every": {Key: "evaluation_interval"},
	}})
	return cfg, config.Under("trainers", "trainer", err)
}

func init() {
	config.Declare("trainer", "trainer", DefaultConfig(), "class", "evaluate_every")
	config.Declare("mlp", "mlp", mlps{Activation: "elu"})
}

// notes returns what Trainer.Notes says about the sections.
func (r *runner) notes() []string {
	if r == nil || r.Models["mlp"] == nil || r.sp.Observation.Bytes() == 0 || r.common.ObservationPreprocessor != "" {
		return nil
	}
	return []string{"models.mlp reads pictures as numbers from 0 to 255, which nothing scales; set " +
		"agent.observation_preprocessor to RunningStandardScaler, or describe networks with convolutions in models"}
}

// Dict returns a dictionary from which [FromDict] makes this trainer again, also with a version of other defaults. It
// is the dictionary that the trainer was made of, completed by all defaults and by the seed, under the names of skrl
// 2.0. YAML can store it. Settings that are Go functions are left out. The sizes of motion_dataset and reply_buffer are
// among the agent's settings. Dict returns nil if FromDict did not make the trainer.
func (t *Trainer) Dict() map[string]any {
	r := t.made
	if r == nil {
		return nil
	}
	full := map[string]any{"seed": r.seed, "models": maps.Clone(r.Models)}
	if r.Memory != nil {
		full["memory"] = maps.Clone(r.Memory)
	}
	agent := r.settings()
	agent["class"] = r.class
	full["agent"] = agent
	trainer := t.cfg.dict()
	trainer["class"] = sequentialTrainer
	if t.cfg.Seed == r.seed {
		delete(trainer, "seed") // one place to change it
	}
	full["trainer"] = trainer
	return full
}
