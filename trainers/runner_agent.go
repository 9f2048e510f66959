package trainers

import (
	"fmt"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// runner is a configuration by its sections.
type runner struct {
	Seed          any            `yaml:"seed"`
	Models        map[string]any `yaml:"models"`
	Memory        map[string]any `yaml:"memory"`
	MotionDataset map[string]any `yaml:"motion_dataset"`
	ReplyBuffer   map[string]any `yaml:"reply_buffer"`
	Agent         map[string]any `yaml:"agent"`
	Trainer       map[string]any `yaml:"trainer"`

	env envs.Env
	sp  spaces.Set
}

// plan is an agent that has been checked and not made yet.
type plan struct {
	common   *agents.OnPolicy
	class    string
	settings any // the agent's, a *ppo.Config or *amp.Config
	build    func(seed int64) (agents.Agent, error)
}

// plan reads everything that the agent is made of.
func (r *runner) plan() (plan, error) {
	class, dict, err := section("agent", r.Agent, "PPO", "AMP")
	if err != nil {
		return plan{}, err
	}
	// skrl's runner takes a scale of null for none.
	if v, ok := dict["rewards_shaper_scale"]; ok && v == nil {
		delete(dict, "rewards_shaper_scale")
	}
	if class == "AMP" {
		return r.amp(dict)
	}
	for _, s := range r.buffers() {
		if s.dict != nil {
			return plan{}, fmt.Errorf("trainers: %s belongs to AMP, and agent.class is PPO; leave it out", s.name)
		}
	}
	cfg, err := ppo.FromDict(dict, r.sp)
	if err != nil {
		return plan{}, fmt.Errorf("trainers: agent: %w", err)
	}
	if err := r.memory(cfg.Rollouts); err != nil {
		return plan{}, err
	}
	m, err := r.models("policy", "value")
	if err != nil {
		return plan{}, err
	}
	return plan{&cfg.OnPolicy, class, &cfg, func(seed int64) (agents.Agent, error) {
		nets, err := m.ppo(seed)
		if err != nil {
			return nil, err
		}
		return made(ppo.New(ppo.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: nets, Config: &cfg, Seed: seed}))
	}}, nil
}

// made avoids an interface that holds a nil pointer.
func made[A agents.Agent](a A, err error) (agents.Agent, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (r *runner) amp(dict map[string]any) (plan, error) {
	motions, ok := envs.As[envs.MotionSource](r.env)
	if !ok {
		return plan{}, fmt.Errorf("trainers: agent.class is AMP, but the environment (%T) has no reference motion; it must have the method CollectReferenceMotions (one of Gymnasium: the setting reference_motions, or a method collect_reference_motions in Python)", r.env)
	}
	if r.sp.AMPObservation.Kind != spaces.Box {
		return plan{}, fmt.Errorf("trainers: agent.class is AMP, but the environment's AMP observation space is %v; it must be a Box", r.sp.AMPObservation)
	}
	for _, s := range r.buffers() {
		if s.dict == nil {
			continue
		}
		size, err := memorySize(s.name, s.dict)
		if err != nil {
			return plan{}, err
		}
		if size <= 0 {
			return plan{}, fmt.Errorf("trainers: %s.memory_size is %d; want a positive number of rows", s.name, size)
		}
		if _, twice := dict[s.key]; twice {
			return plan{}, fmt.Errorf("trainers: %s.memory_size and agent.%s say the same; give one of them", s.name, s.key)
		}
		dict[s.key] = size
	}
	cfg, err := amp.FromDict(dict, r.sp)
	if err != nil {
		return plan{}, fmt.Errorf("trainers: agent: %w", err)
	}
	if err := r.memory(cfg.Rollouts); err != nil {
		return plan{}, err
	}
	roles := []string{"policy", "value", "discriminator"}
	if cfg.SeparateCritics {
		roles = append(roles, "style_value")
	}
	m, err := r.models(roles...)
	if err != nil {
		return plan{}, err
	}
	return plan{&cfg.OnPolicy, "AMP", &cfg, func(seed int64) (agents.Agent, error) {
		nets, err := m.amp(seed)
		if err != nil {
			return nil, err
		}
		return made(amp.New(amp.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: nets, Motions: motions, Config: &cfg, Seed: seed}))
	}}, nil
}

// buffer is a section whose memory_size is a setting of AMP.
type buffer struct {
	name, key string
	dict      map[string]any
}

func (r *runner) buffers() []buffer {
	return []buffer{{"motion_dataset", "motion_dataset_size", r.MotionDataset}, {"reply_buffer", "reply_buffer_size", r.ReplyBuffer}}
}

// memory checks the section of the rollout, whose size is the agent's rollouts.
func (r *runner) memory(rollouts int) error {
	if r.Memory == nil {
		return nil
	}
	size, err := memorySize("memory", r.Memory)
	if err != nil {
		return err
	}
	if size == 0 || size > 0 && size != rollouts {
		return fmt.Errorf("trainers: memory.memory_size is %d and agent.rollouts is %d; an update learns from exactly its rollout, so give the same, or memory_size: -1", size, rollouts)
	}
	return nil
}

// memorySize reads {class: RandomMemory, memory_size: n}.
func memorySize(name string, dict map[string]any) (int, error) {
	_, rest, err := section(name, dict, "RandomMemory")
	if err != nil {
		return 0, err
	}
	k := struct {
		Size int `yaml:"memory_size"`
	}{}
	if err := config.Merge(&k, rest, config.Options{Prefix: "trainers: " + name}); err != nil {
		return 0, err
	}
	return k.Size, nil
}
