package ippo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// Config are the settings of IPPO and MAPPO: those of PPO, documented at [agents.OnPolicy], and how seats share
// parameters. In a dictionary most of them may have a value for each seat, see [Groups].
type Config struct {
	agents.OnPolicy `yaml:",inline"`

	// ParameterSharing says which seats share networks, optimizer and scalers: none ("off", skrl), those whose names
	// are equal up to the last underscore ("prefix": adversary_0 and adversary_1), or "all". Seats that share must have
	// equal spaces.
	//
	// Sharing learns from the experience of all its seats at once, and is the better choice for agents of one kind.
	// Agents with tasks of their own need "off", unless their observations tell them apart.
	ParameterSharing string `yaml:"parameter_sharing" config:"oneof=off|prefix|all"`
}

// DefaultConfig returns PPO's defaults, without parameter sharing.
func DefaultConfig() Config { return Config{ppo.DefaultConfig().OnPolicy, "off"} }

func init() {
	for _, name := range []string{nameOf(false), nameOf(true)} {
		config.Declare("agents", name, DefaultConfig(), onpolicy.OlderNames...)
	}
}

// Group is the seats that one PPO agent plays.
type Group struct {
	// Name is the seat's name, the common prefix of the seats' names, or "all".
	Name string
	// Seats are the seats' names in order.
	Seats []string
	// Spaces are those of one seat. With a centralised value network their state is what that network reads.
	Spaces spaces.Set
	// Dict holds the settings of the group's PPO agent.
	Dict map[string]any

	seats []int // indices in spaces.Set.Seats
}

// PerAgent reports whether a setting may have a value for each agent.
func PerAgent(key string) bool { return !slices.Contains(ofAll, key) }

// ofAll are the settings that have one value for all seats.
var ofAll = []string{"rollouts", "learning_starts", "random_timesteps", "rewards_shaper", "mixed_precision",
	"mixed_precision_dtype", "experiment", "overlap", "compatibility", "device", "parameter_sharing"}

// Groups divides the seats of an environment by the setting parameter_sharing, and gives each group its settings.
//
// A setting is one value for all seats, or a dictionary with a value for each seat, or for each group, by name. As in
// skrl, a dictionary with the names of only some seats is an error. A dictionary without names of seats or groups is
// one value for all seats. Rollouts, learning_starts, random_timesteps, rewards_shaper, mixed_precision, experiment,
// overlap, compatibility and device always have one value. dict is not changed.
func Groups(dict map[string]any, sp spaces.Set, centralised bool) ([]Group, error) {
	if len(sp.Seats) == 0 {
		return nil, fmt.Errorf("ippo: %s needs an environment with several agents, and spaces.Set.Seats is empty; use "+
			"PPO for one agent", nameOf(centralised))
	}
	if err := sp.Validate(); err != nil {
		return nil, fmt.Errorf("ippo: the environment's %w", err)
	}
	own := DefaultConfig()
	rest := maps.Clone(dict)
	if given, ok := dict["parameter_sharing"]; ok {
		delete(rest, "parameter_sharing")
		err := config.Merge(&own, map[string]any{"parameter_sharing": given}, config.Options{Prefix: "ippo"})
		if err != nil {
			return nil, err
		}
	}
	groups, err := divide(sp, own.ParameterSharing)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		groups[i].Spaces.State = spaces.Space{}
		if centralised {
			groups[i].Spaces.State = stateSpace(sp)
		}
	}
	return groups, distribute(groups, rest, sp)
}

// divide returns the groups of seats.
func divide(sp spaces.Set, sharing string) ([]Group, error) {
	var groups []Group
	for i, seat := range sp.Seats {
		name := seat.Name
		switch sharing {
		case "all":
			name = "all"
		case "prefix":
			if at := strings.LastIndex(name, "_"); at > 0 {
				name = name[:at]
			}
		}
		at := slices.IndexFunc(groups, func(g Group) bool { return g.Name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, Group{Name: name, Spaces: sp.Seat(i)})
		}
		g := &groups[at]
		if which, a, b := g.Spaces.Difference(sp.Seat(i)); which != "" {
			return nil, fmt.Errorf("ippo: \"parameter_sharing\" is %q, but the %s of the seats %s and %s differ (%v "+
				"and %v); seats that share need equal spaces: use \"off\"", sharing, which, g.Seats[0], seat.Name, a, b)
		}
		g.Seats, g.seats = append(g.Seats, seat.Name), append(g.seats, i)
	}
	return groups, nil
}

