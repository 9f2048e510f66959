package skrl

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// parameter is a tensor of a network.
type parameter struct {
	name  string // in a module ("net_container.0.weight"), or in a snapshot ("policy/net.0.weight")
	array checkpoint.Array
}

var (
	container = regexp.MustCompile(`^([^.]+)_container(\.\d+\.)`)
	layer     = regexp.MustCompile(`^([^.]+)(\.\d+\.)`)
)

// canonical returns the part of a name that skrl and gorl have in common: without gorl's role, trunk and head, and
// without the "_container" of skrl's instantiators.
func canonical(name string) string {
	if _, rest, ok := strings.Cut(name, "/"); ok {
		name = rest
	}
	for _, prefix := range []string{"trunk.", "head."} {
		name = strings.TrimPrefix(name, prefix)
	}
	return container.ReplaceAllString(name, "$1$2")
}

// instantiator returns the name that skrl's model instantiators give a parameter of a snapshot.
func instantiator(name string) string {
	return layer.ReplaceAllString(canonical(name), "${1}_container$2")
}

// match pairs the parameters of a module in the file with those of the agent: by name if all names agree, otherwise by
// order. The result is the agent's index of each of the file's parameters. Their shapes must agree.
func match(role string, file, agent []parameter) ([]int, error) {
	byName := map[string]int{}
	for i, p := range agent {
		byName[canonical(p.name)] = i
	}
	places, named := make([]int, len(file)), map[int]bool{}
	for i, p := range file {
		if at, ok := byName[canonical(p.name)]; ok {
			places[i], named[at] = at, true
		}
	}
	byOrder := len(named) != len(file) || len(file) != len(agent)
	for i, p := range file {
		if byOrder {
			places[i] = i
		}
		switch at := places[i]; {
		case at >= len(agent):
			return nil, fmt.Errorf("skrl: %s: the file has %s %v, but the agent's network ends before: %s", role,
				p.name, p.array.Shape, counts(file, agent))
		case !slices.Equal(p.array.Shape, agent[at].array.Shape):
			return nil, fmt.Errorf("skrl: %s: the file's %s has shape %v, the agent's %s %v; give the agent the "+
				"layers of skrl's model (%s)", role, p.name, p.array.Shape, agent[at].name,
				agent[at].array.Shape, counts(file, agent))
		}
	}
	if len(file) < len(agent) {
		return nil, fmt.Errorf("skrl: %s: the file has nothing for the agent's %s %v: %s", role, agent[len(file)].name,
			agent[len(file)].array.Shape, counts(file, agent))
	}
	return places, nil
}

func counts(file, agent []parameter) string {
	return fmt.Sprintf("%d parameters in the file, %d in the agent", len(file), len(agent))
}

// tensors returns the parameters of a module's state. Their order is the optimizer's.
func tensors(role string, state *torchfile.Dict) ([]parameter, error) {
	var list []parameter
	for k, v := range state.All() {
		name, ok := k.(string)
		a, isTensor := v.(checkpoint.Array)
		switch {
		case !ok || !isTensor:
			return nil, fmt.Errorf("skrl: %s: entry %v of its state is not a tensor", role, k)
		case a.DType != checkpoint.F32:
			return nil, fmt.Errorf("skrl: %s: %s is of type %s; gorl's parameters are F32, so convert it with "+
				".float() before saving", role, name, a.DType)
		}
		list = append(list, parameter{name, a})
	}
	return list, nil
}

// parameterNames returns a snapshot's parameters in the order of the agent's optimizer.
func parameterNames(s *checkpoint.Snapshot) ([]string, error) {
	names := slices.Sorted(maps.Keys(layout.Below(s, strings.TrimSuffix(layout.ExpAvg(layout.Optimizer, ""), "/"))))
	for _, name := range names {
		if _, ok := s.Arrays[name]; !ok {
			return nil, fmt.Errorf("skrl: the snapshot has moments of %s, but no such parameter", name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("skrl: the snapshot is not of a PPO or AMP agent: it has no optimizer/exp_avg")
	}
	listed, ok := s.Values[layout.Parameters].([]any)
	if !ok {
		return nil, fmt.Errorf("skrl: the snapshot does not list its parameters, so it is of an earlier gorl; let " +
			"its agent restore it and save it again")
	}
	order := make([]string, len(listed))
	for i, v := range listed {
		order[i], _ = v.(string)
	}
	if !slices.Equal(slices.Sorted(slices.Values(order)), names) {
		return nil, fmt.Errorf("skrl: the snapshot's list of parameters does not match its arrays")
	}
	return order, nil
}
