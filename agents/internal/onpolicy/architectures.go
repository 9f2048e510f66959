package onpolicy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/models"
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
	for _, name := range []string{"policy", "value", "style_value"} { // the discriminator reads a Box
		a := all[name]
		key, scaled := "observation_preprocessor", c.ObservationScaler != nil
		if name != "policy" && c.spaces.State.Width() > 0 {
			key, scaled = "state_preprocessor", c.StateScaler != nil
		}
		if i := slices.IndexFunc(a.Parts, func(p models.Part) bool { return len(p.Choices) > 0 }); i >= 0 && scaled {
			return fmt.Errorf("%s: %q scales the choices that the %s network reads one-hot (%q); leave it empty", strings.ToLower(c.name), key, name, a.Parts[i].Name)
		}
	}
	return nil
}

// architectures compares what a snapshot says of networks, which may be nothing, with the agent's.
func (r *reader) architectures(c *Core) {
	if r.err != nil {
		return
	}
	theirs, _ := r.snap.Values["architectures"].(map[string]any)
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
