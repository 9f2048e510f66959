package skrl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// formerNames are the names of scalers in skrl 1.4, which says states for observations. skrl 2 has gorl's names.
var formerNames = map[string]string{layout.ObservationScaler: layout.StateScaler,
	layout.AMPObservationScaler: "amp_state_preprocessor"}

func hasScaler(s *checkpoint.Snapshot, name string) bool {
	_, ok := s.Arrays[layout.Statistic(name, layout.RunningMean)]
	return ok
}

// scaler returns the module of a scaler by its name in skrl 2 or 1.4, and its name in the file.
func (c *Checkpoint) scaler(like *checkpoint.Snapshot, name string) (*torchfile.Dict, string) {
	if name == layout.StateScaler && c.isOld(like) {
		return nil, ""
	}
	if d := c.Module(name); d != nil {
		return d, name
	}
	if former, ok := formerNames[name]; ok && (name != layout.ObservationScaler || c.isOld(like)) {
		return c.Module(former), former
	}
	return nil, ""
}

// isOld reports whether the file's state_preprocessor is that of skrl 1.4, which scales observations. A file without
// observation_preprocessor is taken for an old one if the agent has no scaler of states.
func (c *Checkpoint) isOld(like *checkpoint.Snapshot) bool {
	if c.Module(layout.ObservationScaler) != nil || c.Module(layout.StateScaler) == nil {
		return false
	}
	return c.Module("amp_state_preprocessor") != nil || !hasScaler(like, layout.StateScaler)
}

// readScaler sets a scaler's statistics in a snapshot.
func readScaler(snap *checkpoint.Snapshot, name, module string, d *torchfile.Dict) error {
	if d.Len() != len(layout.Statistics()) {
		return fmt.Errorf("skrl: %s: it has %d entries, a running scaler has %s", module, d.Len(),
			strings.Join(layout.Statistics(), ", "))
	}
	for _, entry := range layout.Statistics() {
		a, ok := at(d, entry).(checkpoint.Array)
		if !ok || a.DType != checkpoint.F64 {
			return fmt.Errorf("skrl: %s: its %s is not a tensor of float64", module, entry)
		}
		want := snap.Arrays[layout.Statistic(name, entry)]
		if a.Len() != want.Len() || len(a.Shape) > 1 && entry == layout.CurrentCount {
			return fmt.Errorf("skrl: %s: its %s has shape %v, the agent's %s %v; use a file of the same environment",
				module, entry, a.Shape, name, want.Shape)
		}
		a.Shape = slices.Clone(want.Shape) // skrl's count has no dimension, gorl's has one
		snap.Arrays[layout.Statistic(name, entry)] = a
	}
	return nil
}

// writeScaler is the inverse of readScaler.
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
		d.Set(entry, a)
	}
	return d, nil
}
