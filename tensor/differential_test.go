package tensor_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

var (
	seed     = flag.Uint64("seed", 1, "seed of the random cases of TestDifferential")
	cases    = flag.Int("cases", 100, "random cases of each operation of TestDifferential; -short takes a quarter")
	onlyCase = flag.Int("case", -1, "the number of the only case that TestDifferential runs")
)

// TestDifferential computes random cases of every operation in float32, which gorl's engine does where it can, and in
// float64, which libtorch does by separate operations, and compares results, gradients and refusals. A few operations
// have a reference in Go. A failure prints the command that repeats its case.
func TestDifferential(t *testing.T) {
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			tensortest.CheckLive(t)
			w, n := &worst{}, *cases
			if testing.Short() {
				n /= 4
			}
			defer tensor.SetThreads(tensor.Threads())
			for i := range n {
				if *onlyCase < 0 || i == *onlyCase {
					if slices.Contains(split, op.name) { // rarely another number, because libtorch restarts its threads
						tensor.SetThreads(1 + i/64%3)
					}
					runCase(t, op, i, w)
				}
			}
			t.Logf("%d cases: worst error %.2g ε at %s (bound %g ε); %d values, "+
				"%d gradients, %d replays compared, %d refusals",
				n, w.error, w.at, op.bound, w.values, w.gradients, w.replays, w.refusals)
			if slices.Contains(replayed, op.name) && *onlyCase < 0 && os.Getenv("GORL_ENGINE") != "torch" {
				must.Is(t, w.replays > 0, true, "cases were recorded and replayed")
			}
		})
	}
}

// operations are all operations that TestDifferential draws cases of.
var operations = slices.Concat(unaryOperations(), binaryOperations(), scalarOperations(), reductions(),
	movements(), layers(),
	losses(), inPlaceOperations(), []operation{
		{"Where", 32, drawWhere}, {"Clamp", 2, drawClamp}, {"GaussianLogProb", 512, drawGaussianLogProb},
		{"GAE", 64, drawGAE}, {"ScalerForward", 32, drawScalerForward}, {"ScalerInverse", 8, drawScalerInverse},
		{"ScalerUpdate", 8, drawScalerUpdate}, {"Optimizer", 32, drawOptimizer},
	})

func one(f scopeUnary) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{f(s, x[0])} }
}

func pair(f func(s *tensor.Scope, a, b tensor.Tensor) (x, y tensor.Tensor)) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		a, b := f(s, x[0], x[len(x)-1])
		return []tensor.Tensor{a, b}
	}
}

func three(f func(s *tensor.Scope, a, b, c tensor.Tensor) tensor.Tensor) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{f(s, x[0], x[1], x[2])}
	}
}

func two(f scopeBinary) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{f(s, x[0], x[1])} }
}

func joined(f func(s *tensor.Scope, dim int64, x ...tensor.Tensor) tensor.Tensor, dim int64) computation {
	return func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{f(s, dim, x...)} }
}

// split are the operations that split their work among threads of the engine.
var split = []string{"MLP", "Critic", "Optimizer"}

// replayed are operations of minibatches that agents record and replay.
var replayed = []string{"MLP", "Critic", "RNN", "GRU", "LSTM", "Surrogate", "ValueLoss-clipped",
	"ValueLoss-pessimistic", "CrossEntropy", "GaussianLogProbSum", "Categorical", "SumSquares", "ScalerForward"}

// An operation is a generator of random cases. bound is the largest difference of an element that is accepted,
// as a multiple of
// float32's ε (2⁻²³) of the largest element of its tensor, or of 1 if that is larger.
type operation struct {
	name  string
	bound float64
	run   func(c *testCase)
}

// worst is what the cases of one operation found.
type worst struct {
	error                                float64
	at                                   string
	values, gradients, replays, refusals int
}

// A testCase is one case, with its source of random numbers.
type testCase struct {
	*rand.Rand
	t      *testing.T
	op     operation
	number int
	wild   bool // whether arguments may be wrong
	worst  *worst
	log    []string // describes the case
}

func runCase(t *testing.T, op operation, number int, w *worst) {
	h := fnv.New64a()
	h.Write([]byte(op.name))
	c := &testCase{Rand: rand.New(rand.NewPCG(*seed, h.Sum64()+uint64(number))), t: t, op: op, number: number, worst: w}
	c.wild = c.chance(0.15)
	runtime.LockOSThread() // libtorch adds gradients up in an order that it counts by thread
	defer runtime.UnlockOSThread()
	defer func() {
		if p := recover(); p != nil {
			c.fatalf("panic: %v", p)
		}
	}()
	op.run(c)
}

// fatalf ends the operation's test with the command that repeats the case.
func (c *testCase) fatalf(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\n  case %d of seed %d, %d threads: %s\n"+
		"  repeat: go test ./tensor -run '^TestDifferential$/^%s$' -seed %d -cases %d -case %d",
		fmt.Sprintf(format, args...), c.number, *seed, tensor.Threads(), strings.Join(c.log, ", "), c.op.name, *seed,
		*cases, c.number)
}

// not is [must.Not] with the command that repeats the case.
func (c *testCase) not(failed bool, format string, args ...any) {
	if failed {
		c.t.Helper()
		c.fatalf(format, args...)
	}
}

func (c *testCase) must(err error) { c.not(err != nil, "%v", err) }

