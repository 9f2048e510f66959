package explore

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// cloud is n random points of d features with observations.
func cloud(n, d int, rng *rand.Rand) ([]point, []float64) {
	points, y := make([]point, n), make([]float64, n)
	for i := range points {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.Float64()
		}
		points[i] = point{x: x, time: float64(rng.IntN(6))}
		y[i] = rng.NormFloat64()
	}
	return points, y
}

// TestProcessAgainstTheTextbook compares the Cholesky way with inverting the covariance matrix, element by element from
// the kernel's formula.
func TestProcessAgainstTheTextbook(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	points, y := cloud(25, 3, rng)
	k := kernel{length: 0.4, forget: 0.2, noise: 0.1}
	p := newProcess(k, points, y)
	covariance := func(a, b point) float64 {
		square := 0.0
		for i := range a.x {
			square += (a.x[i] - b.x[i]) * (a.x[i] - b.x[i])
		}
		return math.Exp(-square/2/0.16) * math.Pow(0.8, math.Abs(a.time-b.time)/2)
	}
	n := len(points)
	r := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			r.Set(i, j, covariance(points[i], points[j]))
		}
		r.Set(i, i, 1.1)
	}
	var inverse mat.Dense
	if err := inverse.Inverse(r); err != nil {
		t.Fatal(err)
	}
	obs := mat.NewVecDense(n, y)
	// The likelihood, with the most likely variance.
	variance := mat.Inner(obs, &inverse, obs) / float64(n)
	logDet, _ := mat.LogDet(r)
	want := -float64(n)/2*math.Log(2*math.Pi) - (logDet+float64(n)*math.Log(variance))/2 - mat.Inner(obs, &inverse, obs)/variance/2
	if got := p.logLikelihood(y); math.Abs(got-want) > 1e-9 || math.Abs(p.kernel.variance-variance) > 1e-12 {
		t.Errorf("the log likelihood is %v with variance %v, want %v with %v", got, p.kernel.variance, want, variance)
	}
	for range 20 {
		at := point{x: []float64{rng.Float64(), rng.Float64(), rng.Float64()}, time: rng.Float64() * 8}
		c := mat.NewVecDense(n, nil)
		for i, q := range points {
			c.SetVec(i, covariance(at, q))
		}
		if got, want := p.mean(at), mat.Inner(c, &inverse, obs); math.Abs(got-want) > 1e-9 {
			t.Errorf("the mean is %v, want %v", got, want)
		}
		if got, want := p.deviation(at), math.Sqrt(variance*(1-mat.Inner(c, &inverse, c))); math.Abs(got-want) > 1e-9 {
			t.Errorf("the deviation is %v, want %v", got, want)
		}
	}
}

// TestKernelIsTheMostLikely draws observations from a process and looks for its kernel.
func TestKernelIsTheMostLikely(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	points, _ := cloud(100, 1, rng)
	truth := kernel{length: 0.2, forget: 0.5, noise: 0.01}
	var l mat.TriDense
	newProcess(truth, points, nil).cholesky.LTo(&l)
	draw := mat.NewVecDense(len(points), nil)
	for i := range points {
		draw.SetVec(i, rng.NormFloat64())
	}
	var v mat.VecDense
	v.MulVec(&l, draw)
	y := v.RawVector().Data
	k, ok := fitKernel(points, y)
	if !ok || k.length < 0.1 || k.length > 0.4 || k.forget < 0.35 || k.noise > 0.1 || k.variance < 0.5 || k.variance > 2 {
		t.Errorf("the most likely kernel is %+v, %t; the observations come from %+v", k, ok, truth)
	}
	best := newProcess(k, points, y).logLikelihood(y)
	for _, length := range lengths {
		if l := newProcess(kernel{length: length, forget: k.forget, noise: k.noise}, points, y).logLikelihood(y); l > best+1e-9 {
			t.Errorf("length %v is likelier than %v", length, k.length)
		}
	}
}

