package amp

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tensor"
)

// windows finds the motion (M values) behind each latent in the observations. With latent_mode "calm" an update
// encodes that motion again. The latents are looked up among those that Latents returned last. An environment may
// keep a latent for longer than that, so windows also keeps the present latent of each environment with its motion.
type windows struct {
	size, width int         // L and M
	returned    motionOf    // what Latents returned last
	replaced    motionOf    // the environments' latents that the last Restore replaced
	latents     []float32   // (N, L), the present latent of each environment
	behind      []float32   // (N, M), the motion that each of latents encodes
	sent        tensor.Part // behind, in the transfer of the step being recorded
}

// motionOf maps latents, by their bytes, to the rows of motion (n, M) that they encode.
type motionOf struct {
	rows  []float32
	index map[string]int
}

// followWindows records the motion behind each step's latent in the rollout's field "windows".
func (a *learner) followWindows() {
	w := &windows{size: a.cfg.LatentSize, width: a.Spaces().AMPObservation.Width()}
	a.windows = w
	stage, record := a.StageRecord, a.AfterRecord
	a.StageRecord = func(t agents.Transition) (err error) {
		if err = stage(t); err == nil {
			w.sent, err = tensor.Put(a.Transfer, w.behind, int64(a.NumEnvs()), int64(w.width))
		}
		return err
	}
	a.AfterRecord = func(s *tensor.Scope) {
		record(s)
		w.sent.CopyTo(s, a.Rollout.Row("windows"))
	}
}

// table maps points (n, L) to the rows of motion (n, M) that they encode.
func (w *windows) table(points, rows []float32) motionOf {
	m := motionOf{rows, make(map[string]int, len(rows)/w.width)}
	var key []byte
	for i := range len(rows) / w.width {
		key = bytesOf(key, points[i*w.size:][:w.size])
		m.index[string(key)] = i
	}
	return m
}

// bytesOf writes a latent's bits into key.
func bytesOf(key []byte, z []float32) []byte {
	return append(key[:0], checkpoint.ArrayFloat32([]int64{int64(len(z))}, z).Data...)
}

// update stores the latents at the end of observations (N, O), and looks up the motion behind those that have changed.
// It returns the first environment whose latent is unknown, or -1 if all are known.
func (w *windows) update(observations []float32, n int) (unknown int) {
	if len(w.latents) != n*w.size {
		w.latents, w.behind = make([]float32, n*w.size), make([]float32, n*w.width)
	}
	unknown = -1
	var key []byte
	for i := range n {
		end := len(observations) / n * (i + 1)
		z, last := observations[end-w.size:end], w.latents[i*w.size:][:w.size]
		if slices.Equal(z, last) {
			continue
		}
		key = bytesOf(key, z)
		m := w.returned
		row, ok := m.index[string(key)]
		if !ok {
			m = w.replaced
			row, ok = m.index[string(key)]
		}
		switch {
		case ok:
			copy(last, z)
			copy(w.behind[i*w.width:], m.rows[row*w.width:][:w.width])
		case unknown < 0:
			unknown = i
		}
	}
	return unknown
}

// snapshot adds the environments' latents with the motion behind them, (N, L+M), to a snapshot with buffers.
func (w *windows) snapshot(snap *checkpoint.Snapshot) {
	if w == nil {
		return
	}
	n := len(w.latents) / w.size
	rows := make([]float32, 0, n*(w.size+w.width))
	for i := range n {
		rows = append(append(rows, w.latents[i*w.size:][:w.size]...), w.behind[i*w.width:][:w.width]...)
	}
	snap.Arrays[layout.ToldWindows] = checkpoint.ArrayFloat32([]int64{int64(n), int64(w.size + w.width)}, rows)
}

// restore reads the latents and their motion from a snapshot, and returns a function that applies them. The
// environments' present latents stay known: after a copy of another member (package pbt) the environments still show
// them.
func (w *windows) restore(snap *checkpoint.Snapshot) (apply func(), err error) {
	array, has := snap.Arrays[layout.ToldWindows]
	if w == nil || !has {
		if _, buffers := snap.Values[layout.Memories]; w != nil && buffers {
			return nil, fmt.Errorf("amp: the checkpoint's buffers have no %q, the motion behind latents: they are of "+
				"an earlier gorl's \"latent_mode\" \"calm\"; begin a run with the checkpoint's networks instead "+
				"(trainer.warm_start)", layout.ToldWindows)
		}
		return func() {}, nil
	}
	if len(array.Shape) != 2 || array.Shape[1] != int64(w.size+w.width) {
		return nil, fmt.Errorf("amp: the checkpoint's %q has shape %v, want (N, %d)", layout.ToldWindows, array.Shape,
			w.size+w.width)
	}
	rows, err := array.Float32s()
	if err != nil {
		return nil, fmt.Errorf("amp: the checkpoint's %q: %w", layout.ToldWindows, err)
	}
	return func() {
		var latents, motion []float32
		for row := range slices.Chunk(rows, w.size+w.width) {
			latents, motion = append(latents, row[:w.size]...), append(motion, row[w.size:]...)
		}
		w.replaced = w.table(w.latents, w.behind)
		w.latents, w.behind = latents, motion
	}, nil
}
