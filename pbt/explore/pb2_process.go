package explore

// This file is a Gaussian process with the kernel of PB2. For points a and b with features x and times t (in
// intervals)
//
// k(a, b) = exp(-|x_a-x_b|² / (2·l²)) · (1-ε)^(|t_a-t_b|/2)
//
// with length scale l and forgetting ε. Let R be the matrix of k between all observations, plus noise on its
// diagonal, L its Cholesky factor, and c the vector of k between a point and the observations y. Then the point has
// the mean cᵀR⁻¹y and the standard deviation √(v·(1-|L⁻¹c|²)), where v is the variance.

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// point is where a Gaussian process knows or predicts something.
type point struct {
	x    []float64 // features, about 0 to 1
	time float64   // in intervals
}

// kernel is a squared exponential in the features that forgets with time.
type kernel struct {
	length   float64 // length scale
	forget   float64 // ε, 0 to below 1
	noise    float64 // variance of observations, as a multiple of variance
	variance float64
}

// correlation is k(a, b) at the top of this file: 1 for the same point, without noise. The exponents are added before
// one call of Exp.
func (k kernel) correlation(a, b point) float64 {
	square := 0.0
	for i, x := range a.x {
		square += (x - b.x[i]) * (x - b.x[i])
	}
	return math.Exp((math.Log1p(-k.forget)*math.Abs(a.time-b.time) - square/(k.length*k.length)) / 2)
}

// process is a Gaussian process with zero mean that has seen observations.
//
// R is factorised once, in n³ operations; each prediction then takes n for the mean and n² for the deviation.
type process struct {
	kernel   kernel
	points   []point
	cholesky mat.Cholesky  // of the correlations plus noise
	lower    mat.TriDense  // its lower factor
	weights  *mat.VecDense // their inverse times the observations
}

// newProcess conditions a process on observations y at points; y nil is for doubt only. It is nil when the matrix is
// singular.
func newProcess(k kernel, points []point, y []float64) *process {
	n := len(points)
	p := &process{kernel: k, points: points}
	r := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			r.SetSym(i, j, k.correlation(points[i], points[j]))
		}
		r.SetSym(i, i, 1+k.noise)
	}
	if !p.cholesky.Factorize(r) {
		return nil
	}
	p.cholesky.LTo(&p.lower)
	if y == nil {
		return p
	}
	p.weights = mat.NewVecDense(n, nil)
	if err := p.cholesky.SolveVecTo(p.weights, mat.NewVecDense(n, y)); err != nil {
		return nil
	}
	return p
}

// correlations is the vector c of a point.
func (p *process) correlations(at point) *mat.VecDense {
	c := mat.NewVecDense(len(p.points), nil)
	for i, q := range p.points {
		c.SetVec(i, p.kernel.correlation(at, q))
	}
	return c
}

// mean is the expected improvement at a point.
func (p *process) mean(at point) float64 { return mat.Dot(p.correlations(at), p.weights) }

// deviation is the standard deviation of the improvement at a point, without noise.
func (p *process) deviation(at point) float64 {
	c := p.correlations(at).RawVector()
	blas64.Trsv(blas.NoTrans, p.lower.RawTriangular(), c)
	return math.Sqrt(p.kernel.variance * max(1-blas64.Dot(c, c), 0))
}

// logLikelihood is that of the observations, with the variance set to its most likely value, v = yᵀR⁻¹y/n. So the
// grid below need not search for the variance. With it the likelihood is -(n·ln(2πv) + ln|R| + n)/2.
func (p *process) logLikelihood(y []float64) float64 {
	n := float64(len(y))
	p.kernel.variance = max(mat.Dot(mat.NewVecDense(len(y), y), p.weights)/n, 1e-6)
	return -(n*math.Log(2*math.Pi*p.kernel.variance) + p.cholesky.LogDet() + n) / 2
}

// The grid of kernels: 180 fits of at most fitPoints points each, which keeps a choice cheap however long the journal.
// Unlike a gradient search it cannot end in a local maximum that depends on where it started.
var (
	lengths   = []float64{0.05, 0.1, 0.2, 0.4, 0.8, 1.6}
	forgets   = []float64{0, 0.05, 0.1, 0.2, 0.35, 0.5}
	noises    = []float64{1e-3, 1e-2, 0.1, 0.3, 1}
	fitPoints = 100
)

// fitKernel is the most likely kernel on the grid for the latest observations; false when none is possible.
func fitKernel(points []point, y []float64) (kernel, bool) {
	if n := len(points); n > fitPoints {
		points, y = points[n-fitPoints:], y[n-fitPoints:]
	}
	var best kernel
	greatest := math.Inf(-1)
	for _, length := range lengths {
		for _, forget := range forgets {
			for _, noise := range noises {
				p := newProcess(kernel{length: length, forget: forget, noise: noise}, points, y)
				if p == nil {
					continue
				}
				if l := p.logLikelihood(y); l > greatest {
					best, greatest = p.kernel, l
				}
			}
		}
	}
	return best, !math.IsInf(greatest, -1)
}
