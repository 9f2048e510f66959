package skrl

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
)

// group is a network, or a policy and a value that share a trunk.
type group struct {
	role       string   // for messages
	modules    []string // of skrl; each holds the whole state
	parameters []parameter
}

// recurrent reports whether the network has recurrent layers. skrl's model instantiators cannot make those.
func (g group) recurrent() bool {
	return slices.ContainsFunc(g.parameters, func(p parameter) bool {
		return strings.Contains(p.name, ".weight_hh_l")
	})
}

// groups returns a snapshot's networks in the order of skrl's optimizer.
func groups(s *checkpoint.Snapshot) ([]group, error) {
	names, err := parameterNames(s)
	if err != nil {
		return nil, err
	}
	shared := slices.ContainsFunc(names, func(n string) bool {
		return strings.HasPrefix(n, layout.Parameter(layout.Policy, "trunk."))
	})
	var list []group
	for _, name := range names {
		role, _, ok := layout.CutParameter(name)
		if !ok || !slices.Contains(layout.Networks(), role) {
			return nil, fmt.Errorf("skrl: the snapshot's parameter %s belongs to no network that skrl knows", name)
		}
		modules := []string{role}
		if shared && (role == layout.Policy || role == layout.Value) {
			role, modules = "policy and value", []string{layout.Policy, layout.Value}
		}
		at := slices.IndexFunc(list, func(g group) bool { return g.role == role })
		if at < 0 {
			at = len(list)
			list = append(list, group{role: role, modules: modules})
		}
		list[at].parameters = append(list[at].parameters, parameter{name, s.Arrays[name]})
	}
	return list, nil
}

// fitted is a parameter of the file with that of the agent's snapshot.
type fitted struct{ file, agent parameter }

// fit pairs the parameters of a group with those of the file's module. The result is in the file's order. It is nil if
// the file has no such module.
func (c *Checkpoint) fit(g group) ([]fitted, error) {
	state := c.Module(g.modules[0])
	if state == nil {
		return nil, nil
	}
	if len(g.modules) == 1 && g.role == layout.Policy && c.shared() {
		return nil, fmt.Errorf("skrl: the file's policy and value share their layers (models.separate: false), the " +
			"agent's do not; build its models with models.BuildShared")
	}
	if len(g.modules) == 2 && !c.shared() {
		return nil, fmt.Errorf("skrl: the agent's policy and value share their layers, the file's do not " +
			"(models.separate: true)")
	}
	file, err := tensors(g.role, state)
	if err != nil {
		return nil, err
	}
	places, err := match(g.role, file, g.parameters)
	if err != nil {
		return nil, err
	}
	pairs := make([]fitted, len(file))
	for i, at := range places {
		pairs[i] = fitted{file[i], g.parameters[at]}
	}
	return pairs, nil
}

// shared reports whether policy and value are one model. skrl saves it twice.
func (c *Checkpoint) shared() bool {
	policy, value := c.Module("policy"), c.Module("value")
	if policy == nil || value == nil || policy.Len() != value.Len() {
		return false
	}
	for k, v := range policy.All() {
		a, ok := v.(checkpoint.Array)
		b, too := at(value, k).(checkpoint.Array)
		if !ok || !too || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data) {
			return false
		}
	}
	return true
}
