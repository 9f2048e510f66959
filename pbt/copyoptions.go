package pbt

import (
	"fmt"
	"slices"
)

// CopyOptions says what a replaced member takes over beside the weights. The zero value copies everything. It works on
// snapshots of gorl's agents and trainers, by the names of their arrays and values; what other trainees put into a
// snapshot is always copied. A member that failed or diverged has nothing that is worth keeping: it is given the
// source's where KeepPart says otherwise.
type CopyOptions struct {
	// Optimizer is CopyPart, KeepPart (the member's own moments and step counts), ResetPart (no moments, step counts 0)
	// or DecayPart (the source's moments times MomentDecay, and its step counts).
	Optimizer Part
	// MomentDecay is above 0, at most 1, and used by DecayPart only.
	MomentDecay float64
	// Normalizers are the running scalers: CopyPart or KeepPart. Weights that were trained behind other scalers
	// seldom work, so KeepPart is for experiments.
	Normalizers Part
	// Schedule is the learning-rate schedule's state: CopyPart, KeepPart or ResetPart (its beginning). The learning rate
	// that it scales is the one that the member has afterwards in any case.
	Schedule Part
	// Environment is the state of environments and curricula: CopyPart or KeepPart. It needs trainers that save it (see
	// trainers.Config.SaveBuffers); what a snapshot does not have stays as it is.
	Environment Part
	// Buffers are replay memories and rollouts in progress: CopyPart or KeepPart. A rollout goes on only in the
	// environment that it began in: where just one of Buffers and Environment is kept, a new one is begun.
	Buffers Part
}

// Part says what becomes of a part of a snapshot.
type Part string

// What can become of a part. The zero value is CopyPart.
const (
	CopyPart  Part = "copy"
	KeepPart  Part = "keep"
	ResetPart Part = "reset"
	DecayPart Part = "decay"
)

// validate refuses what makes no sense.
func (c CopyOptions) validate() error {
	for _, field := range []struct {
		name    string
		part    Part
		allowed []Part
	}{
		{"Optimizer", c.Optimizer, []Part{CopyPart, KeepPart, ResetPart, DecayPart}},
		{"Normalizers", c.Normalizers, []Part{CopyPart, KeepPart}},
		{"Schedule", c.Schedule, []Part{CopyPart, KeepPart, ResetPart}},
		{"Environment", c.Environment, []Part{CopyPart, KeepPart}},
		{"Buffers", c.Buffers, []Part{CopyPart, KeepPart}},
	} {
		if field.part != "" && !slices.Contains(field.allowed, field.part) {
			return fmt.Errorf("pbt: Copy.%s is %q; give one of %q", field.name, field.part, field.allowed)
		}
	}
	switch decays := c.Optimizer == DecayPart; {
	case decays && !(c.MomentDecay > 0 && c.MomentDecay <= 1):
		return fmt.Errorf("pbt: Copy.MomentDecay is %v; give a factor above 0, at most 1, or make Optimizer %q to have no moments", c.MomentDecay, ResetPart)
	case !decays && c.MomentDecay != 0:
		return fmt.Errorf("pbt: Copy.MomentDecay is %v, but Copy.Optimizer is %q; make that %q, or leave MomentDecay out", c.MomentDecay, c.Optimizer, DecayPart)
	}
	return nil
}
