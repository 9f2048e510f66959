// Package skrl reads and writes the checkpoints of skrl (https://skrl.readthedocs.io), the Python library whose PPO and
// AMP gorl's agents follow, so that training may begin in one and go on in the other.
//
// A checkpoint is read without executing it and fitted into a snapshot of the agent that is to go on, which gives names
// and shapes:
//
//	c, err := skrl.Read("runs/walker/checkpoints/agent_20000.pt")
//	// ...
//	like, err := agent.Snapshot(agents.SnapshotOptions{})
//	// ...
//	snap, err := c.Snapshot(like)
//	// ...
//	err = agent.Restore(snap)
//
// The other way, [Write] makes of an agent's snapshot a file that skrl's agent.load reads. Both carry the networks,
// Adam's state and the running scalers; skrl's checkpoints have no counters, memories or random states.
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

// Module is one entry of a checkpoint: a network, the optimizer or a scaler.
type Module struct {
	// Name is skrl's, e.g. "policy" or "value_preprocessor".
	Name string
	// State is its state_dict.
	State *torchfile.Dict
}

// Checkpoint is what skrl's agents save.
type Checkpoint struct {
	// Path is where it was read from, for messages.
	Path string
	// Modules in the file's order.
	Modules []Module
}

// moduleNames are those of skrl's PPO and AMP: 2.0's, then those that 1.4 called otherwise.
var moduleNames = []string{
	"policy", "value", "discriminator", "optimizer", "observation_preprocessor", "state_preprocessor", "value_preprocessor",
	"amp_observation_preprocessor", "amp_state_preprocessor",
}

// Read reads a checkpoint: an agent's file (agent_1000.pt, best_agent.pt), or, where experiment.store_separately was
// on, any one module's (policy_1000.pt, best_policy.pt), whose siblings in the same folder are then read with it.
// Errors are those of torchfile.Open, or say what the file is instead.
func Read(path string) (*Checkpoint, error) {
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	if isAgent(d) {
		return fromDict(path, d)
	}
	module, sibling := splitName(filepath.Base(path))
	if module == "" {
		return nil, fmt.Errorf("skrl: %s holds a single module, and its name does not say which; read it with ReadModules",
			path)
	}
	files := map[string]string{}
	for _, name := range moduleNames {
		files[name] = filepath.Join(filepath.Dir(path), sibling(name))
	}
	return readModules(path, files, true)
}

// ReadModules reads modules from a file each, by skrl's names ("policy", "optimizer", ...).
func ReadModules(files map[string]string) (*Checkpoint, error) {
	for name := range files {
		if !slices.Contains(moduleNames, name) {
			return nil, fmt.Errorf("skrl: there is no module %q; want one of %s", name, strings.Join(moduleNames, ", "))
		}
	}
	return readModules("the modules", files, false)
}

func readModules(path string, files map[string]string, optional bool) (*Checkpoint, error) {
	c := &Checkpoint{Path: path}
	for _, name := range moduleNames {
		file, ok := files[name]
		if !ok {
			continue
		}
		d, err := open(file)
		if optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c.Modules = append(c.Modules, Module{name, d})
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
		return nil, fmt.Errorf("skrl: %s holds no dictionary of modules or of tensors, so it is no checkpoint of skrl", path)
	}
	return d, nil
}

// isAgent says whether a dictionary is one of modules rather than a module's own.
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

func fromDict(path string, d *torchfile.Dict) (*Checkpoint, error) {
	c := &Checkpoint{Path: path}
	for k, v := range d.All() {
		name, ok := k.(string)
		state, isDict := v.(*torchfile.Dict)
		if !ok || !isDict {
			return nil, fmt.Errorf("skrl: %s: module %v is no dictionary", path, k)
		}
		c.Modules = append(c.Modules, Module{name, state})
	}
	return c, nil
}

// splitName takes a separately stored module's file name apart: best_policy.pt, policy_1000.pt. sibling makes those of
// other modules.
func splitName(base string) (module string, sibling func(module string) string) {
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	ext := filepath.Ext(base)
	if name, ok := strings.CutPrefix(stem, "best_"); ok && slices.Contains(moduleNames, name) {
		return name, func(m string) string { return "best_" + m + ext }
	}
	tag := ""
	for _, name := range moduleNames { // the longest, as value_preprocessor also begins like value
		if rest, ok := strings.CutPrefix(stem, name); ok && len(name) > len(module) && (rest == "" || rest[0] == '_') {
			module, tag = name, rest
		}
	}
	return module, func(m string) string { return m + tag + ext }
}

// Module returns a module's state by skrl's name, or nil.
func (c *Checkpoint) Module(name string) *torchfile.Dict {
	for _, m := range c.Modules {
		if m.Name == name {
			return m.State
		}
	}
	return nil
}

// WriteFile writes the checkpoint as an agent's file, which skrl's agent.load reads: aside first, synced, then renamed.
// The same checkpoint gives the same bytes.
func (c *Checkpoint) WriteFile(path string) error {
	d := torchfile.NewDict()
	for _, m := range c.Modules {
		d.Set(m.Name, m.State)
	}
	return torchfile.WriteFile(path, d)
}

// WriteModules writes a file for each module, as skrl does with experiment.store_separately: <module>_<tag>.pt in
// folder.
func (c *Checkpoint) WriteModules(folder, tag string) error {
	if tag == "" || tag != filepath.Base(tag) {
		return fmt.Errorf("skrl: the tag %q is no part of a file name; skrl takes the timestep", tag)
	}
	for _, m := range c.Modules {
		if err := torchfile.WriteFile(filepath.Join(folder, m.Name+"_"+tag+".pt"), m.State); err != nil {
			return err
		}
	}
	return nil
}