func TestStandardise(t *testing.T) {
	y := []float64{1e-9, 2e-9, 3e-9, 4e-9}
	standardise(y)
	if m, s := stat.PopMeanStdDev(y, nil); math.Abs(m) > 1e-9 || math.Abs(s-1) > 1e-6 {
		t.Errorf("standardised to %v", y)
	}
	y = []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 1e300}
	if standardise(y); y[9] != 2 {
		t.Errorf("the outlier is %v, want 2", y[9])
	}
	for _, same := range [][]float64{{7, 7}, {0, 0, 0}, {5e-324, 5e-324}} {
		if standardise(same); same[0] != 0 || same[1] != 0 {
			t.Errorf("equal numbers became %v", same)
		}
	}
}

// at is an event with an objective.
func at(kind journal.Kind, iteration int64, member int, objective float64, a float64) journal.Event {
	return journal.Event{Kind: kind, Iteration: iteration, Member: member, Parent: -1, Steps: iteration * 10, Objective: objective, HasObjective: true, Before: map[string]float64{"a": a}}
}

func from(e journal.Event, parent int, after float64) journal.Event {
	if e.Kind == journal.Replace {
		e.Parent, e.ParentSteps = parent, e.Steps
	}
	e.After = map[string]float64{"a": after}
	return e
}

func TestWhatPB2Learns(t *testing.T) {
	start := func(member int, a float64) journal.Event {
		return journal.Event{Kind: journal.Start, Member: member, Parent: -1, After: map[string]float64{"a": a}}
	}
	unknown := at(journal.Keep, 1, 3, 0, 4)
	unknown.HasObjective = false
	failed := at(journal.Failed, 2, 2, 30, 3)
	failed.Steps = 15
	rescued := from(at(journal.Replace, 2, 2, 30, 3), 1, 2.5)
	rescued.Steps, rescued.HasObjective, rescued.ParentSteps = 15, false, 20
	final := at(journal.Final, 4, 2, 85, 2.5)
	final.Steps = 35
	events := []journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{}}, start(0, 1), start(1, 2), start(2, 3), start(3, 4),
		from(at(journal.Replace, 1, 0, 10, 1), 1, 1.5), at(journal.Keep, 1, 1, 20, 2), at(journal.Keep, 1, 2, 30, 3), unknown,
		failed, from(at(journal.SelfMutate, 2, 0, 25, 1.5), 0, 1.7), at(journal.ApplyFailed, 2, 1, 50, 2), rescued, at(journal.Keep, 2, 3, 40, 4),
		at(journal.Keep, 3, 0, 26, 1.7), at(journal.Keep, 3, 1, math.NaN(), 2), from(at(journal.Replace, 3, 3, 39, 4), 0, 1.9),
		final,
	}
	// Member 0 went from the source's 20 to 25 and then to 26, member 1 from 20 to 50, member 3 from 40 to 39; the rest
	// has no beginning or no end. Member 2 went on from member 1's 50 at step 20 to 85 after 20 steps.
	want := []trial{
		{time: 2, score: 20, values: []float64{1.5}, gain: 0.5},
		{time: 2, score: 20, values: []float64{2}, gain: 3},
		{time: 3, score: 25, values: []float64{1.7}, gain: 0.1},
		{time: 3, score: 40, values: []float64{4}, gain: -0.1},
		{time: 4, score: 50, values: []float64{2.5}, gain: 1.75},
	}
	d := PB2{Bounds: map[string]Range{"a": {Low: 0, High: 10}}}.learn(events)
	opts := cmp.AllowUnexported(trial{}, standing{})
	if diff := cmp.Diff(want, d.trials, opts); diff != "" {
		t.Errorf("learned trials (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]trial{{time: 4, score: 26, values: []float64{1.9}}}, d.pending, opts); diff != "" {
		t.Errorf("pending trials (-want +got):\n%s", diff)
	}
	if d.now != 4 {
		t.Errorf("now is %v", d.now)
	}
	for a, want := range map[float64]float64{1.7: 26, 1.9: 26, 4: 39, 2.5: 85, 7: 85} {
		if got := d.scoreOf([]float64{a}); got != want {
			t.Errorf("the objective that comes with %v is %v, want %v", a, got, want)
		}
	}
	less := PB2{Bounds: map[string]Range{"a": {Low: 0, High: 10}}}.learn(minimised(events))
	for i, tr := range less.trials {
		if tr.gain != -want[i].gain || tr.score != -want[i].score {
			t.Errorf("minimising, trial %d is %+v", i, tr)
		}
	}
}

