package skrl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// scalers are the running scalers by skrl 2.0's names, which are gorl's.
var scalers = []string{"observation_preprocessor", "state_preprocessor", "value_preprocessor", "amp_observation_preprocessor"}

// older are skrl 1.4's names of scalers. Its states are what 2.0 calls observations.
var older = map[string]string{"observation_preprocessor": "state_preprocessor", "amp_observation_preprocessor": "amp_state_preprocessor"}

// statistics are the entries of a scaler.
var statistics = []string{"running_mean", "running_variance", "current_count"}

func hasScaler(s *checkpoint.Snapshot, name string) bool {
	_, ok := s.Arrays[name+"/running_mean"]
	return ok
}

// scaler returns the module that holds a scaler under 2.0's name or 1.4's, and its name in the file. state_preprocessor is
// 1.4's observation_preprocessor where there is no such thing and the agent has no scaler of states.
func (c *Checkpoint) scaler(like *checkpoint.Snapshot, name string) (*torchfile.Dict, string) {
	if name == "state_preprocessor" && c.old(like) {
		return nil, ""
	}
	if d := c.Module(name); d != nil {
		return d, name
	}
	if former, ok := older[name]; ok && (name != "observation_preprocessor" || c.old(like)) {
		return c.Module(former), former
	}
	return nil, ""
}

// old says whether the file's state_preprocessor is skrl 1.4's, of what 2.0 calls observations.
func (c *Checkpoint) old(like *checkpoint.Snapshot) bool {
	if c.Module("observation_preprocessor") != nil || c.Module("state_preprocessor") == nil {
		return false
	}
	return c.Module("amp_state_preprocessor") != nil || !hasScaler(like, "state_preprocessor")
}

// readScaler puts a scaler's statistics into a snapshot.
func readScaler(snap *checkpoint.Snapshot, name, module string, d *torchfile.Dict) error {
	if d.Len() != len(statistics) {
		return fmt.Errorf("skrl: %s: it has %d entries, a running scaler has %s", module, d.Len(), strings.Join(statistics, ", "))
	}
	for _, entry := range statistics {
		v, _ := d.Get(entry)
		t, ok := v.(*torchfile.Tensor)
		if !ok || t.DType != checkpoint.F64 {
			return fmt.Errorf("skrl: %s: its %s is no tensor of float64", module, entry)
		}
		a, want := t.Array(), snap.Arrays[name+"/"+entry]
		if a.Len() != want.Len() || len(a.Shape) > 1 && entry == "current_count" {
			return fmt.Errorf("skrl: %s: its %s has shape %v, the agent's %s %v; is it of the same environment?", module, entry, a.Shape, name, want.Shape)
		}
		a.Shape = slices.Clone(want.Shape) // the count is a single value there, a vector of one here
		snap.Arrays[name+"/"+entry] = a
	}
	return nil
}

// writeScaler is the inverse.
func writeScaler(snap *checkpoint.Snapshot, name string) (*torchfile.Dict, error) {
	d := torchfile.NewOrderedDict()
	for _, entry := range statistics {
		a, ok := snap.Arrays[name+"/"+entry]
		if !ok || a.DType != checkpoint.F64 {
			return nil, fmt.Errorf("skrl: the snapshot's %s/%s is missing, or not of type F64", name, entry)
		}
		if entry == "current_count" {
			if a.Len() != 1 {
				return nil, fmt.Errorf("skrl: the snapshot's %s/%s has shape %v", name, entry, a.Shape)
			}
			a.Shape = []int64{}
		}
		d.Set(entry, torchfile.NewTensor(a))
	}
	return d, nil
}
