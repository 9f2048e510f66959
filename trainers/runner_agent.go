package trainers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models"
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
	build    func(seed uint64) (agents.Agent, error)
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
	return plan{&cfg.OnPolicy, class, &cfg, func(seed uint64) (agents.Agent, error) {
		nets, err := m.ppo(seed)
		if err != nil {
			return nil, err
		}
		return made(ppo.New(ppo.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: nets, Settings: &cfg, Seed: seed}))
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
	return plan{&cfg.OnPolicy, "AMP", &cfg, func(seed uint64) (agents.Agent, error) {
		nets, err := m.amp(seed)
		if err != nil {
			return nil, err
		}
		return made(amp.New(amp.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: nets, Motions: motions, Settings: &cfg, Seed: seed}))
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

// modelSpecs are the models by role, and whether policy and value share a trunk; or perceptrons.
type modelSpecs struct {
	sp       spaces.Set
	separate bool
	roles    map[string]models.Spec
	mlps     *mlps // instead of roles
}

// mlps are the models in short.
type mlps struct {
	Hidden     []int  `yaml:"mlp" config:"min=1,max=1048576,minlen=1"`
	Activation string `yaml:"activation"`
}

// models reads the section of that name for the roles that the agent has. A style_value not given is like the value.
func (r *runner) models(roles ...string) (*modelSpecs, error) {
	if len(r.Models) == 0 {
		return nil, fmt.Errorf("trainers: models is missing; want a model for each of %v, or in short models: {mlp: [64, 64], activation: elu}", roles)
	}
	if _, short := r.Models["mlp"]; short {
		m := &mlps{Activation: "elu"}
		if err := config.Merge(m, r.Models, config.Options{Prefix: "trainers: models"}); err != nil {
			return nil, err
		}
		return &modelSpecs{sp: r.sp, mlps: m}, nil
	}
	m := &modelSpecs{sp: r.sp, separate: true, roles: map[string]models.Spec{}}
	allowed := append([]string{"separate"}, roles...)
	for _, key := range slices.Sorted(maps.Keys(r.Models)) {
		value := r.Models[key]
		if key == "separate" {
			separate, ok := value.(bool)
			if !ok {
				return nil, fmt.Errorf("trainers: models.separate is %v; want true or false", value)
			}
			m.separate = separate
			continue
		}
		dict, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("trainers: models.%s is %v; want a mapping {class, network, output, ...}", key, value)
		}
		if !slices.Contains(roles, key) {
			hint := ""
			if n := config.Nearest(key, allowed); n != "" {
				hint = fmt.Sprintf(": did you mean %q?", n)
			}
			return nil, fmt.Errorf("trainers: models.%s: the agent has no model of that name%s; it has %v", key, hint, roles)
		}
		spec, err := models.ParseSpec(dict)
		if err != nil {
			return nil, fmt.Errorf("trainers: models.%s: %w", key, err)
		}
		spec.StatesAreObservations = r.sp.State.Kind == spaces.None
		m.roles[key] = spec
	}
	for _, role := range roles {
		if _, ok := m.roles[role]; ok {
			continue
		}
		if role == "style_value" && m.roles["value"].Class != "" {
			m.roles[role] = m.roles["value"]
			continue
		}
		return nil, fmt.Errorf("trainers: models.%s is missing; the agent needs a model for each of %v", role, roles)
	}
	if m.roles["policy"].Class == "Deterministic" {
		return nil, fmt.Errorf("trainers: models.policy.class is Deterministic, which has no probabilities for PPO and AMP to learn from; use GaussianMixin")
	}
	return m, nil
}

// actorCritic builds policy and value.
func (m *modelSpecs) actorCritic(seed uint64) (models.Policy, models.Network, error) {
	if !m.separate {
		policy, value, err := models.BuildShared(m.roles["policy"], m.roles["value"], m.sp, seed)
		if err != nil {
			return nil, nil, fmt.Errorf("models: %w", err)
		}
		return policy, value, nil
	}
	policy, err := m.roles["policy"].BuildPolicy(m.sp, seed)
	if err != nil {
		return nil, nil, fmt.Errorf("models.policy: %w", err)
	}
	value, err := m.roles["value"].BuildNetwork(m.sp, seed+1)
	if err != nil {
		policy.Close()
		return nil, nil, fmt.Errorf("models.value: %w", err)
	}
	return policy, value, nil
}

// ppo builds PPO's models.
func (m *modelSpecs) ppo(seed uint64) (ppo.Models, error) {
	if m.mlps != nil {
		return ppo.MLPs(m.sp, m.mlps.Hidden, m.mlps.Activation), nil
	}
	policy, value, err := m.actorCritic(seed)
	return ppo.Models{Policy: policy, Value: value}, err
}

// amp builds AMP's models. The discriminator's observations are the AMP observations.
func (m *modelSpecs) amp(seed uint64) (nets amp.Models, err error) {
	if m.mlps != nil {
		return amp.MLPs(m.sp, m.mlps.Hidden, m.mlps.Activation), nil
	}
	defer func() {
		if err != nil {
			for _, n := range []models.Network{nets.Value, nets.Discriminator} {
				if n != nil {
					n.Close()
				}
			}
			if nets.Policy != nil {
				nets.Policy.Close()
			}
		}
	}()
	if nets.Policy, nets.Value, err = m.actorCritic(seed); err != nil {
		return nets, err
	}
	sees := spaces.Set{Observation: m.sp.AMPObservation, Action: m.sp.Action}
	if nets.Discriminator, err = m.roles["discriminator"].BuildNetwork(sees, seed+2); err != nil {
		return nets, fmt.Errorf("models.discriminator: %w", err)
	}
	if spec, ok := m.roles["style_value"]; ok {
		if nets.StyleValue, err = spec.BuildNetwork(m.sp, seed+3); err != nil {
			return nets, fmt.Errorf("models.style_value: %w", err)
		}
	}
	return nets, nil
}
