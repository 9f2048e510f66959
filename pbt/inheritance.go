package pbt

import "github.com/gorl-dev/gorl/checkpoint"

// Inheritance says what a replaced member takes over beside the weights. The zero value copies everything. It works on
// snapshots of gorl's agents and trainers, by the names of their arrays; what other trainees put into a snapshot is
// always copied.
type Inheritance struct {
	// Optimizer is CopyPart, KeepPart (the member's own moments), ResetPart (no moments, step count 0) or DecayPart
	// (the source's moments times MomentDecay).
	Optimizer Part
	// MomentDecay is from 0 to 1 and used by DecayPart only.
	MomentDecay float64
	// Normalizers are the running scalers: CopyPart or KeepPart. Weights that were trained behind other scalers
	// seldom work, so KeepPart is for experiments.
	Normalizers Part
	// Schedule is the learning-rate schedule's state: CopyPart, KeepPart or ResetPart.
	Schedule Part
	// Environment is the state of environments and curricula: CopyPart or KeepPart.
	Environment Part
	// Buffers are replay memories and rollouts in progress: CopyPart or KeepPart.
	Buffers Part
}

func (h Inheritance) validate() error { return nil }

func (h Inheritance) combine(source, own *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	return source, nil
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
