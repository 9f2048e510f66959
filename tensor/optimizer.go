package tensor

// #cgo noescape gorl_adam_
// #cgo nocallback gorl_adam_
// #cgo noescape gorl_adam_factors
// #cgo nocallback gorl_adam_factors
// #cgo noescape gorl_clip_norm_
// #cgo nocallback gorl_clip_norm_
// #include "gorl.h"
import "C"

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Group is a range of flat parameters with a learning rate and a gradient clip of its own.
type Group struct {
	// Name says whose parameters they are, for messages ("policy").
	Name string
	// Begin and End delimit elements of the flat parameters.
	Begin, End int64
	// LearningRate is the step size.
	LearningRate float64
}

// Clip is a range of flat gradients whose joint Euclidean norm is limited.
type Clip struct {
	Begin, End int64
	// MaxNorm is the limit; not positive means none (the norm is still measured).
	MaxNorm float64
}

// OptimizerConfig selects and tunes the rule by which an [Optimizer] steps. The zero value is Adam with PyTorch's
// defaults.
type OptimizerConfig struct {
	// Kind is "adam" (default; Kingma & Ba 2015), "adamw" (decoupled weight decay; Loshchilov & Hutter 2019) or "sgd".
	Kind string
	// Betas are the decay rates of Adam's two moments, each in [0, 1). nil is 0.9 and 0.999.
	Betas []float64
	// Eps is added to Adam's denominator, default 1e-8.
	Eps float64
	// WeightDecay is the L2 penalty (adam, sgd) or the decoupled decay (adamw), default 0.
	WeightDecay float64
	// Momentum is that of sgd, default 0; Nesterov looks ahead.
	Momentum float64
	Nesterov bool
}

// Optimizer steps the parameters of a [Flat], in one native call a step.
type Optimizer struct {
	// Groups may have their LearningRate changed between steps.
	Groups []Group
	// Clips may have their MaxNorm changed between steps.
	Clips []Clip
	// Steps counts the steps taken; Adam's bias correction depends on it.
	Steps int64
	// ExpAvg and ExpAvgSq are the moments, as long as the parameters (ExpAvg is the momentum buffer of sgd).
	ExpAvg, ExpAvgSq Tensor
	// Norms holds, after [Optimizer.ClipGrad], the gradient norm of each clip before clipping; float32 on the
	// parameters' device.
	Norms Tensor

	cfg                OptimizerConfig
	flat               *Flat
	scope              *Scope
	begin, end         []C.int64_t
	lr                 []C.double
	clipBegin, clipEnd []C.int64_t
	clipMax            []C.double

	factors Tensor    // what a captured step reads on the device, see Advance
	written []float32 // what they are
	next    []float32
}

// NewOptimizer returns an optimizer for the given groups of flat's parameters, which must not overlap.
func NewOptimizer(flat *Flat, cfg OptimizerConfig, groups []Group, clips []Clip) (*Optimizer, error) {
	cfg.Kind = cmp.Or(cfg.Kind, "adam")
	cfg.Eps = cmp.Or(cfg.Eps, 1e-8)
	if cfg.Betas = slices.Clone(cfg.Betas); cfg.Betas == nil {
		cfg.Betas = []float64{0.9, 0.999}
	}
	n := flat.Len()
	switch {
	case !slices.Contains([]string{"adam", "adamw", "sgd"}, cfg.Kind):
		return nil, fmt.Errorf("tensor: optimizer %q: want adam, adamw or sgd", cfg.Kind)
	case len(cfg.Betas) != 2 || slices.ContainsFunc(cfg.Betas, func(b float64) bool { return !(b >= 0 && b < 1) }):
		return nil, fmt.Errorf("tensor: optimizer: betas %v: want two numbers in [0, 1)", cfg.Betas)
	case !(cfg.Eps > 0) || !(cfg.WeightDecay >= 0) || !(cfg.Momentum >= 0):
		return nil, fmt.Errorf("tensor: optimizer: eps %g, weight decay %g or momentum %g is out of range", cfg.Eps,
			cfg.WeightDecay, cfg.Momentum)
	case len(groups) == 0:
		return nil, fmt.Errorf("tensor: optimizer: there are no parameter groups")
	}
	for i, g := range groups {
		other := slices.IndexFunc(groups[:i], func(h Group) bool { return g.Begin < h.End && h.Begin < g.End })
		switch {
		case g.Begin < 0 || g.End > n || g.Begin >= g.End:
			return nil, fmt.Errorf("tensor: optimizer: group %d (%s) is [%d, %d) of %d parameters", i, g.Name, g.Begin,
				g.End, n)
		case other >= 0:
			return nil, fmt.Errorf("tensor: optimizer: groups %s and %s overlap", groups[other].Name, g.Name)
		case !(g.LearningRate >= 0) || math.IsInf(g.LearningRate, 1):
			return nil, fmt.Errorf("tensor: optimizer: group %s has the learning rate %g; want a finite number ≥ 0",
				g.Name, g.LearningRate)
		}
	}
	for i, c := range clips {
		if c.Begin < 0 || c.End > n || c.Begin > c.End || math.IsNaN(c.MaxNorm) {
			return nil, fmt.Errorf("tensor: optimizer: clip %d is [%d, %d) of %d parameters with the limit %g", i,
				c.Begin, c.End, n, c.MaxNorm)
		}
	}
	o := &Optimizer{Groups: groups, Clips: clips, cfg: cfg, flat: flat, scope: NoGrad().On(DeviceOf(flat.Values))}
	o.ExpAvg, o.ExpAvgSq = o.scope.Zeros(n), o.scope.Zeros(n)
	o.Norms = o.scope.Zeros(int64(max(1, len(clips))))
	o.begin, o.end, o.lr = make([]C.int64_t, len(groups)), make([]C.int64_t, len(groups)), make([]C.double, len(groups))
	o.clipBegin, o.clipEnd = make([]C.int64_t, len(clips)), make([]C.int64_t, len(clips))
	o.clipMax = make([]C.double, len(clips))
	o.factors = o.scope.Zeros(o.numbers())
	o.next, o.written = make([]float32, o.numbers()), make([]float32, o.numbers())
	if err := o.scope.Err(); err != nil {
		o.scope.Close()
		return nil, err
	}
	return o, nil
}

