package amp

import (
	"fmt"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/tensor"
)

// With latent_mode "calm" an update encodes again the motion behind each latent that the policy was told. windows
// knows it by the latents that Latents returned last. A latent may be held for longer than these last, so that the
// motion behind those that environments show is kept.
type windows struct {
	size, width int         // L and M
	shown       motionOf    // what Latents returned last
	before      motionOf    // what the environments showed when a snapshot was restored
	latents     []float32   // (N, L), what each environment showed last
	behind      []float32   // (N, M), the motion that it is the encoding of
	sent        tensor.Part // behind, in the transfer of the step being recorded
}

// motionOf has rows of motion (n, M), and which of them a latent encodes, by the latent's bytes.
type motionOf struct {
	rows  []float32
	index map[string]int
}

// followWindows lets the rollout have the motion behind each step's latent, its field "windows".
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

// table returns what finds the rows (n, M) behind points (n, L), their encodings.
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

// look notes the latents at the end of observations (N, O), and the motion behind those that are new. It returns the
// first environment whose latent it does not know, -1 where it knows all.
func (w *windows) look(observations []float32, n int) (unknown int) {
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
		m := w.shown
		row, ok := m.index[string(key)]
		if !ok {
			m = w.before
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

// Act implements [agents.Agent]. In training with latent_mode "calm" it refuses latents that Latents has not returned:
// the encoder learns from the motion behind them.
func (a *learner) Act(in agents.Observation) ([]float32, error) {
	w, rows, width := a.windows, len(in.Observations), a.Spaces().Observation.Width()
	if w == nil || !a.Training() || rows == 0 || rows%width != 0 || a.NumEnvs() > 0 && rows != a.NumEnvs()*width {
		return a.Core.Act(in) // which refuses what has another number of rows
	}
	if i := w.look(in.Observations, rows/width); i >= 0 {
		return nil, fmt.Errorf("amp: the last %d values of environment %d's observation are a latent that Agent.Latents has "+
			"not returned since the last update; \"latent_mode\" \"calm\" learns from the motion behind each latent: give "+
			"wrappers.Skills that source, skills.SetSource(agent.Latents)", w.size, i)
	}
	return a.Core.Act(in)
}

// Record implements [agents.Agent]. The latents that come next are looked up before an update makes another table.
func (a *learner) Record(t agents.Transition) error {
	err := a.Core.Record(t)
	if err == nil && a.windows != nil && a.Training() {
		a.windows.look(t.NextObservations, a.NumEnvs())
	}
	return err
}

// snapshot adds what the environments show, latents with the motion behind them, (N, L+M), to a snapshot with buffers.
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

// restore reads them, and returns what puts them back. What the environments show now stays known: they are not those
// of the snapshot where it is another member's (package pbt).
func (w *windows) restore(snap *checkpoint.Snapshot) (apply func(), err error) {
	array, has := snap.Arrays[layout.ToldWindows]
	if w == nil || !has {
		if _, buffers := snap.Values[layout.Memories]; w != nil && buffers {
			return nil, fmt.Errorf("amp: the checkpoint's buffers have no %q, the motion behind latents: they are of an "+
				"earlier gorl's \"latent_mode\" \"calm\"; begin a run with the checkpoint's networks instead "+
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
		w.before = w.table(w.latents, w.behind)
		w.latents, w.behind = latents, motion
	}, nil
}
