package infer

import (
	"math"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models/description"
)

// step is one operation ready to run on results.
type step struct {
	description.Step
	in           []int // which results it reads
	weight, bias []float32
	// tile is how many patches a Conv2d lays out at a time, and size how many values each has.
	tile, size int
	order      []int32 // of Permute
	recurrent  []layer // of a recurrent step, and from is where its states begin in a row of them
	from       int
}

// step reads the arrays of step i. from is where its states begin.
func (p *program) step(snap *checkpoint.Snapshot, i, from int) (step, error) {
	s := step{Step: p.d.Network.Steps[i], in: p.d.Network.Sources(i), from: from}
	var arrays [][]float32
	if len(s.in) > 0 {
		for _, a := range s.Arrays(p.widths[s.in[0]]) {
			v, err := p.weights(snap, a.Name, a.Shape...)
			if err != nil {
				return s, err
			}
			arrays = append(arrays, v)
		}
	}
	switch {
	case s.Op == description.Permute:
		s.order = order(s.Shape, s.Dims)
	case s.Recurrent():
		for ; len(arrays) > 0; arrays = arrays[4:] {
			s.recurrent = append(s.recurrent, layer{arrays[0], arrays[1], arrays[2], arrays[3]})
		}
	case len(arrays) > 0:
		s.weight = arrays[0]
		if len(arrays) > 1 {
			s.bias = arrays[1]
		}
		if s.Op == description.Conv2d {
			picture := s.Picture()
			s.size = len(s.weight) / s.Outputs
			s.tile = tiles(picture[1]*picture[2], s.size)
		}
	}
	return s, nil
}

// forward passes n rows, at most p.block, through transforms, normalizer and network. The result is the workspace's.
// hidden has their states before the step, after receives those after it.
func (p *workspace) forward(rows []float32, n int, hidden, after []float32) []float32 {
	row := p.results[0][:len(rows)]
	copy(row, rows)
	for _, t := range p.transforms {
		t.apply(row)
	}
	if p.scaler != nil {
		p.scaler.apply(row, row)
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.recurrent == nil {
			p.run(s, i+1, n)
			continue
		}
		from := s.in[0]
		p.recur(s, p.results[from][:n*p.widths[from]], p.results[i+1][:n*p.widths[i+1]], hidden, after, n)
	}
	last := len(p.widths) - 1
	return p.results[last][:n*p.widths[last]]
}

// run computes n rows of result at.
func (p *workspace) run(s *step, at, n int) {
	w := p.widths[at]
	y := p.results[at][:n*w]
	if s.Op == description.Number {
		for i := range y {
			y[i] = float32(s.Number)
		}
		return
	}
	v := p.widths[s.in[0]]
	x := p.results[s.in[0]][:n*v]
	switch s.Op {
	case description.Linear:
		linear(x, s.weight, s.bias, y, n)
		activate(s.Activation, y)
	case description.Conv2d:
		p.conv(s, x, y, n)
	case description.Permute:
		each(x, y, n, func(x, y []float32) {
			for i, at := range s.order {
				y[i] = x[at]
			}
		})
	case description.LayerNorm:
		each(x, y, n, s.layerNorm)
	case description.Softmax:
		each(x, y, n, softmax)
	case description.Columns:
		each(x, y, n, func(x, y []float32) { copy(y, x[s.From:s.To]) })
	case description.OneHot:
		clear(y)
		each(x, y, n, func(x, y []float32) {
			for i, k := range s.Choices {
				if c := x[i]; c >= 0 && c < float32(k) && c == float32(int(c)) {
					y[int(c)] = 1
				}
				y = y[k:]
			}
		})
	case description.Concatenate:
		column := 0
		for _, j := range s.in {
			v := p.widths[j]
			for r := range n {
				copy(y[r*w+column:], p.results[j][r*v:(r+1)*v])
			}
			column += v
		}
	case description.Add, description.Sub, description.Mul, description.Div:
		combine(s.Op, x, p.results[s.in[1]], y, v, p.widths[s.in[1]], w)
	case description.Activate:
		copy(y, x)
		activate(s.Activation, y)
	default:
		copy(y, x)
		activate(s.Op, y)
	}
}

// each calls f with each of n rows of x and of y.
func each(x, y []float32, n int, f func(x, y []float32)) {
	for v, w := len(x)/n, len(y)/n; len(x) > 0; x, y = x[v:], y[w:] {
		f(x[:v], y[:w])
	}
}

// layerNorm standardises a row by its own mean and biased variance, and scales and shifts the result.
func (s *step) layerNorm(x, y []float32) {
	sum, square := 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		square += (float64(v) - mean) * (float64(v) - mean)
	}
	scale := 1 / math.Sqrt(square/float64(len(x))+description.LayerNormEpsilon)
	for i, v := range x {
		y[i] = float32((float64(v)-mean)*scale)*s.weight[i] + s.bias[i]
	}
}

// combine computes rows of x and z, of width v and u, one of which may be 1, into y of width w.
func combine(op string, x, z, y []float32, v, u, w int) {
	for i := range y {
		r, c := i/w, i%w
		a, b := x[r*v+min(c, v-1)], z[r*u+min(c, u-1)]
		switch op {
		case description.Add:
			y[i] = a + b
		case description.Sub:
			y[i] = a - b
		case description.Mul:
			y[i] = a * b
		default:
			y[i] = a / b
		}
	}
}

// softmax computes that of one row.
func softmax(x, y []float32) {
	top := x[argmax(x)]
	sum := 0.0
	for i, v := range x {
		e := math.Exp(float64(v - top))
		sum += e
		y[i] = float32(e)
	}
	for i := range y {
		y[i] = float32(float64(y[i]) / sum)
	}
}
