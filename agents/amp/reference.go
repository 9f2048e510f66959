package amp

import (
	"fmt"

	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/tensor"
)

// collect adds n rows of reference motion to the motion dataset, where they replace the oldest: those that were fetched
// before the update, or else new ones of the source. With differences there are none to collect.
func (a *learner) collect(s *tensor.Scope, n int) error {
	if a.cfg.differential() {
		return nil
	}
	rows := a.Fetched
	if rows == nil {
		var err error
		if rows, err = a.reference(n); err != nil {
			return err
		}
	}
	transfer := tensor.NewTransfer(a.Device) // not the agent's, which may have the next observations
	defer transfer.Close()
	var sent tensor.Part
	var err error
	if a.cfg.calm() { // pairs, (n, 2M)
		width := 2 * a.Spaces().AMPObservation.Width()
		sent, err = tensor.Put(transfer, rows, int64(len(rows)/width), int64(width))
	} else {
		sent, err = a.rows.Stage(transfer, rows)
	}
	if err != nil {
		return fmt.Errorf("amp: reference motion: %w", err)
	}
	transfer.Send(s)
	a.motionSet.Add(s, sent.Tensor(s))
	return s.Err()
}

// reference asks the source for n rows of reference motion, with latent_mode "calm" for n pairs of rows, and checks
// them.
func (a *learner) reference(n int) ([]float32, error) {
	space, each, unit, method := a.Spaces().AMPObservation, 1, "rows", "CollectReferenceMotions"
	collect := a.source.CollectReferenceMotions
	if a.cfg.calm() { // checkCALM has checked the type
		each, unit, method = 2, "pairs of rows", "CollectOverlappingMotions"
		collect = a.source.(OverlappingMotionSource).CollectOverlappingMotions
	}
	var rows []float32
	err := panics.Guard(fmt.Sprintf("the source (%T)", a.source), func() (err error) {
		rows, err = collect(n, a.Rng)
		return err
	})
	if err == nil && len(rows) != n*each*space.Width() {
		err = fmt.Errorf("%s(%d) returned %d values, want %d %s of the AMP observation space's %d", method, n,
			len(rows), n, unit, space.Width())
	}
	if err == nil {
		err = space.Check(rows, n*each)
	}
	if err != nil {
		return nil, fmt.Errorf("amp: reference motion: %w", err)
	}
	return rows, nil
}

// keepMotions copies the n rows of the motion dataset that the update's collect will replace, so that a rollback can
// put them back.
func (a *learner) keepMotions(s *tensor.Scope, n int64) {
	m := a.motionSet
	if m == nil {
		return
	}
	length, next := m.Len(), m.Next()
	n = min(n, m.Capacity())
	first := min(n, m.Capacity()-next) // the others are at the beginning of the circle
	a.Keep(s, s.Narrow(m.Data(), 0, next, first), s.Narrow(m.Data(), 0, 0, n-first))
	a.OnRollback(func(undo *tensor.Scope) { undo.Fail(m.SetCursor(length, next)) })
}
