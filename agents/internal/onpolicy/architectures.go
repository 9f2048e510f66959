package onpolicy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
)

// Architectures implements [agents.Evolvable].
func (c *Core) Architectures() map[string]models.Architecture {
	out := map[string]models.Architecture{}
	for _, n := range c.networks {
		if a, ok := models.ArchitectureOf(n.Network); ok {
			out[n.Name] = a
		}
	}
	return out
}

// checkChoices refuses a scaler before a network that reads indices.
func (c *Core) checkChoices() error {
	all := c.Architectures()
	for _, name := range []string{layout.Policy, layout.Value, layout.StyleValue} { // the discriminator reads a Box
		a := all[name]
		key, scaled := "observation_preprocessor", c.ObservationScaler != nil
		if name != layout.Policy && c.spaces.State.Width() > 0 {
			key, scaled = "state_preprocessor", c.StateScaler != nil
		}
		if i := slices.IndexFunc(a.Parts, func(p models.Part) bool { return len(p.Choices) > 0 }); i >= 0 && scaled {
			return fmt.Errorf("%s: %q scales the choices that the %s network reads one-hot (%q); leave it empty", strings.ToLower(c.name), key, name, a.Parts[i].Name)
		}
	}
	if c.ObservationScaler == nil {
		return nil
	}
	if p, ok := c.Policy.(models.DescribedPolicy); ok {
		if d, err := p.Describe(); err == nil && readsChoices(d.Network) {
			return c.scalesChoices("policy")
		}
	}
	if v, ok := c.Value.(models.Described); ok {
		if n, err := v.Describe(); err == nil && readsChoices(n) {
			return c.scalesChoices("value")
		}
	}
	return nil
}

func (c *Core) scalesChoices(network string) error {
	return fmt.Errorf("%s: \"observation_preprocessor\" scales the choices that the %s network reads one-hot; leave it empty", strings.ToLower(c.name), network)
}

// readsChoices reports whether a network reads columns of its rows one-hot.
func readsChoices(n description.Network) bool {
	rows := map[int]bool{0: true} // results that are columns of the rows
	for i, s := range n.Steps {
		read := slices.ContainsFunc(n.Sources(i), func(j int) bool { return rows[j] })
		switch {
		case read && s.Op == description.OneHot:
			return true
		case s.Op == description.Columns || s.Op == description.Concatenate:
			rows[i+1] = read
		}
	}
	return false
}

// architectures compares what a snapshot says of networks, which may be nothing, with the agent's.
func (r *reader) architectures(c *Core) {
	if r.err != nil {
		return
	}
	theirs := layout.Map(r.snap.Values, layout.Architectures)
	if len(theirs) == 0 {
		return
	}
	ours := c.Architectures()
	for _, n := range c.networks {
		v, ok := theirs[n.Name]
		if !ok {
			continue
		}
		a, err := models.ArchitectureOfValues(v)
		if err != nil {
			r.fail(err)
			return
		}
		b, shaped := ours[n.Name]
		if !shaped {
			r.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's has no architecture; make the agent from the checkpoint's", n.Name, a))
		} else if !a.Equal(b) {
			r.fail(fmt.Errorf("the checkpoint's %s network is %v, this agent's %v; make the agent from the checkpoint's architecture", n.Name, a, b))
		}
	}
}

// architectureValues is the networks' architectures as snapshots hold them, nil where no network has one.
func (c *Core) architectureValues() map[string]any {
	all := c.Architectures()
	if len(all) == 0 {
		return nil
	}
	tree := make(map[string]any, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tree[name] = all[name].Values()
	}
	return tree
}