// Config returns the rule's settings with their defaults filled in.
func (o *Optimizer) Config() OptimizerConfig { return o.cfg }

// ClipGrad measures the joint norm of every clip's gradients and scales those down that exceed its limit (as PyTorch's
// clip_grad_norm_: by limit / (norm + 1e-6)).
func (o *Optimizer) ClipGrad(s *Scope) {
	if len(o.Clips) == 0 {
		return
	}
	for i, c := range o.Clips {
		o.clipBegin[i], o.clipEnd[i], o.clipMax[i] = C.int64_t(c.Begin), C.int64_t(c.End), C.double(c.MaxNorm)
	}
	s.effect("ClipGrad", func() C.gorl_err {
		return C.gorl_clip_norm_(handle("ClipGrad", o.flat.Grads), unsafe.SliceData(o.clipBegin),
			unsafe.SliceData(o.clipEnd), unsafe.SliceData(o.clipMax), C.int32_t(len(o.Clips)),
			handle("ClipGrad", o.Norms))
	}, o.flat.Grads)
}

// Step changes the parameters by their gradients. In a [Graph] it reads learning rates and count of steps on the
// device, where Advance has put them, and does not count.
func (o *Optimizer) Step(s *Scope) {
	m, step, factors := 0, o.Steps+1, C.gorl_t(nil)
	if s.captured {
		step, factors = o.Steps, handle("Step", o.factors)
	}
	for _, g := range o.Groups { // groups side by side with one learning rate are one, unless it may change
		begin, end, lr := C.int64_t(g.Begin), C.int64_t(g.End), C.double(g.LearningRate)
		if m > 0 && o.end[m-1] == begin && o.lr[m-1] == lr && !s.captured {
			o.end[m-1] = end
			continue
		}
		o.begin[m], o.end[m], o.lr[m] = begin, end, lr
		m++
	}
	begin, end, lr := unsafe.SliceData(o.begin), unsafe.SliceData(o.end), unsafe.SliceData(o.lr)
	n, decay := C.int32_t(m), C.double(o.cfg.WeightDecay)
	s.effect("Step", func() C.gorl_err {
		p, g, avg := handle("Step", o.flat.Values), handle("Step", o.flat.Grads), handle("Step", o.ExpAvg)
		if o.cfg.Kind == "sgd" {
			return C.gorl_sgd_(p, g, avg, begin, end, lr, n, C.int64_t(step), C.double(o.cfg.Momentum), decay,
				flag(o.cfg.Nesterov), factors)
		}
		return C.gorl_adam_(p, g, avg, handle("Step", o.ExpAvgSq), begin, end, lr, n, C.int64_t(step),
			C.double(o.cfg.Betas[0]), C.double(o.cfg.Betas[1]), C.double(o.cfg.Eps), decay, flag(o.cfg.Kind == "adamw"),
			factors)
	}, o.flat.Values)
	if s.err == nil && !s.captured {
		o.Steps++
	}
}

// numbers is how many numbers Advance puts on the device: of sgd each group's learning rate, of adam two a group and
// one more (gorl_adam_factors).
func (o *Optimizer) numbers() int64 {
	if o.cfg.Kind == "sgd" {
		return int64(len(o.Groups))
	}
	return int64(2*len(o.Groups) + 1)
}

// Advance counts a step that is made in a [Graph], and puts what it depends on on the device, without waiting for it:
// the present learning rates, and Adam's corrections for the count of steps. Call it before [Graph.WarmUp],
// [Graph.Capture] and its replay, and each further [Graph.Replay].
func (o *Optimizer) Advance(s *Scope) {
	if s.err != nil {
		return
	}
	for i, g := range o.Groups {
		o.lr[i] = C.double(g.LearningRate)
		if o.cfg.Kind == "sgd" {
			o.next[i] = float32(g.LearningRate)
		}
	}
	if o.cfg.Kind != "sgd" {
		C.gorl_adam_factors(unsafe.SliceData(o.lr), C.int32_t(len(o.Groups)), C.int64_t(o.Steps+1),
			C.double(o.cfg.Betas[0]), C.double(o.cfg.Betas[1]), C.double(o.cfg.Eps), C.double(o.cfg.WeightDecay),
			o.scope.Device().code(),
			(*C.float)(unsafe.SliceData(o.next)))
	}
	if !slices.Equal(o.next, o.written) {
		if err := Write(o.factors, o.next); err != nil {
			s.Fail(err)
			return
		}
		copy(o.written, o.next)
	}
	o.Steps++
}

// Close releases the moments. It may be called twice.
func (o *Optimizer) Close() { o.scope.Close() }
