package trainers

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// This file reads the models of a dictionary. A section in skrl's words describes one network per role (package models
// reads it). The short form gives all roles perceptrons of the same shape. Either way the agent makes the networks from
// its seed, so a seed gives the same weights as the constructors ppo.MLPs and amp.MLPs in Go.

// modelSpecs are the models of a dictionary: one specification per role, or perceptrons for all roles. separate is
// false if policy and value share a trunk. policy are the spaces of the policy and of a shared trunk: with several
// agents these never read the shared state.
type modelSpecs struct {
	sp       spaces.Set
	policy   spaces.Set
	separate bool
	roles    map[string]models.Spec
	mlps     *mlps // instead of roles
}

// mlps is the short form of models.
type mlps struct {
	// Hidden are the widths of the hidden layers of all networks.
	Hidden []int `yaml:"mlp" config:"min=1,max=1048576,minlen=1"`
	// Activation is the function between layers.
	Activation string `yaml:"activation"`

	models.Initialization `yaml:",inline"`
}

// groupModels reads the models of IPPO and MAPPO, by group, and returns the section completed by all defaults. The
// section is for all groups, or has a section for each by name.
func (r *runner) groupModels() (specs map[string]*modelSpecs, full map[string]any, err error) {
	if len(r.Models) == 0 {
		_, _, err := readModels(nil, r.sp, "policy", "value")
		return nil, nil, err
	}
	dict := map[string]any{"models": r.Models}
	if sharing, ok := r.Agent["parameter_sharing"]; ok {
		dict["parameter_sharing"] = sharing
	}
	groups, err := ippo.Groups(dict, r.sp, r.class == "MAPPO")
	if err != nil {
		return nil, nil, config.Under("trainers", "agent", err)
	}
	specs, full = map[string]*modelSpecs{}, map[string]any{}
	ofAll := reflect.DeepEqual(groups[0].Dict["models"], dict["models"])
	for _, g := range groups {
		section, ok := g.Dict["models"].(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("trainers: models of the agent %s is %v; want a mapping", g.Name,
				g.Dict["models"])
		}
		if value, policy := fmt.Sprint(section["value"]), fmt.Sprint(section["policy"]); r.class == "IPPO" &&
			r.sp.State.Kind != spaces.None && strings.Contains(value, "STATES") && !strings.Contains(policy, "STATES") {
			return nil, nil, fmt.Errorf("trainers: models.value of the agent %s reads STATES, and IPPO's value "+
				"networks read observations; set agent.class to MAPPO, whose value networks read the shared state",
				g.Name)
		}
		m, complete, err := readModels(section, g.Spaces, "policy", "value")
		if err != nil {
			return nil, nil, fmt.Errorf("%w (models of the agent %s)", err, g.Name)
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
	return specs, full, nil
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

// readModels reads a section of models for the given roles, and returns it completed by all defaults. A missing
// style_value is like the value. It only reads: the agent builds the networks.
func readModels(section map[string]any, sp spaces.Set, roles ...string) (m *modelSpecs, full map[string]any,
	err error) {
	if len(section) == 0 {
		return nil, nil, fmt.Errorf("trainers: models is missing; want a model for each of %v, or in short models: "+
			"{mlp: [64, 64], activation: elu}", roles)
	}
	// The short form. It takes its defaults here, so that Dict has them.
	if _, short := section["mlp"]; short {
		m := &mlps{Activation: "elu"}
		if err := config.Merge(m, section, config.Options{}); err != nil {
			return nil, nil, config.Under("trainers", "models", err)
		}
		return &modelSpecs{sp: sp, mlps: m}, config.Dict(m), nil
	}
	m = &modelSpecs{sp: sp, policy: sp, separate: true, roles: map[string]models.Spec{}}
	// full has each role as it was given, with the defaults that ParseSpec has added.
	full = map[string]any{}
	allowed := append([]string{"separate"}, roles...)
	for _, key := range slices.Sorted(maps.Keys(section)) {
		value := section[key]
		if key == "separate" {
			separate, ok := value.(bool)
			if !ok {
				return nil, nil, fmt.Errorf("trainers: models.separate is %v; want true or false", value)
			}
			m.separate = separate
			continue
		}
		dict, ok := value.(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("trainers: models.%s is %v; want a mapping {class, network, output, ...}", key,
				value)
		}
		if !slices.Contains(roles, key) {
			return nil, nil, fmt.Errorf("trainers: models.%s: the agent has no model of that name%s; it has %v", key,
				config.Hint(key, allowed), roles)
		}
		if key == "policy" {
			if err := fits(dict["class"], sp.Action); err != nil {
				return nil, nil, err
			}
		}
		spec, err := models.ParseSpec(dict)
		if err != nil {
			return nil, nil, config.Under("trainers", "models."+key, err)
		}
		// As in skrl 1.4, STATES means observations if there is no state space.
		spec.StatesAreObservations = sp.State.Kind == spaces.None
		m.roles[key] = spec
		own := maps.Clone(dict)
		maps.Copy(own, spec.Settings())
		full[key] = own
	}
	// Every role needs a model.
	for _, role := range roles {
		if _, ok := m.roles[role]; ok {
			continue
		}
		if role == "style_value" && m.roles["value"].Class != "" {
			m.roles[role] = m.roles["value"]
			continue
		}
		return nil, nil, fmt.Errorf("trainers: models.%s is missing; the agent needs a model for each of %v", role,
			roles)
	}
	if m.roles["policy"].Class == "Deterministic" {
		return nil, nil, fmt.Errorf("trainers: models.policy.class is Deterministic, which has no probabilities to " +
			"learn from; use GaussianMixin")
	}
	full["separate"] = m.separate
	return m, full, nil
}

// fits refuses a policy's class whose distribution is for another kind of action space. It runs before the keys are
// read, because each class has its own.
func fits(class any, action spaces.Space) error {
	name, _ := class.(string)
	wanted := map[spaces.Kind]string{spaces.Box: "GaussianMixin", spaces.Discrete: "CategoricalMixin",
		spaces.MultiDiscrete: "MultiCategoricalMixin"}[action.Kind]
	kind := strings.TrimSuffix(strings.ToLower(name), "mixin")
	other := []string{"gaussian", "multivariategaussian"}
	if action.Kind == spaces.Box {
		other = []string{"categorical", "multicategorical"}
	}
	if wanted == "" || !slices.Contains(other, kind) {
		return nil
	}
	return fmt.Errorf("trainers: models.policy.class is %s, but the environment's actions are %v: use %s", name, action,
		wanted)
}

// actorCritic builds policy and value. Shared networks draw their weights from one random sequence. Separate networks
// use seed and seed+1.
func (m *modelSpecs) actorCritic(seed int64) (models.Policy, models.Network, error) {
	if !m.separate {
		policy, value, err := models.BuildShared(m.roles["policy"], m.roles["value"], m.policy, seed)
		if err == nil {
			return policy, value, nil
		}
		// The policy has the trunk.
		if reason, ok := strings.CutPrefix(err.Error(), "models: value: "); ok {
			return nil, nil, fmt.Errorf("models.value: %s", reason)
		}
		return nil, nil, fmt.Errorf("models.policy: %w", err)
	}
	policy, err := m.roles["policy"].BuildPolicy(m.policy, seed)
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

// ppo returns the models for ppo.New, which calls their Make with the agent's seed.
func (m *modelSpecs) ppo() ppo.Models {
	if m.mlps != nil {
		return ppo.MLPs(m.sp, m.mlps.Hidden, m.mlps.Activation, m.mlps.Initialization)
	}
	return ppo.Models{Make: m.actorCritic}
}

// amp returns the models for amp.New, which calls their Make with the agent's seed.
func (m *modelSpecs) amp() amp.Models {
	if m.mlps != nil {
		return amp.MLPs(m.sp, m.mlps.Hidden, m.mlps.Activation, m.mlps.Initialization)
	}
	return amp.Models{Make: m.buildAMP}
}

// buildAMP builds AMP's models with the seeds seed to seed+3. The discriminator reads AMP observations instead of
// observations. On an error it returns the networks made so far, which amp.New closes.
func (m *modelSpecs) buildAMP(seed int64) (nets amp.Models, err error) {
	if nets.Policy, nets.Value, err = m.actorCritic(seed); err != nil {
		return nets, err
	}
	sees := spaces.Set{Observation: m.sp.AMPObservation, Action: m.sp.Action}
	if nets.Discriminator, err = m.roles["discriminator"].BuildNetwork(sees, seed+2); err != nil {
		return nets, fmt.Errorf("models.discriminator: %w", err)
	}
	// Only an agent with separate_critics has this role.
	if spec, ok := m.roles["style_value"]; ok {
		if nets.StyleValue, err = spec.BuildNetwork(m.sp, seed+3); err != nil {
			return nets, fmt.Errorf("models.style_value: %w", err)
		}
	}
	return nets, nil
}
