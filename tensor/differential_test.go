package tensor_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/tensor"
)

var (
	seed     = flag.Uint64("seed", 1, "seed of the random cases of TestDifferential")
	cases    = flag.Int("cases", 100, "random cases of each operation of TestDifferential; -short takes a quarter")
	onlyCase = flag.Int("case", -1, "the number of the only case that TestDifferential runs")
)

// TestDifferential computes random cases of every operation in float32, which gorl's engine does where it can,
// and in float64,
// which libtorch does by separate operations, and compares results, gradients and refusals. A few operations
// have a reference in Go.
// A failure prints the command that repeats its case.
func TestDifferential(t *testing.T) {
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			tensortest.CheckLive(t)
			w := &worst{}
			n := *cases
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
		})
	}
}

// split are the operations that split their work among threads of the engine.
var split = []string{"MLP", "Critic", "Optimizer"}

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

func (c *testCase) say(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

func (c *testCase) chance(p float64) bool { return c.Float64() < p }

// size is a dimension: often 0, 1, or about as long as a vector of some instruction set.
func (c *testCase) size() int64 {
	switch x := c.Float64(); {
	case x < 0.05:
		return 0
	case x < 0.2:
		return 1
	case x < 0.6:
		return 2 + c.Int64N(8)
	case x < 0.9:
		return []int64{4, 8, 12, 14, 16, 24, 28, 32, 48, 64}[c.IntN(10)] - 1 + c.Int64N(3)
	}
	return 2 + c.Int64N(130)
}

// width is a size that is not 0.
func (c *testCase) width() int64 { return max(1, c.size()) }

// shape has from least to most dimensions, and a few hundred elements, sometimes a few thousand.
func (c *testCase) shape(least, most int) []int64 {
	shape := make([]int64, least+c.IntN(most-least+1))
	n, limit := int64(1), int64(400)
	if c.chance(0.05) {
		limit = 6000
	}
	for i := range shape {
		if shape[i] = c.size(); n*shape[i] > limit {
			shape[i] = 2
		}
		n *= max(1, shape[i])
	}
	return shape
}

// dim is a dimension of n, counted from either end; in wild cases perhaps none.
func (c *testCase) dim(n int) int64 {
	if c.wild && c.chance(0.3) || n == 0 {
		return []int64{int64(n), int64(-n - 1), math.MaxInt64, math.MinInt64, math.MaxInt32 + 1}[c.IntN(5)]
	}
	return c.Int64N(2*int64(n)) - int64(n)
}

// number is x; in wild cases perhaps another number.
func (c *testCase) perhaps(x int64) int64 {
	if c.wild && c.chance(0.3) {
		return []int64{x + 1, x - 1, -x, math.MaxInt64, math.MaxInt64 - x, math.MinInt64, 0}[c.IntN(7)]
	}
	return x
}

// array is a tensor's values in row order.
type array struct {
	shape []int64
	x     []float64
}

func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// Generators of values, all of them float32 numbers.
func (c *testCase) normal() float64   { return float64(float32(c.NormFloat64())) }
func (c *testCase) positive() float64 { return float64(float32(0.1 + c.ExpFloat64())) }

// grid has few bits, so that sums and products of some of its numbers are exact in float32 too, and equal ones
// are frequent: functions with
// kinks then take the same side in float32 and in float64.
func (c *testCase) grid() float64 { return float64(c.IntN(5)-2) / 2 }

// special is sometimes no ordinary number.
func (c *testCase) special() float64 {
	if c.chance(0.2) {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 87, -87, 100, -100,
			1e-30}[c.IntN(10)]
	}
	return c.normal()
}

func (c *testCase) array(value func() float64, shape ...int64) array {
	a := array{slices.Clone(shape), make([]float64, elements(shape))}
	for i := range a.x {
		a.x[i] = value()
	}
	return a
}

// pick returns the array of another shape whose element at an index is a's at f(index).
func (a array) pick(shape []int64, f func(index []int64) []int64) array {
	out := array{slices.Clone(shape), make([]float64, elements(shape))}
	for i := range out.x {
		index, rest := make([]int64, len(shape)), int64(i)
		for d := len(shape) - 1; d >= 0; d-- {
			index[d], rest = rest%shape[d], rest/shape[d]
		}
		out.x[i] = a.x[a.place(f(index))]
	}
	return out
}