// tried is a journal of n members over some intervals, whose objective grows by gain(a, b, interval) in each.
func tried(n, intervals int, rng *rand.Rand, draw func() (a, b float64), gain func(a, b float64, interval int) float64) []journal.Event {
	events := []journal.Event{{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{}}}
	scores := make([]float64, n)
	values := make([]map[string]float64, n)
	next := func() map[string]float64 {
		a, b := draw()
		return map[string]float64{"a": a, "b": b, "other": 5}
	}
	for id := range n {
		values[id] = next()
		events = append(events, journal.Event{Kind: journal.Start, Member: id, Parent: -1, After: values[id]})
	}
	for k := 1; k <= intervals; k++ {
		for id := range n {
			scores[id] += gain(values[id]["a"], values[id]["b"], k)
			e := journal.Event{Kind: journal.SelfMutate, Iteration: int64(k), Member: id, Parent: -1, Steps: int64(k) * 100, Objective: scores[id], HasObjective: true, Before: values[id]}
			if k < intervals {
				e.After = next()
				values[id] = e.After
			} else {
				e.Kind = journal.Keep
			}
			events = append(events, e)
		}
	}
	return events
}

var square = PB2{Bounds: map[string]Range{"a": {Low: -1, High: 3}, "b": {Low: 1e-5, High: 1e-1, Log: true}}}

// hill is highest, 1, at a = 2 and b = 1e-4.
// minimised is the journal of a population that minimises.
func minimised(events []journal.Event) []journal.Event {
	run := journal.Event{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: journal.Schema, Minimise: true}}
	return append([]journal.Event{run}, events...)
}

func hill(a, b float64, _ int) float64 {
	x, y := (a-2)/4, (math.Log10(b)+4)/4
	return math.Exp(-(x*x + y*y) * 8)
}

func anywhere(rng *rand.Rand) func() (a, b float64) {
	return func() (float64, float64) { return -1 + 4*rng.Float64(), math.Pow(10, -5+4*rng.Float64()) }
}

func TestPB2FindsTheOptimum(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	events := tried(8, 12, rng, anywhere(rng), hill)
	informed := square.Fit(events, nil)
	b, ok := informed.(*bandit)
	if !ok {
		t.Fatalf("informed, it is a %T", informed)
	}
	given := events[len(events)-1].Before
	values := informed.Apply(given, rng)
	if math.Abs(values["a"]-2) > 0.5 || math.Abs(math.Log10(values["b"])+4) > 0.5 || values["other"] != 5 {
		t.Errorf("chose %v, want about a = 2, b = 1e-4", values)
	}
	// No place on a fine grid is better than the one chosen.
	score := b.learned.scoreOf([]float64{given["a"], given["b"]})
	place := func(values []float64) float64 {
		return b.bound(b.point(trial{time: b.learned.now + 1, score: score, values: values}))
	}
	chosen, greatest := place([]float64{values["a"], values["b"]}), math.Inf(-1)
	for i := range 61 {
		for j := range 61 {
			greatest = max(greatest, place([]float64{square.at("a", float64(i)/60), square.at("b", float64(j)/60)}))
		}
	}
	if chosen < greatest-1e-3 {
		t.Errorf("the bound chosen is %v, on a grid there is %v", chosen, greatest)
	}
	// The opposite objective has its best far away.
	if v := square.Fit(minimised(events), nil).Apply(given, rng); hill(v["a"], v["b"], 0) > 0.3 {
		t.Errorf("minimising, it chose %v", v)
	}
}

