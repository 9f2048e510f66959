package simulate

import (
	"math"
	"strings"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
)

// Landscapes are a guess for settings about whose real landscape nothing is known: of every hyperparameter that the
// options tune, the optimum lies distance decades from where members begin, upwards for the first, downwards for the
// second and so on, and drifts by drift decades; within the bounds that the options give. The width grows with the
// square root of their number, so that the difficulty does not.
func Landscapes(o pbt.Options, distance, drift, width float64) map[string]Landscape {
	keys := tuned(o)
	landscapes := make(map[string]Landscape, len(keys))
	for i, key := range keys {
		l := Landscape{Start: middle(o, key), Drift: drift, Width: width * math.Sqrt(float64(len(keys)))}
		l.OneMinus = discounts(o, key) && l.Start < 1
		if l.side(l.Start) <= 0 { // distances in decades have no meaning
			continue
		}
		shift := math.Pow(10, distance)
		if i%2 == 1 {
			shift = 1 / shift
		}
		l.Optimum = l.Start * shift
		if l.OneMinus {
			l.Optimum = 1 - (1-l.Start)/shift
		}
		if b, ok := explorer(o).BoundsOf(key); ok {
			l.Optimum = min(max(l.Optimum, b[0]), b[1])
		}
		if number.Finite(l.Optimum) && l.side(l.Optimum) > 0 {
			landscapes[key] = l
		}
	}
	return landscapes
}

// explorer returns the population's explorer, one that changes nothing if there is none.
func explorer(o pbt.Options) explore.Explorer {
	if o.Explore == nil {
		return explore.Mutation{}
	}
	return o.Explore
}

// tuned returns the hyperparameters that the options name, sorted: those that are explored, sampled or set. A pattern
// such as "env.*" stands for one hyperparameter, since the environments of synthetic members have none of their own.
func tuned(o pbt.Options) []string {
	var standIns []string
	for _, key := range explorer(o).Keys() {
		if prefix, ok := strings.CutSuffix(key, "*"); ok {
			standIns = append(standIns, prefix+"any")
		}
	}
	return o.Tuned(standIns)
}

// middle returns where a member begins: what Initial says, else the middle of what can be drawn, else of the bounds,
// else a usual value, 0.99 for discount factors and 1 for all others. It lies inside the bounds, which a population
// checks when members begin.
func middle(o pbt.Options, key string) float64 {
	for _, initial := range o.Initial {
		if v, ok := initial[key]; ok {
			return v
		}
	}
	if r, ok := o.Sample[key]; ok {
		return between(r.Low, r.High, r.Log)
	}
	var p explore.Parameter
	if m, ok := explorer(o).(explore.Mutation); ok {
		p = m.Parameters[key]
	}
	usual := 1.0
	if discounts(o, key) {
		usual = 0.99
	}
	switch b, bounded := explorer(o).BoundsOf(key); {
	case p.Default != nil:
		return *p.Default
	case len(p.Choices) > 0:
		return p.Choices[len(p.Choices)/2]
	case p.Sample != (explore.Range{}):
		return between(p.Sample.Low, p.Sample.High, p.Sample.Log)
	case bounded && number.Finite(b[0]) && number.Finite(b[1]):
		return between(b[0], b[1], b[0] > 0)
	case bounded:
		return min(max(usual, b[0]), b[1])
	}
	return usual
}

// between returns the middle of a range, with log that of the logarithms: a learning rate between 1e-5 and 1e-3 is in
// the middle at 1e-4, not at 5e-4. Of a range between whole numbers it is a whole number.
func between(low, high float64, log bool) float64 {
	v := low + (high-low)/2
	if log {
		v = math.Sqrt(low) * math.Sqrt(high)
	}
	if low == math.Trunc(low) && high == math.Trunc(high) { // perhaps only whole numbers will do
		v = math.Round(v)
	}
	return min(max(v, low), high)
}

// discounts reports whether a hyperparameter is one of those close to one, such as a discount factor, whose distance
// from one is what counts.
func discounts(o pbt.Options, key string) bool {
	if m, ok := o.Explore.(explore.Mutation); ok {
		for _, rule := range []explore.Rule{m.Rules[key], m.Parameters[key].Rule} {
			if rule != nil && strings.Contains(rule.Name(), "discount") {
				return true
			}
		}
	}
	return key == "discount_factor" || key == "gae_lambda"
}
