package explore

// This file is the Gaussian process of PB2. For points a and b with features x and times t the covariance is
//
// k(a, b) = σ²·exp(-|x_a-x_b|²/ℓ)·(1-ε)^(|t_a-t_b|/2)
//
// with variance σ², length scale ℓ and forgetting ε. Let K be the matrix of k between all observations y, plus a jitter
// on its diagonal, and c the vector of k between a point and the observations. Then the point has the mean cᵀK⁻¹y and
// the variance σ² - cᵀK⁻¹c. The logarithm of the likelihood is -(yᵀK⁻¹y + ln|K| + n·ln 2π)/2.

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// point is an input of a Gaussian process: features and a time, all about 0 to 1.
type point struct {
	x    []float64
	time float64
}

// kernel has the parameters of the covariance: σ², ℓ, ε.
type kernel [3]float64

// The parameters of a kernel, in order.
const (
	variance = iota
	length
	forget
)

// jitter is what the diagonal of K has beside the covariances, as in Ray Tune.
const jitter = 1e-10

// distances returns the squared distance between the features of two points, and the distance between their times.
func distances(a, b point) (square, time float64) {
	for i, x := range a.x {
		square += (x - b.x[i]) * (x - b.x[i])
	}
	return square, math.Abs(a.time - b.time)
}

// covariance is k(a, b) at the top of this file. The exponents are added before one call of Exp.
func (k kernel) covariance(a, b point) float64 {
	square, time := distances(a, b)
	return k[variance] * math.Exp(math.Log1p(-k[forget])*time/2-square/k[length])
}

// process is a Gaussian process with zero mean that has seen observations y at points.
type process struct {
	kernel   kernel
	points   []point
	y        *mat.VecDense
	cholesky mat.Cholesky  // of K
	weights  *mat.VecDense // K⁻¹y
}

// newProcess returns a process that is conditioned on observations, or nil if the matrix K is singular.
func newProcess(k kernel, points []point, y []float64, jitter float64) *process {
	n := len(points)
	p := &process{kernel: k, points: points, y: mat.NewVecDense(n, y), weights: mat.NewVecDense(n, nil)}
	r := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			r.SetSym(i, j, k.covariance(points[i], points[j]))
		}
		r.SetSym(i, i, k[variance]+jitter)
	}
	if !p.cholesky.Factorize(r) {
		return nil
	}
	if p.cholesky.SolveVecTo(p.weights, p.y) != nil && !allFinite(p.weights.RawVector().Data) {
		return nil
	}
	return p
}

func allFinite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// covariances is the vector c of a point.
func (p *process) covariances(at point) *mat.VecDense {
	c := mat.NewVecDense(len(p.points), nil)
	for i, q := range p.points {
		c.SetVec(i, p.kernel.covariance(at, q))
	}
	return c
}

// slope adds scale·Σ w_i ∂c_i/∂x to gradient, where x are the features of a point.
func (p *process) slope(at point, c, w *mat.VecDense, scale float64, gradient []float64) {
	for i, q := range p.points {
		f := -2 * scale / p.kernel[length] * c.AtVec(i) * w.AtVec(i)
		for j := range gradient {
			gradient[j] += f * (at.x[j] - q.x[j])
		}
	}
}

// mean returns the expected improvement at a point. It adds the gradient with respect to the features, times scale, to
// gradient.
func (p *process) mean(at point, scale float64, gradient []float64) float64 {
	c := p.covariances(at)
	p.slope(at, c, p.weights, scale, gradient)
	return mat.Dot(c, p.weights)
}

// variance returns the variance of the improvement at a point. It adds the gradient as mean does.
func (p *process) variance(at point, scale float64, gradient []float64) float64 {
	c := p.covariances(at)
	w := mat.NewVecDense(c.Len(), nil)
	_ = p.cholesky.SolveVecTo(w, c) // an error says that K is ill-conditioned
	v := p.kernel[variance] - mat.Dot(c, w)
	if !(v > 0) {
		return 0
	}
	p.slope(at, c, w, -2*scale, gradient)
	return v
}