// TestPB2ForgetsOldTimes moves the optimum while it watches.
func TestPB2ForgetsOldTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	moving := func(a, _ float64, interval int) float64 {
		best := 0.0
		if interval > 10 {
			best = 2.5
		}
		return math.Exp(-(a - best) * (a - best) / 2)
	}
	p := PB2{Bounds: map[string]Range{"a": {Low: -1, High: 3}}}
	for _, test := range []struct {
		intervals int
		want      float64
	}{{10, 0}, {20, 2.5}} {
		events := tried(8, test.intervals, rng, anywhere(rng), moving)
		if v := p.Fit(events, nil).Apply(events[len(events)-1].Before, rng)["a"]; math.Abs(v-test.want) > 0.6 {
			t.Errorf("after %d intervals it chose %v, want about %v", test.intervals, v, test.want)
		}
	}
}

// TestPB2SpreadsConcurrentPicks: what a member was given a moment ago is not as uncertain for the next one. All copy the
// same source.
func TestPB2SpreadsConcurrentPicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	events := tried(5, 4, rng, anywhere(rng), hill)
	last := len(events) - 5
	source := events[last]
	score := source.Objective
	var picks []map[string]float64
	for id := 1; id < 5; id++ {
		e := square.Fit(events, nil)
		b := e.(*bandit)
		if got := len(b.doubts.points) - len(b.gains.points); got != id-1 {
			t.Fatalf("%d pending trials before member %d", got, id)
		}
		for i, pick := range picks {
			at := b.point(trial{time: b.learned.now + 1, score: score, values: []float64{pick["a"], pick["b"]}})
			if known, doubt := b.gains.deviation(at), b.doubts.deviation(at); doubt > 0.7*known {
				t.Errorf("before member %d the doubt about pick %d is %v, without it %v", id, i, doubt, known)
			}
		}
		picks = append(picks, e.Apply(source.Before, rng))
		events = slices.Clone(events)
		taken := &events[last+id]
		taken.Kind, taken.Parent, taken.ParentSteps, taken.After = journal.Replace, 0, source.Steps, picks[id-1]
	}
	for i, p := range picks {
		for _, q := range picks[:i] {
			if math.Abs(square.unit("a", p["a"])-square.unit("a", q["a"]))+math.Abs(square.unit("b", p["b"])-square.unit("b", q["b"])) < 0.02 {
				t.Errorf("two members were given the same: %v, %v", p, q)
			}
		}
	}
}

func TestPB2BeginsUniformly(t *testing.T) {
	p := PB2{Bounds: map[string]Range{"a": {Low: 2, High: 6}, "b": {Low: 1e-4, High: 1, Log: true}, "n": {Low: 1, High: 9}, "absent": {Low: 0, High: 1}}, Integers: []string{"n"}}
	rng := rand.New(rand.NewPCG(1, 2))
	few := tried(2, 2, rng, anywhere(rng), hill) // two intervals that can be learned from
	for _, e := range []Explorer{p, p.Fit(nil, nil), square.Fit(few, nil)} {
		if _, ok := e.(PB2); !ok {
			t.Errorf("with hardly any data the explorer is a %T", e)
		}
	}
	got := p.Apply(map[string]float64{"a": 0, "b": 0, "n": 0, "c": 7}, &draws{t: t, list: []float64{0.25, 0.5, 0.99}})
	if math.Abs(got["b"]-0.01) > 1e-12 || got["a"] != 3 || got["n"] != 9 || got["c"] != 7 || len(got) != 4 {
		t.Errorf("drew %v", got)
	}
	enough := square
	enough.MinRows = 2
	if e, ok := enough.Fit(few, nil).(*bandit); !ok {
		t.Errorf("with MinRows at 2 the explorer is a %T", e)
	}
	enough.Rows = 3
	if b := enough.Fit(tried(3, 4, rng, anywhere(rng), hill), nil).(*bandit); len(b.gains.points) != 3 || b.gains.points[0].time != 4 {
		t.Errorf("it remembers %d intervals from %v on, want the last 3", len(b.gains.points), b.gains.points[0].time)
	}
}

