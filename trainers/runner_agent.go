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

// The agent of a dictionary. Its package reads and checks its settings (package agents/ppo or agents/amp); this file
// reads what skrl keeps beside them: the models (runner_models.go) and the sizes of the memories. Sections that
// contradict each other are errors: gorl has each size in one place, and picks no winner.

// agent makes the agent of the section of that name.
func (r *runner) agent() (agents.Agent, error) {
	// skrl's runner takes a scale of null for none.
	if v, ok := r.Agent["rewards_shaper_scale"]; ok && v == nil {
		delete(r.Agent, "rewards_shaper_scale")
	}
	build := r.ppo
	if r.class == "AMP" {
		build = r.amp
	}
	agent, err := build()
	if err != nil {
		return nil, err
	}
	if err := r.checkMemory(); err != nil {
		_ = agent.Close()
		return nil, err
	}
	return agent, nil
}

// ppo makes an agent of PPO. The memories of AMP are refused, because a file with them means another algorithm.
func (r *runner) ppo() (agents.Agent, error) {
	for _, b := range r.buffers() {
		if b.dict != nil {
			return nil, fmt.Errorf("trainers: %s belongs to AMP, and agent.class is PPO; leave it out", b.name)
		}
	}
	m, err := r.models("policy", "value")
	if err != nil {
		return nil, err
	}
	a, err := ppo.New(ppo.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: m.ppo(), Dict: r.Agent, Seed: r.seed,
		Group: r.group})
	if err != nil {
		return nil, fmt.Errorf("trainers: agent: %w", err)
	}
	settings := a.Settings()
	r.settings, r.common = &settings, &settings.OnPolicy
	return a, nil
}

// amp makes an agent of AMP. The environment has the reference motion, or what it wraps. A discriminator of differences
// compares with zero and needs none.
func (r *runner) amp() (agents.Agent, error) {
	motions, ok := envs.As[envs.MotionSource](r.env)
	if !ok && r.Agent["discriminator_mode"] != "differential" {
		return nil, fmt.Errorf("trainers: agent.class is AMP, but the environment (%T) has no reference motion; it "+
			"must have the method "+
			"CollectReferenceMotions (one of Gymnasium: the setting reference_motions, or a method "+
			"collect_reference_motions in Python). "+
			"Where its AMP observations are differences from a motion, set discriminator_mode to differential", r.env)
	}
	if r.sp.AMPObservation.Kind == spaces.None {
		return nil, fmt.Errorf("trainers: agent.class is AMP, but the environment has no AMP observations for the " +
			"discriminator")
	}
	if err := r.ampMemories(); err != nil {
		return nil, err
	}
	roles, err := r.ampRoles()
	if err != nil {
		return nil, err
	}
	m, err := r.models(roles...)
	if err != nil {
		return nil, err
	}
	a, err := amp.New(amp.Options{Spaces: r.sp, NumEnvs: r.env.NumEnvs(), Models: m.amp(), Motions: motions,
		Dict: r.Agent,
		Seed: r.seed, Group: r.group})
	if err != nil {
		return nil, fmt.Errorf("trainers: agent: %w", err)
	}
	settings := a.Settings()
	r.settings, r.common = &settings, &settings.OnPolicy
	return a, nil
}

// ampRoles are the models that AMP needs. Of the agent's settings they depend on separate_critics alone.
func (r *runner) ampRoles() ([]string, error) {
	roles := []string{"policy", "value", "discriminator"}
	given, ok := r.Agent["separate_critics"]
	if !ok {
		return roles, nil
	}
	var k struct {
		Separate bool `yaml:"separate_critics"`
	}
	if err := config.Merge(&k, map[string]any{"separate_critics": given},
		config.Options{Prefix: "trainers: agent: amp"}); err != nil {
		return nil, err
	}
	if k.Separate {
		roles = append(roles, "style_value")
	}
	return roles, nil
}

// buffer is a section whose memory_size is a setting of AMP.
type buffer struct {
	name, key string
	dict      map[string]any
}

// buffers lists these sections, nil dictionaries if a file lacks them.
func (r *runner) buffers() []buffer {
	return []buffer{{"motion_dataset", "motion_dataset_size", r.MotionDataset},
		{"reply_buffer", "reply_buffer_size", r.ReplyBuffer}}
}

// ampMemories makes settings of the sizes in the sections of AMP's memories.
func (r *runner) ampMemories() error {
	for _, b := range r.buffers() {
		if b.dict == nil {
			continue
		}
		size, err := memorySize(b.name, b.dict)
		if err != nil {
			return err
		}
		if size <= 0 {
			return fmt.Errorf("trainers: %s.memory_size is %d; want a positive number of rows", b.name, size)
		}
		if _, twice := r.Agent[b.key]; twice {
			return fmt.Errorf("trainers: %s.memory_size and agent.%s say the same; give one of them", b.name, b.key)
		}
		r.Agent[b.key] = size
	}
	return nil
}

// checkMemory compares the section of the rollout with the agent's rollouts, which are its size.
func (r *runner) checkMemory() error {
	if r.Memory == nil {
		return nil
	}
	size, err := memorySize("memory", r.Memory)
	if err != nil {
		return err
	}
	if rollouts := r.common.Rollouts; size == 0 || size > 0 && size != rollouts {
		return fmt.Errorf("trainers: memory.memory_size is %d and agent.rollouts is %d; an update learns from "+
			"exactly its rollout, so give the same, or memory_size: -1", size, rollouts)
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
	err = config.Merge(&k, rest, config.Options{Prefix: "trainers: " + name})
	return k.Size, err
}