// likelihood returns the log likelihood of the observations. It stores in gradient the derivatives with respect to the
// logarithms of the kernel's parameters.
func (p *process) likelihood(gradient []float64) float64 {
	n := len(p.points)
	var inverse mat.SymDense
	if err := p.cholesky.InverseTo(&inverse); err != nil && len(gradient) > 0 {
		clear(gradient)
	} else {
		p.gradient(&inverse, gradient)
	}
	return -(mat.Dot(p.y, p.weights) + p.cholesky.LogDet() + float64(n)*math.Log(2*math.Pi)) / 2
}

// gradient stores tr((K⁻¹y(K⁻¹y)ᵀ - K⁻¹)·∂K)/2 for each parameter.
func (p *process) gradient(inverse *mat.SymDense, gradient []float64) {
	k := p.kernel
	clear(gradient)
	for i, a := range p.points {
		for j, b := range p.points[:i+1] {
			square, time := distances(a, b)
			w := p.weights.AtVec(i)*p.weights.AtVec(j) - inverse.At(i, j)
			if i == j {
				w /= 2
			}
			w *= k.covariance(a, b)
			gradient[variance] += w
			gradient[length] += w * square / k[length]
			gradient[forget] -= w * time / 2 * k[forget] / (1 - k[forget])
		}
	}
}

// The initial parameters of the fit, and their least and greatest values, are those of Ray Tune.
var (
	firstKernel    = kernel{1, 1, 0.1}
	leastKernel    = kernel{1e-5, 1e-5, 1e-5}
	greatestKernel = kernel{1e5, 1e5, 0.5}
)

// fit returns the process with the most likely kernel that L-BFGS finds from firstKernel, or nil if no process is
// possible.
func fit(points []point, y []float64) *process {
	logs := func(k kernel) []float64 {
		x := make([]float64, len(k))
		for i := range x {
			x[i] = math.Log(k[i])
		}
		return x
	}
	at := func(x []float64) (k kernel) {
		for i := range x {
			k[i] = min(max(math.Exp(x[i]), leastKernel[i]), greatestKernel[i])
		}
		return k
	}
	best, _ := maximise(func(x, gradient []float64) float64 {
		p := newProcess(at(x), points, y, jitter)
		if p == nil {
			clear(gradient)
			return math.Inf(-1)
		}
		return p.likelihood(gradient)
	}, logs(firstKernel), logs(leastKernel), logs(greatestKernel))
	p := newProcess(at(best), points, y, jitter)
	for more := 10 * jitter; p == nil && more < 2; more *= 10 { // some points are almost equal
		p = newProcess(at(best), points, y, more)
	}
	return p
}

// maximise maximises f within bounds by L-BFGS, and returns the best point that it visits and its value. f returns
// its value and stores its gradient. The search runs on a variable z without bounds: x = low + (high-low)·(1 +
// sin(2z/(high-low)))/2. In the middle of the range the slope of x by z is 1.
func maximise(f func(x, gradient []float64) float64, from, low, high []float64) (best []float64, value float64) {
	half := func(i int) float64 { return (high[i] - low[i]) / 2 }
	place := func(z []float64) []float64 {
		x := make([]float64, len(z))
		for i := range z {
			x[i] = low[i] + half(i)*(1+math.Sin(z[i]/half(i)))
		}
		return x
	}
	start := make([]float64, len(from))
	for i, v := range from {
		start[i] = half(i) * math.Asin(min(max((v-low[i])/half(i)-1, -1), 1))
	}
	best, value = slices.Clone(from), math.Inf(-1)
	var known, gradient []float64 // the latest z, and the gradient there
	latest := 0.0
	evaluate := func(z []float64) {
		if slices.Equal(z, known) {
			return
		}
		known, gradient = slices.Clone(z), make([]float64, len(z))
		x := place(z)
		if latest = f(x, gradient); latest > value {
			best, value = x, latest
		}
		for i := range gradient {
			gradient[i] *= math.Cos(z[i] / half(i))
		}
	}
	problem := optimize.Problem{
		Func: func(z []float64) float64 { evaluate(z); return -latest },
		Grad: func(to, z []float64) {
			evaluate(z)
			for i, g := range gradient {
				to[i] = -g
			}
		},
	}
	settings := &optimize.Settings{GradientThreshold: 1e-6, MajorIterations: 200, FuncEvaluations: 400}
	// If the search ends with an error, the best point so far is the result.
	_, _ = optimize.Minimize(problem, start, settings, &optimize.LBFGS{})
	return best, value
}
