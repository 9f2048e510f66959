package infer

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/models/description"
)

// HiddenSize is the number of values that the policy remembers from step to step: the states of its recurrent layers
// side by side. It is 0 if there are none, and then what [Policy.Act] computes depends on the observation alone.
func (p *Policy) HiddenSize() int { return p.size }

// Reset sets the states of the given environments to zero, or of all environments if none is given. Row i of
// [Policy.ActBatch] is environment i, and the row of [Policy.Act] is environment 0. Call Reset for every environment
// whose episode has ended, by termination or truncation, before the next action. An environment that has not acted
// yet starts from zeros. For a policy without recurrent layers Reset does nothing. Reset returns an error only if it
// overlaps with another call; the states are then unchanged.
func (p *Policy) Reset(environments ...int) error {
	if p.size == 0 {
		return nil
	}
	if err := p.guard.Enter(&callReset); err != nil {
		return err
	}
	defer p.guard.Leave()
	if len(environments) == 0 {
		clear(p.hidden)
	}
	for _, i := range environments {
		if at := i * p.size; at < len(p.hidden) {
			clear(p.hidden[at : at+p.size])
		}
	}
	return nil
}

// ActHidden is [Policy.ActBatch] with states that the caller keeps: hidden has one row of [Policy.HiddenSize] values
// for each observation, the states before the step, and receives those after it. Zeros begin an episode. The policy's
// own states stay as they are, and any number of goroutines may call ActHidden at once. After an error hidden is as
// it was.
func (p *Policy) ActHidden(observations, hidden, actions []float32) error {
	return p.actHidden(observations, nil, hidden, actions)
}

// actHidden is ActHidden with action masks, which are empty if the policy was trained without.
func (p *Policy) actHidden(observations, masks, hidden, actions []float32) error {
	n := len(observations) / p.widths[0]
	if err := p.check(observations, actions, n, p.d.Action.Width(), "an action"); err != nil {
		return err
	}
	if err := p.checkMasks(masks, n); err != nil {
		return err
	}
	if len(hidden) != n*p.size {
		return fmt.Errorf("infer: %d values of states; want %d for each of %d observations", len(hidden), p.size, n)
	}
	if i := number.FirstNonFinite(hidden); i >= 0 {
		return fmt.Errorf("infer: value %d of the states is %g: %w; zeros begin an episode", i, hidden[i], ErrNotFinite)
	}
	w := p.borrow()
	defer p.idle.Put(w)
	return w.act(observations, hidden, actions, masks)
}

// states are the policy's own, of n environments.
func (p *Policy) states(n int) []float32 {
	size := n * p.size
	if more := size - len(p.hidden); more > 0 {
		p.hidden = append(p.hidden, make([]float32, more)...)
	}
	return p.hidden[:size]
}

// recur computes n rows of a recurrent step. hidden has the whole states of the rows before the step, after receives
// those after it; a step with frames has none.
func (p *workspace) recur(s *step, x, y, hidden, after []float32, n int) {
	width, layers := s.Outputs, len(s.recurrent)
	h, c := p.scratch.h[:n*layers*width], p.scratch.c[:n*layers*width] // layer by layer, each of n rows
	clear(h)
	clear(c)
	frames := max(1, s.Frames)
	if s.Frames == 0 {
		p.visit(s, hidden, n, func(row, own []float32) { copy(own, row) })
	}
	in := len(x) / n / frames
	for f := range frames {
		below := x
		if s.Frames > 0 {
			below = p.scratch.x[:n*in]
			for r := range n {
				copy(below[r*in:(r+1)*in], x[(r*frames+f)*in:])
			}
		}
		for k, l := range s.recurrent {
			at := k * n * width
			p.cell(s, l, below, h[at:at+n*width], c[at:at+n*width], n)
			below = h[at : at+n*width]
		}
	}
	copy(y, h[(layers-1)*n*width:])
	if s.Frames == 0 {
		p.visit(s, after, n, func(row, own []float32) { copy(row, own) })
	}
}

// visit pairs the step's part of n rows of states with the room for it: for every row and layer the h, and for an LSTM
// the c.
func (p *workspace) visit(s *step, rows []float32, n int, do func(row, own []float32)) {
	width, layers := s.Outputs, len(s.recurrent)
	for r := range n {
		row := rows[r*p.size+s.from:]
		for k := range layers {
			own := (k*n + r) * width
			do(row[k*width:(k+1)*width], p.scratch.h[own:own+width])
			if s.Op == description.LSTM {
				do(row[(layers+k)*width:(layers+k+1)*width], p.scratch.c[own:own+width])
			}
		}
	}
}

// values is how many values of scratch a row of the step needs.
func (s *step) values() int { return 2 * (len(s.recurrent) + s.Gates()) * s.Outputs }

// layer are the arrays of one recurrent layer.
type layer struct{ weightIn, weightHidden, biasIn, biasHidden []float32 }

// scratch is room for one recurrent step: its states, one frame of its rows, and what the weights make of the rows and
// of the states.
type scratch struct{ h, c, x, ofInput, ofHidden []float32 }

// grow makes room for n rows of a step that reads rows of the given width.
func (r *scratch) grow(s *step, in, n int) {
	grow(&r.h, n*len(s.recurrent)*s.Outputs)
	grow(&r.c, n*len(s.recurrent)*s.Outputs)
	grow(&r.x, n*in/max(1, s.Frames))
	grow(&r.ofInput, n*s.Gates()*s.Outputs)
	grow(&r.ofHidden, n*s.Gates()*s.Outputs)
}

// cell takes n rows of one layer a step further: h, and for an LSTM c, become the states after it.
func (p *workspace) cell(s *step, l layer, x, h, c []float32, n int) {
	width, g := s.Outputs, s.Gates()
	a, b := p.scratch.ofInput[:n*g*width], p.scratch.ofHidden[:n*g*width]
	linear(x, l.weightIn, l.biasIn, a, n)
	linear(h, l.weightHidden, l.biasHidden, b, n)
	for r := range n {
		a, b := a[r*g*width:(r+1)*g*width], b[r*g*width:(r+1)*g*width]
		h, c := h[r*width:(r+1)*width], c[r*width:(r+1)*width]
		sum := func(gate, i int) float64 { return float64(a[gate*width+i] + b[gate*width+i]) }
		for i := range h {
			switch s.Op {
			case description.RNN:
				h[i] = float32(math.Tanh(sum(0, i)))
			case description.GRU:
				reset, update := sigmoid(sum(0, i)), sigmoid(sum(1, i))
				fresh := math.Tanh(float64(a[2*width+i]) + reset*float64(b[2*width+i]))
				h[i] = float32((1-update)*fresh + update*float64(h[i]))
			case description.LSTM:
				next := sigmoid(sum(1, i))*float64(c[i]) + sigmoid(sum(0, i))*math.Tanh(sum(2, i))
				c[i] = float32(next)
				h[i] = float32(sigmoid(sum(3, i)) * math.Tanh(next))
			}
		}
	}
}
