// Package agenttest lets tests drive agents without an environment: a small world with episodes of every kind of end,
// and comparisons of agents down to the last bit.
package agenttest

import (
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/agents"
	// GORL_TEST_DEVICE=1 runs what drives agents on the emulated device
	_ "github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/spaces"
)

// World is N independent environments whose rows depend on nothing but their own seed and actions: row i of a world
// with seeds s is row 0 of a world with the one seed s[i].
type World struct {
	sp    spaces.Set
	pcgs  []*rand.PCG
	now   agents.Observation
	Ended int // episodes that have ended
	// Last is what the last Step returned.
	Last agents.Transition
}

// NewWorld starts one environment a seed.
func NewWorld(sp spaces.Set, seeds ...int64) *World {
	w := &World{sp: sp}
	for _, seed := range seeds {
		w.pcgs = append(w.pcgs, rand.NewPCG(uint64(seed), 1))
	}
	n := len(seeds)
	w.now.Observations = make([]float32, n*sp.Observation.Width())
	if sp.State.Width() > 0 {
		w.now.States = make([]float32, n*sp.State.Width())
	}
	for i := range seeds {
		w.begin(i)
	}
	w.now.ActionMasks = Masks(sp, w.now.Observations)
	return w
}

// Masks returns action masks (n, K) that depend on observations (n, O) alone, nil without an action mask space. About a
// third of all choices is forbidden.
func Masks(sp spaces.Set, observations []float32) []float32 {
	o := sp.Observation.Width()
	masks := sp.ActionMask.Rows(len(observations) / o)
	row := masks
	for i := 0; len(row) > 0; i++ {
		x := int(math.Float32bits(observations[i*o]) >> 8)
		for _, choices := range sp.Action.NVec {
			for k := range choices {
				if (x+k)%3 != 0 {
					row[k] = 1
				}
			}
			row[(x/3)%choices] = 1
			row, x = row[choices:], x/5
		}
	}
	return masks
}

// Seeds returns n seeds from first on.
func Seeds(first int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = first + int64(i)
	}
	return out
}

// Clone returns a world that goes on like this one.
func (w *World) Clone() *World {
	out := &World{sp: w.sp, Ended: w.Ended}
	for _, p := range w.pcgs {
		c := *p
		out.pcgs = append(out.pcgs, &c)
	}
	out.now = agents.Observation{Observations: append([]float32(nil), w.now.Observations...),
		States: append([]float32(nil), w.now.States...), ActionMasks: append([]float32(nil), w.now.ActionMasks...)}
	return out
}

// Now is what to act on.
func (w *World) Now() agents.Observation { return w.now }

// toBytes makes whole numbers from 0 to 255 of the columns of a row that are uint8; a number of 0 is 128 then.
func toBytes(sp spaces.Space, x []float32) {
	for _, run := range sp.Runs() {
		for j := run.From; run.DType == spaces.Uint8 && j < run.To; j++ {
			x[j] = float32(uint8(min(max(128+40*x[j], 0), 255)))
		}
	}
}

// numbers undoes toBytes, but for the rounding.
func numbers(sp spaces.Space, x []float32) {
	for _, run := range sp.Runs() {
		for j := run.From; run.DType == spaces.Uint8 && j < run.To; j++ {
			x[j] = (x[j] - 128) / 40
		}
	}
}

func row(rows []float32, i, width int) []float32 { return rows[i*width : (i+1)*width] }

func (w *World) begin(i int) {
	r := rand.New(w.pcgs[i])
	for _, rows := range []struct {
		v  []float32
		of spaces.Space
	}{{w.now.Observations, w.sp.Observation}, {w.now.States, w.sp.State}} {
		x := row(rows.v, i, rows.of.Width())
		for j := range x {
			x[j] = float32(r.NormFloat64())
		}
		toBytes(rows.of, x)
	}
}

// Reset starts new episodes in all environments.
func (w *World) Reset() {
	for i := range w.pcgs {
		w.begin(i)
	}
	w.now.ActionMasks = Masks(w.sp, w.now.Observations)
}

// Step applies actions (N, A). An episode ends in about one step of six: by termination, truncation, or both at once.
// The reward is greatest where the first action is the first observation.
func (w *World) Step(actions []float32) agents.Transition {
	n, o, a, m := len(w.pcgs), w.sp.Observation.Width(), w.sp.Action.Width(), w.sp.AMPObservation.Width()
	t := agents.Transition{Rewards: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n)}
	if m > 0 {
		t.AMPObservations = make([]float32, n*m)
	}
	ended := false
	final := append([]float32(nil), w.now.Observations...)
	finalStates := append([]float32(nil), w.now.States...)
	for i := range n {
		r := rand.New(w.pcgs[i])
		x, act := row(w.now.Observations, i, o), row(actions, i, a)
		numbers(w.sp.Observation, x)
		d := act[0] - x[0]
		t.Rewards[i] = 1 - d*d
		for j := range x {
			x[j] = 0.8*x[j] + 0.2*act[j%a] + 0.3*float32(r.NormFloat64())
		}
		if s := row(w.now.States, i, w.sp.State.Width()); len(s) > 0 {
			for j := range s {
				s[j] = x[j%o] + 0.1*float32(j)
			}
			toBytes(w.sp.State, s)
			copy(row(finalStates, i, len(s)), s)
		}
		for j := range m {
			t.AMPObservations[i*m+j] = x[j%o] + 0.5*act[j%a]
		}
		if m > 0 {
			toBytes(w.sp.AMPObservation, row(t.AMPObservations, i, m))
		}
		toBytes(w.sp.Observation, x)
		copy(row(final, i, o), x)
		switch k := r.IntN(18); k {
		case 0:
			t.Terminated[i] = true
		case 1:
			t.Truncated[i] = true
		case 2:
			t.Terminated[i], t.Truncated[i] = true, true
		default:
			continue
		}
		ended = true
		w.Ended++
		w.begin(i)
	}
	w.now.ActionMasks = Masks(w.sp, w.now.Observations)
	t.NextObservations = append([]float32(nil), w.now.Observations...)
	t.NextStates = append([]float32(nil), w.now.States...)
	if ended {
		t.FinalObservations, t.FinalStates = final, finalStates
	}
	w.Last = t
	return t
}

// Motion is a source of reference motion: rows of the given width around a mean.
type Motion struct {
	Width int
	Mean  float64
	Calls int
	// Space, where given, has the columns that are uint8.
	Space spaces.Space
}

// CollectReferenceMotions returns n rows.
func (m *Motion) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	m.Calls++
	out := make([]float32, n*m.Width)
	for i := range out {
		out[i] = float32(m.Mean + 0.5*rng.NormFloat64())
	}
	for i := 0; m.Space.Kind != spaces.None && i < n; i++ {
		toBytes(m.Space, row(out, i, m.Width))
	}
	return out, nil
}
