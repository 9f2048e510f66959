package explore

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// goldenPB2 is the file testdata/pb2/ray.json. make.py beside it writes the file with the original program.
// Hyperparameters are in the order of the original, which is the reverse of gorl's.
type goldenPB2 struct {
	Bounds                   map[string][2]float64
	Rows, Pending            [][]float64
	Gains, Newpoint, Context []float64
	X, Covariance            [][]float64
	Y                        []float64
	Variance, Length         float64
	Epsilon                  float64
	Likelihood               float64
	Fixed                    goldenBound
	Fitted                   struct {
		goldenBound
		Kernels     [][]float64
		Likelihoods []float64
	}
	// Selected is what Ray Tune's whole choice returns.
	Selected []float64
}

// goldenBound is what two processes predict at places of the hyperparameters, and the best place.
type goldenBound struct {
	Places                [][]float64
	Mean, Variance, Bound []float64
	Chosen                []float64
	ChosenBound           float64 `json:"chosen_bound"`
}

func reversed(values []float64) []float64 { return []float64{values[1], values[0]} }

// bandit returns gorl's model of the file's trials, and the context of the choice.
func (g *goldenPB2) bandit() (*bandit, trial) {
	p := PB2{Bounds: map[string]Range{}}
	for key, b := range g.Bounds {
		p.Bounds[key] = Range{Low: b[0], High: b[1]}
	}
	var d learned
	for i, r := range g.Rows {
		d.trials = append(d.trials, trial{time: r[0], score: r[1], values: reversed(r[2:]), gain: g.Gains[i]})
	}
	for _, values := range g.Pending {
		d.pending = append(d.pending, reversed(values))
	}
	return newBandit(p, d), trial{time: g.Newpoint[0], score: g.Newpoint[1], values: d.trials[0].values}
}

// TestPB2IsTheOriginal compares PB2 with Ray Tune's program: inputs, covariances, likelihood, posterior, bound and the
// chosen place, of processes with given parameters and of Ray Tune's fitted ones.
func TestPB2IsTheOriginal(t *testing.T) {
	var g goldenPB2
	must.Do(t, json.Unmarshal(must.Read(t, filepath.Join("testdata", "pb2", "ray.json")), &g))
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		must.Near(t, got, want, tolerance*max(1, math.Abs(want)), "%s", what)
	}
	b, context := g.bandit()
	for i, x := range g.X {
		q := b.points[i]
		for k, got := range []float64{q.time, q.x[0], q.x[2], q.x[1]} {
			near("input", got, x[k], 1e-12)
		}
		near("gain", b.gains[i], g.Y[i], 1e-12)
	}
	near("context", b.point(context).time, g.Context[0], 1e-12)
	near("context", b.point(context).x[0], g.Context[1], 1e-12)

	doubts := b.varianceModel(context)
	for i, q := range []*process{b.model, doubts} {
		near("fitted likelihood", q.likelihood(make([]float64, 3)), g.Fitted.Likelihoods[i], 1e-6)
		for k, want := range g.Fitted.Kernels[i] {
			near("fitted kernel", q.kernel[k], want, 1e-4)
		}
	}
	g.Fitted.compare(b, context, doubts, near, "fitted ", 1e-4)
	b.learned.before = []standing{{values: context.values, latest: context}}
	got := b.Apply(map[string]float64{"gae_lambda": context.values[0], "learning_rate": context.values[1]},
		rand.New(rand.NewPCG(1, 2)))
	for i, key := range []string{"learning_rate", "gae_lambda"} {
		near("selected, of the range", b.unit(key, got[key]), b.unit(key, g.Selected[i]), 1e-3)
	}
	fixed := kernel{g.Variance, g.Length, g.Epsilon}
	for i, row := range g.Covariance {
		for j, want := range row {
			near("covariance", fixed.covariance(b.points[i], b.points[j]), want, 1e-12)
		}
	}
	b.model = newProcess(fixed, b.points, b.gains, jitter)
	near("likelihood", b.model.likelihood(make([]float64, 3)), g.Likelihood, 1e-6)
	doubts = newProcess(fixed, b.varianceModel(context).points, append(b.gains, 0, 0), jitter)
	g.Fixed.compare(b, context, doubts, near, "fixed ", 1e-6)
}

// compare compares the posterior, the bound and the best place.
func (g *goldenBound) compare(b *bandit, context trial, doubts *process,
	near func(what string, got, want, tolerance float64), kind string, tolerance float64) {
	at := b.point(context)
	gradient := make([]float64, len(at.x))
	bound := func(place []float64) float64 {
		copy(at.x[1:], reversed(place))
		return b.bound(at, doubts, gradient)
	}
	for i, place := range g.Places {
		near(kind+"bound", bound(place), g.Bound[i], tolerance)
		near(kind+"mean", b.model.mean(at, 0, gradient), g.Mean[i], tolerance)
		near(kind+"variance", doubts.variance(at, 0, gradient), g.Variance[i], tolerance)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	starts := make([][]float64, banditStarts)
	for i := range starts {
		starts[i] = []float64{rng.Float64(), rng.Float64()}
	}
	chosen := b.search(context, doubts, starts)
	near(kind+"bound of the choice", bound(reversed(chosen)), g.ChosenBound, tolerance)
	for i, x := range reversed(chosen) {
		near(kind+"choice", x, g.Chosen[i], 1e-3)
	}
}