func (c *testCase) say(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

type (
	scopeUnary  = func(s *tensor.Scope, a tensor.Tensor) tensor.Tensor
	scopeBinary = func(s *tensor.Scope, a, b tensor.Tensor) tensor.Tensor
)

// A computation is what is compared: results of operands, in the type of the operands.
type computation func(s *tensor.Scope, x []tensor.Tensor) []tensor.Tensor

// options of check.
type options struct {
	reference computation      // in float64; by default the same computation
	each      bool             // whether the bound is relative to each element of the results instead of to the largest
	want      func() []array   // the results by Go
	near      float64          // how far float64's results may be from those by Go; default: not at all
	precision tensor.Precision // of layers
}

// result is what one way of computing gives.
type result struct {
	values  []array
	dtypes  []tensor.DType
	grads   []array // by the operands' bases
	err     error   // of the results
	gradErr error   // of the gradients
	panic   string
}

// check computes f of the operands in all ways and compares them.
func (c *testCase) check(inputs []*input, f computation, opts ...options) {
	c.t.Helper()
	o, dead := append(opts, options{})[0], -1
	if c.wild { // the arguments may be wrong
		o.want, o.reference = nil, nil
	}
	if c.wild && len(inputs) > 0 {
		if k := c.IntN(len(inputs)); c.chance(0.6) && !inputs[k].none {
			if c.chance(0.15) {
				dead = k
				c.say("operand %d is released", k)
			} else {
				c.spoil(inputs[k])
				c.say("operand %d is spoilt", k)
			}
		}
	}
	for _, in := range inputs {
		c.log = append(c.log, in.String())
	}
	ref := f
	if o.reference != nil {
		ref = o.reference
	}
	want := c.compute("float64", inputs, ref, o, dead)
	c.not(dead >= 0 && !strings.HasPrefix(want.panic, "tensor: "),
		"an operand that is released gives %q and no panic of package tensor", want.panic)
	if o.want != nil && want.err == nil {
		for i, a := range o.want() {
			shape, x := want.values[i].shape, want.values[i].x
			c.not(!slices.Equal(a.shape, shape) || !slices.EqualFunc(a.x, x,
				func(x, y float64) bool { return near(x, y, o.near) }),
				"result %d is %v %.8g, by Go %v %.8g", i, shape, x, a.shape, a.x)
		}
	}
	for _, way := range []string{"without a graph", "engine", "with libtorch", "replay"} {
		got := c.compute(way, inputs, f, o, dead)
		c.not((got.err == nil) != (want.err == nil) || got.panic != want.panic,
			"%s: the error is %v, the panic %q; in float64 %v, %q", way, got.err, got.panic, want.err, want.panic)
		c.not(got.err != nil && !strings.HasPrefix(fmt.Sprint(got.err), "tensor: "),
			"%s: the error is not of package tensor: %v", way, got.err)
		unrecorded := way == "replay" && got.gradErr != nil && want.gradErr != nil // without gradients
		if unrecorded || got.err != nil || got.panic != "" {
			c.worst.refusals++
			continue
		}
		for i := range want.values {
			d, of := got.dtypes[i], want.dtypes[i]
			c.not(d != of && (d != tensor.Float32 || of != tensor.Float64),
				"%s: result %d is %v, in float64 %v", way, i, d, of)
			c.compare(fmt.Sprintf("%s: result %d", way, i), got.values[i], want.values[i], o.each)
		}
		c.worst.values += len(want.values)
		if way == "engine" && c.number%4 == 0 {
			again := c.compute(way, inputs, f, o, dead)
			for i, a := range slices.Concat(got.values, got.grads) {
				b := slices.Concat(again.values, again.grads)[i]
				c.not(!slices.EqualFunc(a.x, b.x, same), "the same again gives other numbers: %.9g and %.9g", a.x, b.x)
			}
		}
		if way == "without a graph" {
			continue
		}
		c.not((got.gradErr == nil) != (want.gradErr == nil),
			"%s: the gradients' error is %v, in float64 %v", way, got.gradErr, want.gradErr)
		if got.gradErr != nil {
			c.worst.refusals++
			continue
		}
		for i := range want.grads {
			c.compare(fmt.Sprintf("%s: gradient %d", way, i), got.grads[i], want.grads[i], false)
		}
		c.worst.gradients += len(want.grads)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// compare holds two arrays against each other, and notes the error.
func (c *testCase) compare(what string, got, want array, each bool) {
	c.t.Helper()
	c.not(!slices.Equal(got.shape, want.shape), "%s has the shape %v, want %v", what, got.shape, want.shape)
	largest := 1.0
	for _, x := range want.x {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			largest = max(largest, math.Abs(x))
		}
	}
	for i, x := range want.x {
		x = float64(float32(x))
		if same(got.x[i], x) {
			continue
		}
		scale := largest
		if each {
			scale = math.Abs(x)
		}
		e := max(0, math.Abs(got.x[i]-x)-1e-37) / (scale * 0x1p-23)
		c.not(!(e <= c.op.bound), "%s: element %d of %v is %.9g, want %.9g: %.3g ε",
			what, i, want.shape, got.x[i], x, e)
		if e > c.worst.error {
			c.worst.error, c.worst.at = e, fmt.Sprintf("case %d, %s", c.number, what)
		}
	}
}