// reduce returns f of the elements that meet when dims are reduced; none stands for all of them.
func (a array) reduce(dims []int64, keep bool, f func([]float64) float64) array {
	small, out := slices.Clone(a.shape), array{shape: []int64{}}
	for _, d := range dims {
		small[from(d, len(small))] = 1
	}
	for d := range small {
		if len(dims) == 0 {
			small[d] = 1
		}
		if keep || small[d] == a.shape[d] &&
			!slices.ContainsFunc(dims, func(r int64) bool { return from(r, len(small)) == d }) &&
			len(dims) > 0 {
			out.shape = append(out.shape, small[d])
		}
	}
	where := array{small, make([]float64, elements(small))}
	for i := range where.x {
		where.x[i] = float64(i)
	}
	groups := make([][]float64, len(where.x))
	for i, at := range where.pick(a.shape, func(index []int64) []int64 {
		for d := range index {
			index[d] %= small[d]
		}
		return index
	}).x {
		groups[int(at)] = append(groups[int(at)], a.x[i])
	}
	for _, group := range groups {
		out.x = append(out.x, f(group))
	}
	return out
}

// lines replaces every line of a along a dimension by what f makes of it.
func (a array) lines(dim int64, f func(line []float64) []float64) array {
	d := from(dim, len(a.shape))
	out := array{slices.Clone(a.shape), make([]float64, len(a.x))}
	stride := int(elements(a.shape[d+1:]))
	for i := range a.x {
		if i/stride%int(a.shape[d]) != 0 {
			continue
		}
		line := make([]float64, a.shape[d])
		for k := range line {
			line[k] = a.x[i+k*stride]
		}
		line = f(line)
		out.shape[d] = int64(len(line))
		for k, x := range line {
			if len(line) == int(a.shape[d]) {
				out.x[i+k*stride] = x
			} else { // one of each line
				out.x[i/stride/int(a.shape[d])*stride+i%stride] = x
			}
		}
	}
	out.x = out.x[:elements(out.shape)]
	return out
}

func (a array) place(index []int64) (i int64) {
	for d, k := range index {
		i = i*a.shape[d] + k
	}
	return i
}

// A view makes a tensor of a part of another one, or of its elements in another order.
type view struct {
	kind    string
	a, b, n int64
	shape   []int64
}

func (v view) of(s *tensor.Scope, t tensor.Tensor) tensor.Tensor {
	switch v.kind {
	case "transpose":
		return s.Transpose(t, v.a, v.b)
	case "narrow":
		return s.Narrow(t, v.a, v.b, v.n)
	case "select":
		return s.Select(t, v.a, v.b)
	}
	return s.Expand(t, v.shape...)
}

// behind returns an array of which v makes a view that equals a. Its other elements are NaN: what reads them shows.
func (c *testCase) behind(a array) (base array, v view) {
	n := int64(len(a.shape))
	base.shape = slices.Clone(a.shape)
	var place func(index []int64) []int64 // of an element of a in base
	switch kind := c.IntN(3); {
	case kind == 0 && n > 1:
		v = view{kind: "transpose", a: c.Int64N(n), b: c.Int64N(n)}
		base.shape[v.a], base.shape[v.b] = base.shape[v.b], base.shape[v.a]
		place = func(i []int64) []int64 { i[v.a], i[v.b] = i[v.b], i[v.a]; return i }
	case kind == 1 && n > 0:
		v = view{kind: "narrow", a: c.Int64N(n), b: c.Int64N(4)}
		v.n = a.shape[v.a]
		base.shape[v.a] += v.b + c.Int64N(3)
		place = func(i []int64) []int64 { i[v.a] += v.b; return i }
	default:
		size := 1 + c.Int64N(3)
		v = view{kind: "select", a: c.Int64N(n + 1), b: c.Int64N(size)}
		base.shape = slices.Insert(base.shape, int(v.a), size)
		place = func(i []int64) []int64 { return slices.Insert(i, int(v.a), v.b) }
	}
	base.x = make([]float64, elements(base.shape))
	for i := range base.x {
		base.x[i] = math.NaN()
	}
	where := array{base.shape, make([]float64, len(base.x))}
	for i := range where.x {
		where.x[i] = float64(i)
	}
	for i, at := range where.pick(a.shape, place).x {
		base.x[int(at)] = a.x[i]
	}
	return base, v
}

