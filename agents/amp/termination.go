package amp

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/tensor"
)

// With termination_style_reward an episode ends if its style reward has been low for termination_steps steps in a row
// (ProtoMotions). A character that lies on the ground shows the discriminator nothing new. Its next episode begins in a
// better pose.

// termination counts consecutive steps with a low style reward, per environment.
type termination struct {
	// (N), whether a count ends with the step being recorded: its episode does, or it shows no transition
	over  []bool
	style []float32 // (N), the style rewards of the step recorded last
	poor  []int64   // (N), the counts
	ends  []bool    // (N), what Terminations returns
}

// countPoorSteps lets Record count steps with a low style reward.
func (a *learner) countPoorSteps() {
	stage, record := a.StageRecord, a.AfterRecord
	w := &termination{}
	a.termination = w
	a.StageRecord = func(t agents.Transition) error {
		w.allocate(a.NumEnvs())
		for i := range w.over {
			w.over[i] = t.Terminated[i] || t.Truncated[i] || len(t.Invalid) > 0 && t.Invalid[i]
		}
		return stage(t)
	}
	a.AfterRecord = func(s *tensor.Scope) {
		record(s)
		rows := a.scaled(s, a.rows.Float32(s, a.Rollout.Row("amp_observations")))
		style := a.styleReward(s, a.logits(s, concatLatents(s, rows, a.conditionOf(s, a.Rollout.Row("observations")))))
		if s.Err() == nil {
			s.Fail(tensor.Read(style, w.style))
		}
		if s.Err() != nil {
			return
		}
		for i, x := range w.style {
			if w.poor[i]++; w.over[i] || !(float64(x) < a.cfg.TerminationStyleReward) {
				w.poor[i] = 0
			}
		}
	}
}

// allocate makes the rows of n environments, once.
func (w *termination) allocate(n int) {
	if len(w.poor) != n {
		w.over, w.ends = make([]bool, n), make([]bool, n)
		w.style, w.poor = make([]float32, n), make([]int64, n)
	}
}

// Terminates implements [agents.Terminator]: it reports whether termination_style_reward is set.
func (a *Agent) Terminates() bool { return a.learner.termination != nil }

// Terminations implements [agents.Terminator]: it names the environments whose style reward has been below
// termination_style_reward in the last termination_steps steps of the episode.
func (a *Agent) Terminations() (ends []bool) {
	onpolicy.TryDo(a.serial, new(exclusive.Method("Terminations")), func() {
		if l := a.learner; l.termination != nil && l.Training() {
			ends = l.termination.ends
			for i, n := range l.termination.poor {
				ends[i] = n >= int64(l.cfg.TerminationSteps)
			}
		}
	})
	return ends
}

// ResetHidden implements [agents.Recurrent]. In training it also resets the counts of poor steps.
func (a *learner) ResetHidden(environments ...int) {
	a.Parts.ResetHidden(environments...)
	if a.termination == nil || !a.Training() {
		return
	}
	for i := range a.termination.poor {
		if len(environments) == 0 || slices.Contains(environments, i) {
			a.termination.poor[i] = 0
		}
	}
}

// snapshot adds the counts of poor steps to a snapshot with buffers.
func (w *termination) snapshot(snap *checkpoint.Snapshot) {
	if w != nil {
		snap.Arrays[layout.PoorSteps] = checkpoint.ArrayInt64([]int64{int64(len(w.poor))}, w.poor)
	}
}

// restore reads the counts of poor steps of n environments from a snapshot, and returns a function that applies them.
// If the snapshot has none, or those of another number of environments, the counts start from 0.
func (w *termination) restore(snap *checkpoint.Snapshot, n int) (apply func(), err error) {
	if w == nil {
		return func() {}, nil
	}
	counts := make([]int64, n)
	if array, ok := snap.Arrays[layout.PoorSteps]; ok && slices.Equal(array.Shape, []int64{int64(len(counts))}) {
		if counts, err = array.Int64s(); err == nil && slices.ContainsFunc(counts,
			func(n int64) bool { return n < 0 }) {
			err = fmt.Errorf("they are %d", counts)
		}
		if err != nil {
			return nil, fmt.Errorf("amp: the checkpoint's %q, numbers of steps: %w", layout.PoorSteps, err)
		}
	}
	return func() {
		w.allocate(len(counts))
		copy(w.poor, counts)
	}, nil
}
