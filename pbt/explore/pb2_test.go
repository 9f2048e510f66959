package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// at is an event with an objective.
func at(kind journal.Kind, iteration int64, member int, objective float64, a float64) journal.Event {
	return journal.Event{Kind: kind, Iteration: iteration, Member: member, Parent: -1, Steps: iteration * 10,
		Objective: objective, HasObjective: true, Before: map[string]float64{"a": a}}
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
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{}}, start(0, 1), start(1, 2),
		start(2, 3), start(3, 4),
		from(at(journal.Replace, 1, 0, 10, 1), 1, 1.5), at(journal.Keep, 1, 1, 20, 2), at(journal.Keep, 1, 2, 30, 3),
		unknown, failed, from(at(journal.SelfMutate, 2, 0, 25, 1.5), 0, 1.7), at(journal.ApplyFailed, 2, 1, 50, 2),
		rescued, at(journal.Keep, 2, 3, 40, 4),
		at(journal.Keep, 3, 0, 26, 1.7), at(journal.Keep, 3, 1, math.NaN(), 2),
		from(at(journal.Replace, 3, 3, 39, 4), 0, 1.9), final,
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
	p := PB2{Bounds: map[string]Range{"a": {Low: 0, High: 10}}}
	d, opts := p.learn(events), cmp.AllowUnexported(trial{})
	must.Equal(t, "learned trials", want, d.trials, opts)
	// Member 3 was given 1.9 in iteration 3, which counts until a member has come further.
	if d.pending != nil {
		t.Errorf("pending after interval 4: %v", d.pending)
	}
	must.Equal(t, "pending values", [][]float64{{1.9}}, p.learn(events[:len(events)-1]).pending)
	for a, i := range map[float64]int{1.7: 2, 1.9: 3, 4: 3, 2.5: 4, 7: 4} {
		must.Equal(t, fmt.Sprint("the latest trial with ", a), d.trials[i], d.base([]float64{a}).latest, opts)
	}
	for i, tr := range p.learn(minimised(events)).trials {
		if tr.gain != -want[i].gain || tr.score != -want[i].score {
			t.Errorf("minimising, trial %d is %+v", i, tr)
		}
	}
}

// tried is a journal of n members over some intervals, whose objective grows by gain(a, b, interval) in each.
func tried(n, intervals int, rng *rand.Rand, draw func() (a, b float64),
	gain func(a, b float64, interval int) float64) []journal.Event {
	events := []journal.Event{{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{}}}
	scores, values := make([]float64, n), make([]map[string]float64, n)
	next := func() map[string]float64 {
		a, b := draw()
		return map[string]float64{"a": a, "b": b, "other": 5}
	}
	for id := range n {
		values[id] = next()
		events = append(events, journal.Event{Kind: journal.Start, Member: id, Parent: -1, After: values[id]})
	}
	for k := range int64(intervals) {
		for id := range n {
			scores[id] += gain(values[id]["a"], values[id]["b"], int(k)+1)
			e := journal.Event{Kind: journal.SelfMutate, Iteration: k + 1, Member: id, Parent: -1, Steps: 100 * (k + 1),
				Objective: scores[id], HasObjective: true, Before: values[id], After: next()}
			values[id] = e.After
			events = append(events, e)
		}
	}
	return events
}

var square = PB2{Bounds: map[string]Range{"a": {Low: -1, High: 3}, "b": {Low: 1e-5, High: 1e-1, Log: true}}}

// minimised is the journal of a population that minimises.
func minimised(events []journal.Event) []journal.Event {
	run := journal.Event{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: journal.Schema,
		Minimise: true}}
	return append([]journal.Event{run}, events...)
}

// hill is highest, 1, at a = 2 and b = 1e-4.
func hill(a, b float64, _ int) float64 {
	x, y := (a-2)/4, (math.Log10(b)+4)/4
	return math.Exp(-(x*x + y*y) * 8)
}

func anywhere(rng *rand.Rand) func() (a, b float64) {
	return func() (float64, float64) { return -1 + 4*rng.Float64(), math.Pow(10, -5+4*rng.Float64()) }
}

// Before training values are drawn uniformly. Afterwards they stay until there is a trial of the source to learn from.
func TestPB2BeginsUniformly(t *testing.T) {
	p := PB2{Bounds: map[string]Range{"a": {Low: 2, High: 6}, "b": {Low: 1e-4, High: 1, Log: true},
		"absent": {Low: 0, High: 1}}}
	got := p.Fit(nil, nil).Apply(map[string]float64{"a": 0, "b": 0, "c": 7},
		&draws{t: t, list: []float64{0.25, 0.5}})
	if math.Abs(got["b"]-0.01) > 1e-12 || got["a"] != 3 || got["c"] != 7 || len(got) != 3 {
		t.Errorf("drew %v", got)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	few := tried(2, 1, rng, anywhere(rng), hill) // the objectives at the beginning are not known
	given := few[len(few)-1].Before
	must.Equal(t, "after one interval", given, square.Fit(few, nil).Apply(given, rng))
	p = square
	p.Rows = 3
	if b := p.Fit(tried(3, 4, rng, anywhere(rng), hill), nil).(*bandit); len(b.learned.trials) != 3 ||
		b.learned.trials[0].time != 4 {
		t.Errorf("it remembers %d intervals from %v on, want the last 3", len(b.learned.trials),
			b.learned.trials[0].time)
	}
}

// TestPB2IsPureAndStaysInside repeats itself on random journals with whatever objectives.
func TestPB2IsPureAndStaysInside(t *testing.T) {
	objectives := []float64{0, 1, -1, 1e300, -1e300, math.NaN(), math.Inf(1), math.Inf(-1), 1e-310, 3, 3, 3}
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		events := tried(5, 5, rng, anywhere(rng), func(_, _ float64, _ int) float64 {
			return objectives[rng.IntN(1+int(seed))] // at first always the same
		})
		before := must.Get(json.Marshal(events))(t)
		given := map[string]float64{"a": 0, "b": 0.1, "c": 1}
		var chosen [3]map[string]float64
		for i := range chosen {
			e := square.Fit(events, nil)
			e.Apply(given, rng)
			chosen[i] = e.Apply(given, rand.New(rand.NewPCG(7, seed)))
		}
		got := chosen[0]
		for key, r := range square.Bounds {
			if v := got[key]; !(v >= r.Low && v <= r.High) {
				t.Fatalf("seed %d: %s is %v", seed, key, v)
			}
		}
		if got["c"] != 1 || len(got) != 3 || !maps.Equal(got, chosen[1]) || !maps.Equal(got, chosen[2]) {
			t.Fatalf("seed %d: chose %v", seed, chosen)
		}
		if string(must.Get(json.Marshal(events))(t)) != string(before) || given["a"] != 0 {
			t.Fatal("the events or the values changed")
		}
	}
}