// TestPB2IsPureAndStaysInside repeats itself on random journals with whatever objectives.
func TestPB2IsPureAndStaysInside(t *testing.T) {
	p := PB2{Bounds: map[string]Range{"a": {Low: -1, High: 3}, "b": {Low: 1e-5, High: 1e-1, Log: true}, "n": {Low: 1, High: 4}}, Integers: []string{"n"}}
	objectives := []float64{0, 1, -1, 1e300, -1e300, math.NaN(), math.Inf(1), math.Inf(-1), 1e-310, 3, 3, 3}
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		wild := func(_, _ float64, _ int) float64 {
			if seed == 0 {
				return 0
			}
			return objectives[rng.IntN(len(objectives))]
		}
		events := tried(5, 5, rng, anywhere(rng), wild)
		for i := range events {
			for _, values := range []map[string]float64{events[i].Before, events[i].After} {
				if values != nil {
					values["n"] = float64(rng.IntN(9)) // bounds may have been others then
				}
			}
		}
		before, err := json.Marshal(events)
		if err != nil {
			t.Fatal(err)
		}
		given := map[string]float64{"a": 0, "b": 0.1, "n": 2, "c": 1}
		e := p.Fit(events, nil)
		var first map[string]float64
		for range 3 {
			got := e.Apply(given, rand.New(rand.NewPCG(7, seed)))
			for key, r := range p.Bounds {
				if v := got[key]; !(v >= r.Low && v <= r.High) {
					t.Fatalf("seed %d: %s is %v", seed, key, v)
				}
			}
			if got["n"] != math.Trunc(got["n"]) || got["c"] != 1 || len(got) != 4 {
				t.Fatalf("seed %d: chose %v", seed, got)
			}
			if first == nil {
				first = got
			}
			if !maps.Equal(first, got) {
				t.Fatalf("seed %d: chose %v, then %v", seed, first, got)
			}
			e = p.Fit(events, nil)
		}
		if after, _ := json.Marshal(events); string(after) != string(before) || given["a"] != 0 {
			t.Fatal("the events or the values changed")
		}
	}
}

func TestPB2Validate(t *testing.T) {
	good := Range{Low: 0, High: 1}
	for name, p := range map[string]PB2{
		"no bounds":          {},
		"unknown":            {Bounds: map[string]Range{"c": good}},
		"descending":         {Bounds: map[string]Range{"a": {Low: 1, High: 0}}},
		"empty":              {Bounds: map[string]Range{"a": {Low: 1, High: 1}}},
		"NaN":                {Bounds: map[string]Range{"a": {Low: math.NaN(), High: 1}}},
		"infinite":           {Bounds: map[string]Range{"a": {Low: 0, High: math.Inf(1)}}},
		"too wide":           {Bounds: map[string]Range{"a": {Low: -math.MaxFloat64, High: math.MaxFloat64}}},
		"logarithm of zero":  {Bounds: map[string]Range{"a": {Low: 0, High: 1, Log: true}}},
		"unknown integer":    {Bounds: map[string]Range{"a": good}, Integers: []string{"b"}},
		"broken integer":     {Bounds: map[string]Range{"a": {Low: 0.5, High: 2}}, Integers: []string{"a"}},
		"negative rows":      {Bounds: map[string]Range{"a": good}, Rows: -1},
		"negative beginning": {Bounds: map[string]Range{"a": good}, MinRows: -1},
	} {
		if err := p.Validate([]string{"a", "b"}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := square.Validate([]string{"a", "b"}); err != nil {
		t.Error(err)
	}
}
