package trainers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// This file checks a dictionary before anything is made of it, and reads the sections that skrl has in addition to the
// agent's settings: the sizes of memories. If two sections contradict each other, that is an error: gorl has each size
// in one place, and prefers neither section.

// Check returns all errors of a dictionary for [FromDict] that are known without its environment: unknown sections,
// keys, classes and layers, and values that are not allowed. FromDict does the same. Sizes that depend on the spaces,
// and minibatches, which depend on the number of environments, are errors of FromDict alone. With the environment's
// spaces, if they are known, the policy's class is compared with the actions; else sp is the zero value.
func Check(dict map[string]any, sp spaces.Set) error {
	_, err := newRunner(dict, sp)
	return err
}

// checkAgent returns the errors of the agent's settings.
func (r *runner) checkAgent() error {
	var err error
	switch settings := withoutNullScale(r.Agent); r.class {
	case "AMP":
		_, err = amp.FromDict(settings, spaces.Set{})
	case "PPO":
		_, err = ppo.FromDict(settings, spaces.Set{})
	default:
		err = ippo.Check(settings, r.sp)
	}
	return config.Under("trainers", "agent", err)
}

// checkModels returns the errors of the models' descriptions.
func (r *runner) checkModels() error {
	roles := []string{"policy", "value"}
	switch {
	case r.class == "AMP":
		var err error
		if roles, err = r.ampRoles(); err != nil {
			return nil // checkAgent has found it, too
		}
	case r.class != "PPO" && len(r.sp.Seats) > 0:
		_, _, err := r.groupModels()
		return err
	case r.class != "PPO":
		return nil // which sections are of agents is not known without their names
	}
	_, _, err := readModels(r.Models, r.sp, roles...)
	return err
}

// agentClasses are the classes of agents, and skrlAgents those of skrl that gorl does not have.
var (
	agentClasses = []string{"PPO", "AMP", "IPPO", "MAPPO"}
	skrlAgents   = []string{"A2C", "CEM", "DDPG", "DDQN", "DQN", "RPO", "SAC", "TD3", "TRPO"}
)

// oneOf lists names: "PPO, AMP or IPPO".
func oneOf(names []string) string {
	last := len(names) - 1
	return strings.TrimPrefix(strings.Join(names[:last], ", ")+" or "+names[last], " or ")
}

// checkSeats returns an error if the class of the agent is for several agents and the environment has one, or the other
// way round. It returns nil if the spaces are not known.
func (r *runner) checkSeats() error {
	classes, number := agentClasses[:2], "one agent acts"
	if len(r.sp.Seats) > 0 {
		classes, number = agentClasses[2:], fmt.Sprintf("%d agents act", len(r.sp.Seats))
	}
	if r.sp.Observation.Kind == spaces.None || slices.Contains(classes, r.class) {
		return nil
	}
	return &config.Error{Prefix: "trainers", Path: "agent.class", Given: r.class,
		Reason: fmt.Sprintf("%s in the environment; want %s", number, oneOf(classes))}
}

// memory is a section of a memory. key is the agent's setting for the memory_size of one of AMP's. dict is nil if the
// dictionary lacks the section.
type memory struct {
	name, key string
	dict      map[string]any
}

// memories returns the sections of memories.
func (r *runner) memories() []memory {
	return []memory{{"motion_dataset", "motion_dataset_size", r.MotionDataset},
		{"reply_buffer", "reply_buffer_size", r.ReplyBuffer}, {"memory", "", r.Memory}}
}

// ampMemories copies the memory_size of AMP's memories to the agent's settings, where gorl has these sizes. A size that
// is given in both places is an error, and so is a memory of AMP for another agent: the file is probably meant for AMP.
func (r *runner) ampMemories() error {
	for _, m := range r.memories() {
		size, twice := r.sizes[m.name], r.Agent[m.key]
		switch {
		case m.dict == nil || m.key == "":
			continue
		case r.class != "AMP":
			return fmt.Errorf("trainers: %s belongs to AMP, and agent.class is %s; leave it out", m.name, r.class)
		case size <= 0:
			return fmt.Errorf("trainers: %s.memory_size is %d; want a positive number of rows", m.name, size)
		case twice != nil:
			return fmt.Errorf("trainers: %s.memory_size and agent.%s say the same; give one of them", m.name, m.key)
		}
		r.Agent[m.key] = size
	}
	return nil
}

// checkMemory returns an error unless the section "memory" has the size of the agent's rollouts, or a negative size,
// which means that size in skrl. It needs common, so it runs after the agent was made.
func (r *runner) checkMemory() error {
	size, rollouts := r.sizes["memory"], r.common.Rollouts
	if r.Memory != nil && size >= 0 && size != rollouts {
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

// section returns the class of a section, spelt as in classes, and a copy of the section without it. name names the
// section in errors. The class may be given in upper or lower case.
func section(name string, dict map[string]any, classes ...string) (class string, rest map[string]any, err error) {
	given, _ := dict["class"].(string)
	i := slices.IndexFunc(classes, func(c string) bool { return strings.EqualFold(c, given) })
	if i < 0 {
		e := &config.Error{Prefix: "trainers", Path: name + ".class", Given: dict["class"],
			Reason: "want " + oneOf(classes), Nearest: config.Nearest(given, classes)}
		if name == "agent" && slices.Contains(skrlAgents, strings.ToUpper(given)) {
			e.Reason, e.Nearest = "gorl does not have this agent of skrl; "+e.Reason, ""
		}
		return "", nil, e
	}
	rest = maps.Clone(dict)
	delete(rest, "class")
	return classes[i], rest, nil
}
