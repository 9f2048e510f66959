package trainers

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// This file makes the agent of a dictionary. The agent's package reads and checks its settings (agents/ppo,
// agents/amp). This file reads the sections that skrl has in addition: the models (runner_models.go) and the sizes of
// memories. If two sections contradict each other, that is an error: gorl has each size in one place, and prefers
// neither section.

// agent makes the agent of r.class with its models. The caller closes it. Afterwards settings and common are set.
func (r *runner) agent() (agents.Agent, error) {
	for _, b := range r.buffers() { // of AMP: such a file is probably meant for it
		if b.dict != nil && r.class != "AMP" {
			return nil, fmt.Errorf("trainers: %s belongs to AMP, and agent.class is %s; leave it out", b.name, r.class)
		}
	}
	r.Agent = withoutNullScale(r.Agent)
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
	m, err := r.models("policy", "value")
	if err != nil {
		return nil, err
	}
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
	specs, err := r.groupModels()
	if err != nil {
		return nil, err
	}
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

// groupModels reads the models of IPPO and MAPPO, by group, and completes r.Models by all defaults. The section is for
// all groups, or has a section for each by name.
func (r *runner) groupModels() (map[string]*modelSpecs, error) {
	if len(r.Models) == 0 {
		_, err := r.models("policy", "value")
		return nil, err
	}
	dict := map[string]any{"models": r.Models}
	if sharing, ok := r.Agent["parameter_sharing"]; ok {
		dict["parameter_sharing"] = sharing
	}
	groups, err := ippo.Groups(dict, r.sp, r.class == "MAPPO")
	if err != nil {
		return nil, config.Under("trainers", "agent", err)
	}
	specs, full := map[string]*modelSpecs{}, map[string]any{}
	ofAll := reflect.DeepEqual(groups[0].Dict["models"], dict["models"])
	for _, g := range groups {
		section, ok := g.Dict["models"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("trainers: models of the agent %s is %v; want a mapping", g.Name, g.Dict["models"])
		}
		if value, policy := fmt.Sprint(section["value"]), fmt.Sprint(section["policy"]); r.class == "IPPO" &&
			r.sp.State.Kind != spaces.None && strings.Contains(value, "STATES") && !strings.Contains(policy, "STATES") {
			return nil, fmt.Errorf("trainers: models.value of the agent %s reads STATES, and IPPO's value networks "+
				"read observations; set agent.class to MAPPO, whose value networks read the shared state", g.Name)
		}
		m, complete, err := readModels(section, g.Spaces, "policy", "value")
		if err != nil {
			return nil, fmt.Errorf("%w (models of the agent %s)", err, g.Name)
		}
		m.policy.State = spaces.Space{}
		if policy, ok := m.roles["policy"]; ok {
			policy.StatesAreObservations = true
			m.roles["policy"] = policy
		}
		if specs[g.Name] = m; ofAll {
			full = complete
		} else {
			full[g.Name] = complete
		}
	}
	r.Models = full
	return specs, nil
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
		Dict: r.Agent, Seed: r.seed, Group: r.group})
	if err != nil {
		return nil, config.Under("trainers", "agent", err)
	}
	settings := a.Settings()
	r.settings, r.common = func() map[string]any { return config.Dict(settings) }, &settings.OnPolicy
	return a, nil
}

// ampRoles returns the roles of the models that AMP needs. They depend on the setting separate_critics, which is read
// here because the models are built before the agent reads its settings.
func (r *runner) ampRoles() ([]string, error) {
	roles := []string{"policy", "value", "discriminator"}
	given, ok := r.Agent["separate_critics"]
	if !ok {
		return roles, nil
	}
	var k struct {
		Separate bool `yaml:"separate_critics"`
	}
	if err := config.Merge(&k, map[string]any{"separate_critics": given}, config.Options{}); err != nil {
		return nil, config.Under("trainers", "agent", err)
	}
	if k.Separate {
		roles = append(roles, "style_value")
	}
	return roles, nil
}

// buffer is a section of a memory of AMP. name is the section's, and key the agent's setting for its memory_size.
type buffer struct {
	name, key string
	dict      map[string]any
}

// buffers returns AMP's memories. dict is nil if the dictionary lacks the section.
func (r *runner) buffers() []buffer {
	return []buffer{{"motion_dataset", "motion_dataset_size", r.MotionDataset},
		{"reply_buffer", "reply_buffer_size", r.ReplyBuffer}}
}

// ampMemories copies the memory_size of AMP's memories to the agent's settings, where gorl has these sizes. A size that
// is given in both places is an error.
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

// checkMemory returns an error unless the section "memory" has the size of the agent's rollouts, or a negative size,
// which means that size in skrl. It needs common, so it runs after the agent was made.
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

// memorySize returns the memory_size of a section {class: RandomMemory, memory_size: n}, 0 if it is missing. name names
// the section in errors.
func memorySize(name string, dict map[string]any) (int, error) {
	_, rest, err := section(name, dict, "RandomMemory")
	if err != nil {
		return 0, err
	}
	k := struct {
		Size int `yaml:"memory_size"`
	}{}
	err = config.Merge(&k, rest, config.Options{})
	return k.Size, config.Under("trainers", name, err)
}