// An input is an operand: a base tensor and views of it, one after the other.
type input struct {
	values array // of the operand
	base   array
	views  []view
	dtype  tensor.DType // Float32 stands for the type of the computation
	grad   bool
	none   bool // the zero Tensor
}

// in returns an operand in a random layout. Its gradient is compared.
func (c *testCase) in(a array) *input {
	in := &input{values: a, base: a, dtype: tensor.Float32, grad: true}
	if c.chance(0.5) {
		return in
	}
	for range 1 + c.IntN(2) {
		var v view
		in.base, v = c.behind(in.base)
		in.views = append([]view{v}, in.views...)
	}
	return in
}

// flat is an operand whose memory is row by row, as the engine wants it.
func (c *testCase) flat(a array) *input {
	return &input{values: a, base: a, dtype: tensor.Float32, grad: true}
}

// broadcast is an operand whose shape broadcasts to this one, or that is expanded to it.
func (c *testCase) broadcast(value func() float64, shape []int64) *input {
	small := slices.Clone(shape)
	for i := range small {
		if c.chance(0.3) {
			small[i] = 1
		}
	}
	a := c.array(value, small...)
	in := c.in(a)
	if c.chance(0.5) {
		in.views = append(in.views, view{kind: "expand", shape: shape})
		in.values = a.pick(shape, func(i []int64) []int64 {
			for d := range i {
				i[d] %= small[d]
			}
			return i
		})
	} else if len(small) > 0 && small[0] == 1 && c.chance(0.5) {
		in.views = append(in.views, view{kind: "select"})
		in.values.shape = small[1:]
	}
	return in
}

func (in *input) constant() *input { in.grad = false; return in }
func (in *input) of(d tensor.DType) *input {
	in.dtype, in.grad = d, false
	if d != tensor.Float64 {
		for i, x := range in.base.x {
			if math.IsNaN(x) {
				in.base.x[i] = 77
			}
		}
	}
	return in
}

// leaf makes the base in the type of the computation, times scale.
func (in *input) leaf(s *tensor.Scope, d tensor.DType, scale float64) tensor.Tensor {
	x := slices.Clone(in.base.x)
	if in.dtype == tensor.Float32 {
		for i := range x {
			x[i] *= scale
		}
	} else {
		d = in.dtype
	}
	if len(in.base.shape) == 0 {
		return s.Full(d, x[0])
	}
	return s.As(tensor.From(s, x, in.base.shape...), d)
}

func (in *input) view(s *tensor.Scope, t tensor.Tensor) tensor.Tensor {
	for _, v := range in.views {
		t = v.of(s, t)
	}
	return t
}

func (in *input) String() string {
	if in.none {
		return "none"
	}
	text := fmt.Sprint(in.values.shape)
	if in.dtype != tensor.Float32 {
		text += " " + in.dtype.String()
	}
	for _, v := range in.views {
		text += " " + v.kind
	}
	return text
}

