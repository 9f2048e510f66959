package infer

import (
	"sync"

	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// At most maxBlock rows are computed together, or fewer if their results would have more than maxResults values.
const (
	maxBlock   = 16
	maxResults = 1 << 22
)

// program is the part of a policy that clones share. It does not change once New has returned.
type program struct {
	d          description.Policy
	set        spaces.Set
	float32s   map[string][]float32 // what the description names
	float64s   map[string][]float64
	shapes     map[string][]int64 // of the former
	transforms []Transform
	scaler     *scaler
	steps      []step
	widths     []int // of the row and of every step's result
	size       int   // of an environment's state
	logStd     []float32
	block      int       // how many rows pass through together
	idle       sync.Pool // of *workspace
}

// workspace is the scratch memory of one call.
type workspace struct {
	*program
	results [][]float32 // block rows of each
	choice  []float32   // probabilities of one row, or log standard deviations
	patches []float32   // of the picture that is convolved
	scratch scratch     // of the recurrent step that is computed
	after   []float32   // the states after the step that is computed
}

// limitBlock computes the number of rows that are computed together.
func (p *program) limitBlock() {
	total := 0
	for _, w := range p.widths {
		total += w
	}
	for i := range p.steps {
		total += p.steps[i].values()
	}
	p.block = min(max(maxResults/total, 1), maxBlock)
}

// borrow returns a workspace from the pool, or a new one if the pool is empty. The caller returns it to p.idle.
func (p *program) borrow() *workspace {
	if w, ok := p.idle.Get().(*workspace); ok {
		return w
	}
	w := &workspace{program: p, results: make([][]float32, len(p.widths)),
		choice: make([]float32, p.d.Action.Outputs()),
		after:  make([]float32, p.block*p.size)}
	for i, width := range p.widths {
		w.results[i] = make([]float32, p.block*width)
	}
	for i := range p.steps {
		s := &p.steps[i]
		grow(&w.patches, s.tile*s.size)
		if s.recurrent != nil {
			w.scratch.grow(s, p.widths[s.in[0]], p.block)
		}
	}
	return w
}

// grow gives a slice room for n values. It does not keep the old values.
func grow(x *[]float32, n int) {
	if n > len(*x) {
		*x = make([]float32, n)
	}
}

// The methods that use the policy's states, as errors about overlapping calls name them.
var (
	callAct           exclusive.Method = "Act"
	callActBatch      exclusive.Method = "ActBatch"
	callActMasked     exclusive.Method = "ActMasked"
	callSample        exclusive.Method = "Sample"
	callOutputs       exclusive.Method = "Outputs"
	callLogStdAt      exclusive.Method = "LogStdAt"
	callProbabilities exclusive.Method = "Probabilities"
	callReset         exclusive.Method = "Reset"
)
