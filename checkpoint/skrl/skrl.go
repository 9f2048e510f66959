// Package skrl reads and writes the checkpoints of skrl (https://skrl.readthedocs.io), the Python library whose PPO and
// AMP gorl's agents follow. Training may begin in one library and continue in the other.
//
// A checkpoint is read without executing it and fitted into a snapshot of the agent that is to continue. That snapshot
// gives names and shapes:
//
//	c, err := skrl.Read("runs/walker/checkpoints/agent_20000.pt")
//	// ...
//	like, err := agent.Snapshot(agents.SnapshotOptions{})
//	// ...
//	snap, err := c.Snapshot(like)
//	// ...
//	err = agent.Restore(snap)
//
// The other way, [Write] writes an agent's snapshot as a file that skrl's agent.load reads. Both carry the networks,
// Adam's state and the running scalers. Checkpoints of skrl have no counters, memories or random states.
//
// skrl.go is the file, load.go and write.go are the two directions. Both use names.go and networks.go for parameters,
// adam.go for the optimizer, and scalers.go.
package skrl

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// Module is an entry of a checkpoint: a network, the optimizer or a scaler.
type Module struct {
	// Name is skrl's name, for example "policy" or "value_preprocessor".
	Name string
	// State is its state_dict.
	State *torchfile.Dict
}

// Checkpoint is a checkpoint of a skrl agent.
type Checkpoint struct {
	// Path is the path of the file, for messages.
	Path string
	// Modules are in the file's order.
	Modules []Module
}

// moduleNames are the modules of skrl's PPO and AMP. skrl 1.4 has other names for the last two.
var moduleNames = []string{
	"policy", "value", "discriminator", "optimizer", "observation_preprocessor", "state_preprocessor",
	"value_preprocessor", "amp_observation_preprocessor", "amp_state_preprocessor",
}

// Read reads an agent's file (agent_1000.pt, best_agent.pt), of skrl 2 or 1.4. With experiment.store_separately skrl
// writes a file for each module (policy_1000.pt, best_policy.pt). Read takes the path of any of them, and reads the
// others from the same folder. Errors are those of torchfile.Open, or say what the file is.
func Read(path string) (*Checkpoint, error) {
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Path: path}
	if isAgent(d) {
		for k, v := range d.All() {
			name, ok := k.(string)
			if !ok {
				return nil, fmt.Errorf("skrl: %s: the name of module %v is not a text", path, k)
			}
			c.Modules = append(c.Modules, Module{name, v.(*torchfile.Dict)})
		}
		return c, nil
	}
	module, sibling := splitName(filepath.Base(path))
	if module == "" {
		return nil, fmt.Errorf("skrl: %s holds a single module, and its name does not say which; rename it, for "+
			"example to policy.pt", path)
	}
	for _, name := range moduleNames {
		d, err := open(filepath.Join(filepath.Dir(path), sibling(name)))
		switch {
		case err == nil:
			c.Modules = append(c.Modules, Module{name, d})
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return c, nil
}

// open reads a dictionary.
func open(path string) (*torchfile.Dict, error) {
	v, err := torchfile.Open(path)
	if err != nil {
		return nil, err
	}
	d, ok := v.(*torchfile.Dict)
	if !ok || d.Len() == 0 {
		return nil, fmt.Errorf("skrl: %s has no dictionary of modules or of tensors, so it is not a checkpoint of skrl",
			path)
	}
	return d, nil
}

// isAgent reports whether a dictionary is one of modules, not a single module.
func isAgent(d *torchfile.Dict) bool {
	_, state := d.Get("state")
	_, groups := d.Get("param_groups")
	if state && groups {
		return false // an optimizer
	}
	for _, v := range d.All() {
		if _, ok := v.(*torchfile.Dict); !ok {
			return false
		}
	}
	return true
}

// splitName returns the module of a file name such as best_policy.pt or policy_1000.pt, and a function that returns the
// file names of other modules.
func splitName(base string) (module string, sibling func(module string) string) {
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	ext := filepath.Ext(base)
	if name, ok := strings.CutPrefix(stem, "best_"); ok && slices.Contains(moduleNames, name) {
		return name, func(m string) string { return "best_" + m + ext }
	}
	tag := ""
	for _, name := range moduleNames { // the longest one: value_preprocessor begins with value
		if rest, ok := strings.CutPrefix(stem, name); ok && len(name) > len(module) && (rest == "" || rest[0] == '_') {
			module, tag = name, rest
		}
	}
	return module, func(m string) string { return m + tag + ext }
}

// Module returns the state of a module by skrl's name, or nil.
func (c *Checkpoint) Module(name string) *torchfile.Dict {
	for _, m := range c.Modules {
		if m.Name == name {
			return m.State
		}
	}
	return nil
}

// WriteFile writes the checkpoint as an agent's file, which skrl's agent.load reads, and replaces the file at path
// atomically. Equal checkpoints give equal bytes.
func (c *Checkpoint) WriteFile(path string) error {
	d := torchfile.NewDict()
	for _, m := range c.Modules {
		d.Set(m.Name, m.State)
	}
	return torchfile.WriteFile(path, d)
}