// spoil makes an operand wrong: of another shape or type.
func (c *testCase) spoil(in *input) {
	shape := slices.Clone(in.values.shape)
	switch k := c.IntN(4); {
	case k == 0 && len(shape) > 0:
		shape[c.IntN(len(shape))]++
	case k == 1 && len(shape) > 0:
		shape = shape[1:]
	case k == 2:
		shape = append(shape, 1+c.Int64N(2))
	default:
		in.dtype, in.grad = []tensor.DType{tensor.Int64, tensor.Bool, tensor.Uint8}[c.IntN(3)], false
	}
	a := c.array(c.grid, shape...)
	if in.dtype != tensor.Float32 {
		a = c.array(func() float64 { return float64(c.IntN(3)) }, shape...)
	}
	in.values, in.base, in.views = a, a, nil
}

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
	var o options
	if len(opts) > 0 {
		o = opts[0]
	}
	dead := -1
	if c.wild && len(inputs) > 0 {
		if k := c.IntN(len(inputs)); c.chance(0.6) && !inputs[k].none {
			o.want = nil
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
	if dead >= 0 && !strings.HasPrefix(want.panic, "tensor: ") {
		c.fatalf("an operand that is released gives %q and no panic of package tensor", want.panic)
	}
	if o.want != nil && want.err == nil {
		for i, a := range o.want() {
			if !slices.Equal(a.shape, want.values[i].shape) || !slices.EqualFunc(a.x, want.values[i].x,
				func(x, y float64) bool { return near(x, y, o.near) }) {
				c.fatalf("result %d is %v %.8g, by Go %v %.8g", i, want.values[i].shape, want.values[i].x, a.shape, a.x)
			}
		}
	}
	for _, way := range []string{"without a graph", "engine", "with libtorch", "replay"} {
		got := c.compute(way, inputs, f, o, dead)
		if (got.err == nil) != (want.err == nil) || got.panic != want.panic {
			c.fatalf("%s: the error is %v, the panic %q; in float64 %v, %q", way, got.err, got.panic, want.err,
				want.panic)
		}
		if way == "replay" && got.gradErr != nil && want.gradErr != nil { // what has no gradients is not recorded
			c.worst.refusals++
			continue
		}
		if got.err != nil || got.panic != "" {
			if got.err != nil && !strings.HasPrefix(got.err.Error(), "tensor: ") {
				c.fatalf("%s: the error is not of package tensor: %v", way, got.err)
			}
			c.worst.refusals++
			continue
		}
		for i := range want.values {
			if got.dtypes[i] != want.dtypes[i] && (got.dtypes[i] != tensor.Float32 ||
				want.dtypes[i] != tensor.Float64) {
				c.fatalf("%s: result %d is %v, in float64 %v", way, i, got.dtypes[i], want.dtypes[i])
			}
			c.compare(fmt.Sprintf("%s: result %d", way, i), got.values[i], want.values[i], o.each)
		}
		c.worst.values += len(want.values)
		if way == "engine" && c.number%4 == 0 {
			again := c.compute(way, inputs, f, o, dead)
			for i, a := range append(slices.Clone(got.values), got.grads...) {
				if b := append(slices.Clone(again.values), again.grads...)[i]; !slices.EqualFunc(a.x, b.x, same) {
					c.fatalf("the same again gives other numbers: %.9g and %.9g", a.x, b.x)
				}
			}
		}
		if way == "without a graph" {
			continue
		}
		if (got.gradErr == nil) != (want.gradErr == nil) {
			c.fatalf("%s: the gradients' error is %v, in float64 %v", way, got.gradErr, want.gradErr)
		}
		if got.gradErr != nil {
			c.worst.refusals++
			continue
		}
		if len(want.grads) > 0 {
			for i := range want.grads {
				c.compare(fmt.Sprintf("%s: gradient %d", way, i), got.grads[i], want.grads[i], false)
			}
			c.worst.gradients += len(want.grads)
		}
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// compare holds two arrays against each other, and notes the error.
func (c *testCase) compare(what string, got, want array, each bool) {
	c.t.Helper()
	if !slices.Equal(got.shape, want.shape) {
		c.fatalf("%s has the shape %v, want %v", what, got.shape, want.shape)
	}
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
		if !(e <= c.op.bound) {
			c.fatalf("%s: element %d of %v is %.9g, want %.9g: %.3g ε", what, i, want.shape, got.x[i], x, e)
		}
		if e > c.worst.error {
			c.worst.error, c.worst.at = e, fmt.Sprintf("case %d, %s", c.number, what)
		}
	}
}

// compute computes f in one of the ways: in float64; without a graph; with leaves whose gradients are flat,
// which the engine
// adds to; with free leaves, whose gradients are libtorch's; recorded with other values, and replayed with these.
func (c *testCase) compute(way string, inputs []*input, f computation, o options, dead int) (r result) {
	c.t.Helper()
	own, s := tensor.NoGrad(), tensor.NewScope()
	d := tensor.Float32
	switch way {
	case "float64":
		d = tensor.Float64
	case "without a graph":
		s = tensor.NoGrad()
	}
	if d == tensor.Float32 {
		s.Layers(o.precision)
	}
	defer own.Close()
	defer s.Close()
	bound := way == "engine" || way == "replay"
	var leaves, learning []tensor.Tensor
	// The others begin at odd places.
	params := []tensor.Parameter{{Name: "before", Tensor: own.Zeros(1 + int64(c.number)%3)}}
	for i, in := range inputs {
		if in.none {
			leaves = append(leaves, tensor.Tensor{})
			continue
		}
		scale := 1.0
		if way == "replay" {
			scale = 0.5
		}
		leaf := in.leaf(own, d, scale)
		leaves = append(leaves, leaf)
		if in.grad {
			learning = append(learning, leaf)
			params = append(params, tensor.Parameter{Name: fmt.Sprint(i), Tensor: leaf})
			if !bound && way != "without a graph" {
				own.RequireGrad(leaf)
			}
		}
	}
	if err := own.Err(); err != nil {
		c.fatalf("%v", err)
	}
	var flat *tensor.Flat
	if bound {
		var err error
		if flat, err = tensor.NewFlat(params, tensor.CPU); err != nil {
			c.fatalf("%v", err)
		}
		defer flat.Close()
	}
	released := tensor.NoGrad()
	gone := released.Zeros(1)
	released.Close()

	var out, grads []tensor.Tensor
	pass := func() error {
		if bound {
			flat.ZeroGrad(s)
		}
		x := make([]tensor.Tensor, len(inputs))
		for i, in := range inputs {
			switch {
			case i == dead:
				x[i] = gone
			case !in.none:
				x[i] = in.view(s, leaves[i])
			}
		}
		out = f(s, x)
		if s.Err() != nil || way == "without a graph" {
			return s.Err()
		}
		defer func() { r.gradErr = s.Err() }()
		var loss tensor.Tensor
		for i, y := range out {
			if !tensor.RequiresGrad(y) {
				continue
			}
			part := s.Sum(s.Mul(y, s.As(tensor.From(own, numbers(uint64(i+1), int(tensor.Numel(y))),
				tensor.Shape(y)...),
				tensor.TypeOf(y))))
			if loss.T == nil {
				loss = part
			} else {
				loss = s.Add(loss, part)
			}
		}
		switch {
		case loss.T == nil:
		case bound:
			s.Backward(loss)
		default:
			grads = s.Grad(loss, false, learning...)
		}
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			r = result{panic: fmt.Sprint(p)}
		}
	}()
	if way == "replay" {
		if r.err = c.replay(s, pass, func() error {
			for _, y := range append([]tensor.Tensor{flat.Grads}, out...) {
				if tensor.TypeOf(y) == tensor.Float32 {
					own.Fill(s.Detach(y), 1e9)
				}
			}
			for i, in := range inputs {
				if !in.none {
					own.Fail(tensor.Write(leaves[i], in.base.x))
				}
			}
			return own.Err()
		}); r.err != nil {
			return r
		}
	} else if r.err = pass(); r.err != nil {
		return r
	}
	for _, y := range out {
		r.values = append(r.values, c.arrayOf(y))
		r.dtypes = append(r.dtypes, tensor.TypeOf(y))
	}
	if bound {
		for _, leaf := range learning {
			grads = append(grads, own.GradOf(leaf))
		}
		if err := own.Err(); err != nil {
			c.fatalf("%v", err)
		}
	}
	switch {
	case r.gradErr != nil || way == "without a graph":
		return r
	case grads == nil: // no result has a gradient: those of flat leaves are zero
		for _, leaf := range learning {
			r.grads = append(r.grads, array{tensor.Shape(leaf), make([]float64, tensor.Numel(leaf))})
		}
	}
	for _, g := range grads {
		r.grads = append(r.grads, c.arrayOf(g))
	}
	return r
}

// replay records pass and, where it can be recorded, changes its operands and does it again by what is recorded.
func (c *testCase) replay(s *tensor.Scope, pass, change func() error) error {
	g, err := tensor.NewGraph(tensor.CPU)
	if err != nil {
		c.fatalf("%v", err)
	}
	defer g.Close()
	var failed error // the results', not the gradients'
	err = g.Capture(s, func() error { failed = pass(); return failed })
	if failed != nil || s.Err() != nil {
		return failed
	}
	if err == nil {
		err = change()
	}
	switch {
	case err != nil:
		return err
	case g.Recorded():
		c.worst.replays++
		return g.Replay()
	}
	s.Reset()
	return pass()
}

func (c *testCase) arrayOf(t tensor.Tensor) array {
	x, err := tensor.Float64s(t)
	if err != nil {
		c.fatalf("%v", err)
	}
	return array{tensor.Shape(t), x}
}