// distribute gives each group its settings.
func distribute(groups []Group, dict map[string]any, sp spaces.Set) error {
	var seats, names []string
	for i := range groups {
		groups[i].Dict = map[string]any{}
		names = append(names, groups[i].Name)
	}
	for _, seat := range sp.Seats {
		seats = append(seats, seat.Name)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		values, err := perName(key, dict[key], seats, names)
		if values != nil && !PerAgent(key) {
			err = fmt.Errorf("ippo: %q is %v; it has one value for all agents", key, dict[key])
		}
		for i, g := range groups {
			if err != nil {
				break
			}
			value := dict[key]
			if values != nil {
				value, err = g.value(key, values)
			}
			groups[i].Dict[key] = value
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// perName returns a setting's values by the names of seats or groups, or nil if it is one value for all.
func perName(key string, value any, seats, groups []string) (map[string]any, error) {
	given, ok := value.(map[string]any)
	if !ok || len(given) == 0 {
		return nil, nil
	}
	known := 0
	for name := range given {
		if slices.Contains(seats, name) || slices.Contains(groups, name) {
			known++
		}
	}
	has := func(name string) bool { _, ok := given[name]; return ok }
	missing := slices.DeleteFunc(slices.Clone(seats), has)
	if len(slices.DeleteFunc(slices.Clone(groups), has)) == 0 {
		missing = nil
	}
	switch {
	case known == 0:
		return nil, nil
	case known < len(given):
		return nil, fmt.Errorf("ippo: %q has values of %s, and the agents are %s", key,
			strings.Join(slices.Sorted(maps.Keys(given)), ", "), strings.Join(seats, ", "))
	case len(missing) > 0:
		return nil, fmt.Errorf("ippo: %q has values of some agents only; %s missing", key,
			strings.Join(missing, " and "))
	}
	return given, nil
}

// value returns the value of a setting that all seats of the group have in common.
func (g Group) value(key string, values map[string]any) (any, error) {
	if value, ok := values[g.Name]; ok {
		return value, nil
	}
	for _, seat := range g.Seats[1:] {
		if !reflect.DeepEqual(values[seat], values[g.Seats[0]]) {
			return nil, fmt.Errorf("ippo: %q is %v for the seat %s and %v for %s, which share parameters "+
				"(\"parameter_sharing\"); give them one value", key, values[g.Seats[0]], g.Seats[0], values[seat], seat)
		}
	}
	return values[g.Seats[0]], nil
}

// Check returns all errors of a dictionary of settings. Without the seats of an environment, it takes their names from
// the dictionary.
func Check(dict map[string]any, sp spaces.Set) error {
	if len(sp.Seats) == 0 {
		sp = namesIn(dict)
	}
	groups, err := Groups(dict, sp, false)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if _, err := ppo.FromDict(g.Dict, g.Spaces); err != nil {
			return err
		}
	}
	return nil
}

// namesIn returns spaces with the seats that a dictionary of settings names: the keys of dictionaries that are given
// for settings whose values are numbers, words or lists.
func namesIn(dict map[string]any) spaces.Set {
	plain := config.Dict(ppo.DefaultConfig())
	names := map[string]bool{}
	for key, value := range dict {
		given, ok := value.(map[string]any)
		if _, section := plain[key].(map[string]any); !ok || section || strings.HasSuffix(key, "_kwargs") {
			continue
		}
		for name := range given {
			names[name] = true
		}
	}
	list := slices.Sorted(maps.Keys(names))
	seats := make([]spaces.Seat, max(1, len(list)))
	for i := range seats {
		seats[i] = spaces.Seat{Name: cmp.Or(strings.Join(list[i:min(i+1, len(list))], ""), "agent"),
			Observation: spaces.Unbounded(1), Action: spaces.NewBox(-1, 1, 1)}
	}
	return spaces.NewSeats(spaces.Space{}, seats...)
}

// Dict returns the agent's settings with all defaults, from which [New] makes it again. Settings that differ between
// groups are dictionaries by group.
func (a *Agent) Dict() map[string]any {
	all := config.Dict(a.List[0].(*ppo.Agent).Settings())
	for key, first := range all {
		values, same := map[string]any{}, true
		for i, member := range a.List {
			value := config.Dict(member.(*ppo.Agent).Settings())[key]
			values[a.Names[i]], same = value, same && reflect.DeepEqual(value, first)
		}
		if !same {
			all[key] = values
		}
	}
	all["parameter_sharing"] = a.sharing()
	return all
}

// sharing returns the setting parameter_sharing.
func (a *Agent) sharing() string {
	switch {
	case len(a.groups) == len(a.spaces.Seats):
		return "off"
	case len(a.groups) == 1 && a.Names[0] == "all":
		return "all"
	}
	return "prefix"
}
