package infer

import (
	"math"

	"github.com/gorl-dev/gorl/models/description"
)

// chunk is the number of products that are summed in float32 before the sum is added to one in float64: as quick as
// float32 alone, and much nearer to the exact sum.
const chunk = 64

// linear computes n rows of y = x·Wᵀ + b. Four rows at a time share a row of weights; what is left over takes four rows
// of weights at a time. Both sum in the same order.
func linear(x, weight, bias, y []float32, n int) {
	out, in := len(y)/n, len(x)/n
	r := 0
	for ; r+4 <= n; r += 4 {
		x0, x1, x2, x3 := x[r*in:(r+1)*in], x[(r+1)*in:(r+2)*in], x[(r+2)*in:(r+3)*in], x[(r+3)*in:(r+4)*in]
		for o := range out {
			s0, s1, s2, s3 := dots(weight[o*in:(o+1)*in], x0, x1, x2, x3)
			b := 0.0
			if bias != nil {
				b = float64(bias[o])
			}
			y[r*out+o], y[(r+1)*out+o] = float32(s0+b), float32(s1+b)
			y[(r+2)*out+o], y[(r+3)*out+o] = float32(s2+b), float32(s3+b)
		}
	}
	for ; r < n; r++ {
		row(x[r*in:(r+1)*in], weight, bias, y[r*out:(r+1)*out])
	}
}

// row is linear for one row.
func row(x, weight, bias, y []float32) {
	in, o := len(x), 0
	for ; o+4 <= len(y); o += 4 {
		w := weight[o*in : (o+4)*in]
		s0, s1, s2, s3 := dots(x, w[:in], w[in:2*in], w[2*in:3*in], w[3*in:])
		y[o], y[o+1], y[o+2], y[o+3] = float32(s0), float32(s1), float32(s2), float32(s3)
		if bias != nil {
			y[o], y[o+1] = float32(s0+float64(bias[o])), float32(s1+float64(bias[o+1]))
			y[o+2], y[o+3] = float32(s2+float64(bias[o+2])), float32(s3+float64(bias[o+3]))
		}
	}
	for ; o < len(y); o++ {
		w := weight[o*in : (o+1)*in]
		s, _, _, _ := dots(x, w, w, w, w)
		if bias != nil {
			s += float64(bias[o])
		}
		y[o] = float32(s)
	}
}

// dots returns the inner products of x with four rows as long.
func dots(x, a, b, c, d []float32) (sa, sb, sc, sd float64) {
	for len(x) > 0 {
		n := min(len(x), chunk)
		u := x[:n]
		p, q, r, s := a[:len(u)], b[:len(u)], c[:len(u)], d[:len(u)]
		var ta, tb, tc, td float32
		for i, v := range u {
			ta += v * p[i]
			tb += v * q[i]
			tc += v * r[i]
			td += v * s[i]
		}
		sa, sb, sc, sd = sa+float64(ta), sb+float64(tb), sc+float64(tc), sd+float64(td)
		x, a, b, c, d = x[n:], a[n:], b[n:], c[n:], d[n:]
	}
	return sa, sb, sc, sd
}

// The constants of the self-normalising exponential linear unit (Klambauer et al. 2017).
const (
	seluAlpha = 1.6732632423543772848170429916717
	seluScale = 1.0507009873554804934193349852946
)

// activate applies an activation of PyTorch's, or an operation on single values, in place.
func activate(name string, y []float32) {
	switch name {
	case "", "identity":
	case "relu": // much faster than a call for each value
		for i, x := range y {
			y[i] = max(x, 0)
		}
	default:
		f := functions[name]
		for i, x := range y {
			y[i] = float32(f(float64(x)))
		}
	}
}

// functions are the activations and the operations that change every value by a function.
var functions = map[string]func(x float64) float64{
	description.Neg: func(x float64) float64 { return -x },
	description.Exp: math.Exp,
	description.Abs: math.Abs,
	description.Sin: math.Sin,
	description.Cos: math.Cos,
	"leaky_relu":    func(x float64) float64 { return max(x, 0.01*x) },
	"elu": func(x float64) float64 {
		if x < 0 {
			return math.Expm1(x)
		}
		return x
	},
	"selu": func(x float64) float64 {
		if x < 0 {
			return seluScale * seluAlpha * math.Expm1(x)
		}
		return seluScale * x
	},
	"softsign": func(x float64) float64 { return x / (1 + math.Abs(x)) },
	"tanh":     math.Tanh,
	"sigmoid":  sigmoid,
	"silu":     func(x float64) float64 { return x * sigmoid(x) },
	"gelu":     func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) },
	"softplus": func(x float64) float64 {
		if x > 20 {
			return x
		}
		return math.Log1p(math.Exp(x))
	},
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
