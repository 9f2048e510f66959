package amp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/models"
)

// Snapshot implements [agents.Snapshotter]. With buffers the snapshot also holds the counts of steps with a low style
// reward and the motion behind latents.
func (a *learner) Snapshot(opt agents.SnapshotOptions) (*checkpoint.Snapshot, error) {
	snap, err := a.Parts.Snapshot(opt)
	if err == nil && opt.Buffers {
		a.termination.snapshot(snap)
		a.windows.snapshot(snap)
	}
	return snap, err
}

// Restore implements [agents.Snapshotter].
func (a *learner) Restore(snap *checkpoint.Snapshot) error {
	if err := a.checkEncoder(snap); err != nil {
		return err
	}
	applyCounts, err := a.termination.restore(snap, a.NumEnvs())
	if err != nil {
		return err
	}
	applyWindows, err := a.windows.restore(snap)
	if err != nil {
		return err
	}
	if err := a.Parts.Restore(snap); err != nil {
		return err
	}
	a.motionLatents = nil
	applyCounts()
	applyWindows()
	return nil
}

// checkEncoder refuses a snapshot if one of the two encoders, the snapshot's and this agent's, shares the
// discriminator's hidden layers and the other does not.
func (a *learner) checkEncoder(snap *checkpoint.Snapshot) error {
	if a.encoder == nil {
		return nil
	}
	branches, others := false, 0
	for name := range snap.Arrays {
		if part, found := strings.CutPrefix(name, layout.Parameter(layout.Encoder, "")); found {
			if part == models.BranchWeight {
				branches = true
			} else if part != models.BranchBias {
				others++
			}
		}
	}
	switch shares := models.IsBranch(a.encoder); {
	case shares && others > 0:
		return fmt.Errorf("amp: the checkpoint's encoder is a network of its own (%d parameters), and this agent's "+
			"shares the discriminator's hidden layers: make the models by amp.WithSeparateEncoder, with the "+
			"checkpoint's layers", others)
	case !shares && branches:
		return errors.New("amp: the checkpoint's encoder shares the discriminator's hidden layers, and this agent's " +
			"is a network of its own: make the models by amp.WithEncoder")
	}
	return nil
}
