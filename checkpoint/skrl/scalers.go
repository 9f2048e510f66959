package skrl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// older are skrl 1.4's names of scalers; skrl 2.0's are gorl's. What 1.4 calls states, 2.0 calls observations.
var older = map[string]string{layout.ObservationScaler: layout.StateScaler,
	layout.AMPObservationScaler: "amp_state_preprocessor"}

func hasScaler(s *checkpoint.Snapshot, name string) bool {
	_, ok := s.Arrays[layout.Statistic(name, layout.RunningMean)]
	return ok
}

// scaler returns the module that holds a scaler under 2.0's name or 1.4's, and its name in the file. state_preprocessor
// is 1.4's observation_preprocessor where there is no such thing and the agent has no scaler of states.
func (c *Checkpoint) scaler(like *checkpoint.Snapshot, name string) (*torchfile.Dict, string) {
	if name == layout.StateScaler && c.old(like) {
		return nil, ""
	}
	if d := c.Module(name); d != nil {
		return d, name
	}
	if former, ok := older[name]; ok && (name != layout.ObservationScaler || c.old(like)) {
		return c.Module(former), former
	}
	return nil, ""
}

// old says whether the file's state_preprocessor is skrl 1.4's, of what 2.0 calls observations.
func (c *Checkpoint) old(like *checkpoint.Snapshot) bool {
	if c.Module(layout.ObservationScaler) != nil || c.Module(layout.StateScaler) == nil {
		return false
	}
	return c.Module("amp_state_preprocessor") != nil || !hasScaler(like, layout.StateScaler)
}

// readScaler puts a scaler's statistics into a snapshot.
func readScaler(snap *checkpoint.Snapshot, name, module string, d *torchfile.Dict) error {
	if d.Len() != len(layout.Statistics()) {
		return fmt.Errorf("skrl: %s: it has %d entries, a running scaler has %s", module, d.Len(),
			strings.Join(layout.Statistics(), ", "))
	}
	for _, entry := range layout.Statistics() {
		v, _ := d.Get(entry)
		t, ok := v.(*torchfile.Tensor)
		if !ok || t.DType != checkpoint.F64 {
			return fmt.Errorf("skrl: %s: its %s is no tensor of float64", module, entry)
		}
		a, want := t.Array(), snap.Arrays[layout.Statistic(name, entry)]
		if a.Len() != want.Len() || len(a.Shape) > 1 && entry == layout.CurrentCount {
			return fmt.Errorf("skrl: %s: its %s has shape %v, the agent's %s %v; is it of the same environment?", module, entry,
				a.Shape, name, want.Shape)
		}
		a.Shape = slices.Clone(want.Shape) // the count is a single value there, a vector of one here
		snap.Arrays[layout.Statistic(name, entry)] = a
	}
	return nil
}

// writeScaler is the inverse.
func writeScaler(snap *checkpoint.Snapshot, name string) (*torchfile.Dict, error) {
	d := torchfile.NewOrderedDict()
	for _, entry := range layout.Statistics() {
		a, ok := snap.Arrays[layout.Statistic(name, entry)]
		if !ok || a.DType != checkpoint.F64 {
			return nil, fmt.Errorf("skrl: the snapshot's %s/%s is missing, or not of type F64", name, entry)
		}
		if entry == layout.CurrentCount {
			if a.Len() != 1 {
				return nil, fmt.Errorf("skrl: the snapshot's %s/%s has shape %v", name, entry, a.Shape)
			}
			a.Shape = []int64{}
		}
		d.Set(entry, torchfile.NewTensor(a))
	}
	return d, nil
}
