package infer

import (
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/models/description"
)

// step is one operation ready to run on results.
type step struct {
	description.Step
	in           []int // which results it reads
	weight, bias []float32
}

// step reads the arrays of step i.
func (p *Policy) step(snap *checkpoint.Snapshot, i int) (step, error) {
	s := step{Step: p.d.Network.Steps[i], in: p.d.Network.Sources(i)}
	if s.Op == description.Conv2d || s.Op == description.Permute {
		return s, fmt.Errorf("step %d is %s, which package infer does not compute", i+1, s.Op)
	}
	if s.Op != description.Linear {
		return s, nil
	}
	var err error
	if s.weight, err = p.weights(snap, s.Weight, int64(s.Outputs), int64(p.widths[s.in[0]])); err != nil {
		return s, err
	}
	if s.Bias != "" {
		s.bias, err = p.weights(snap, s.Bias, int64(s.Outputs))
	}
	return s, err
}

// forward passes n rows, at most p.block, through transforms, normalizer and network. The result is the policy's.
func (p *Policy) forward(rows []float32, n int) []float32 {
	row := p.results[0][:len(rows)]
	copy(row, rows)
	for _, t := range p.transforms {
		t.apply(row)
	}
	if p.scaler != nil {
		p.scaler.apply(row, row)
	}
	for i := range p.steps {
		p.run(&p.steps[i], i+1, n)
	}
	last := len(p.widths) - 1
	return p.results[last][:n*p.widths[last]]
}

// run computes n rows of result at.
func (p *Policy) run(s *step, at, n int) {
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
	case description.Softmax:
		for r := range n {
			softmax(x[r*v:(r+1)*v], y[r*w:(r+1)*w])
		}
	case description.Columns:
		for r := range n {
			copy(y[r*w:(r+1)*w], x[r*v+s.From:r*v+s.To])
		}
	case description.OneHot:
		clear(y)
		for r := range n {
			row := y[r*w:]
			for i, k := range s.Choices {
				if c := x[r*v+i]; c >= 0 && c < float32(k) && c == float32(int(c)) {
					row[int(c)] = 1
				}
				row = row[k:]
			}
		}
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
	default:
		copy(y, x)
		if s.Op == description.Activate {
			activate(s.Activation, y)
		} else {
			f := functions[s.Op]
			for i, x := range y {
				y[i] = float32(f(float64(x)))
			}
		}
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

// functions are the operations that change every value by a function.
var functions = map[string]func(x float64) float64{
	description.Neg: func(x float64) float64 { return -x },
	description.Exp: math.Exp,
	description.Abs: math.Abs,
	description.Sin: math.Sin,
	description.Cos: math.Cos,
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
