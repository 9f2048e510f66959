package report

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// The facts of the journal that the golden page shows, counted by hand.
func TestFacts(t *testing.T) {
	f, err := gather(recorded(t, "small"))
	must.Do(t, err)
	got := []int{
		f.copies, f.happened[journal.SelfMutate], f.happened[journal.Failed], f.happened[journal.Diverged], f.rescues,
		f.happened[journal.ApplyFailed], len(f.alive),
	}
	if d := cmp.Diff([]int{6, 1, 1, 1, 2, 1, 1}, got); d != "" {
		t.Errorf("copies, self-mutations, failures, divergences, rescues, not applied, lineages: %s", d)
	}
	want := []journal.Ancestor{{Member: 2, To: 2, ToSteps: 2000}, {Member: 3, From: 2, To: 4, FromSteps: 1500,
		ToSteps: 4000}, {Member: 2, From: 4, To: 5, FromSteps: 4000, ToSteps: 5000}, {Member: 1, From: 5, To: 6,
		FromSteps: 5000, ToSteps: 6000}, {Member: 0, From: 6, To: 8, FromSteps: 6000, ToSteps: 8000}}
	if d := cmp.Diff(want, f.ancestry); d != "" {
		t.Error(d)
	}
}

// The state is read from the last events, and the best from the objectives: a higher or a lower one.
func TestStateAndBest(t *testing.T) {
	h := recorded(t, "small")
	hopeless := append(h.Events[:len(h.Events):len(h.Events)], journal.Event{Kind: journal.Hopeless, Iteration: 8,
		Parent: -1})
	for _, c := range []struct {
		events     []journal.Event
		minimise   bool
		state      string
		best, ever int
	}{
		{h.Events, false, "finished", 0, 0},
		{h.Events[:len(h.Events)-4], false, "in progress, 7 intervals ended", 3, 3},
		{hopeless, false, "given up: no healthy member was left", 0, 0},
		{h.Events, true, "finished", 2, 3},
	} {
		run := h.Run
		run.Minimise = c.minimise
		f := factsOf(t, append([]journal.Event{{Kind: journal.Population, Run: &run}}, c.events...))
		if f.state != c.state || f.best.member != c.best || f.ever.member != c.ever {
			t.Errorf("%q, member %d, ever %d; want %q, %d, %d", f.state, f.best.member, f.ever.member, c.state, c.best,
				c.ever)
		}
		if last := f.ancestry[len(f.ancestry)-1]; last.Member != f.best.member {
			t.Errorf("the ancestry of %d ends with %d", f.best.member, last.Member)
		}
	}
}

func factsOf(t testing.TB, events []journal.Event) *facts {
	t.Helper()
	h, err := journal.NewHistory(events)
	must.Do(t, err)
	f, err := gather(h)
	must.Do(t, err)
	return f
}

// What was copied begins at its source's objective, at the steps of the member that copied.
func TestCurvesOfCopies(t *testing.T) {
	f, err := gather(recorded(t, "small"))
	must.Do(t, err)
	series, copies := f.objective().Series, 0
	for i, s := range f.drawn() {
		if s.copied == nil {
			continue
		}
		copies++
		source := math.NaN()
		for _, p := range f.Members[s.copied.Parent].Objective {
			if p.Steps == s.copied.ParentSteps {
				source = p.Value
			}
		}
		if c := series[i]; c.X[0] != float64(s.copied.Steps) || c.Y[0] != source {
			t.Errorf("a copy of %v begins at %v, %v", source, c.X[0], c.Y[0])
		}
	}
	if copies != f.copies || len(series) != 4+copies+1 { // a curve for each stretch, and the best's path
		t.Errorf("%d curves, %d of copies", len(series), copies)
	}
}

// What the journal says of member 2, counted by hand.
func TestChangesOfArchitectures(t *testing.T) {
	f, err := gather(recorded(t, "evolving"))
	must.Do(t, err)
	var got []string
	for _, c := range f.changes[2] {
		got = append(got, fmt.Sprint(c.iteration, " ", mutationSigns[c.kind].words, " ", c.parent, " ",
			leading(c.architecture), " ", c.nodes))
	}
	if d := cmp.Diff([]string{"0  -1 4→[8] tanh 16", "2 architecture 0 4→[24 24:elu] tanh 96"}, got); d != "" {
		t.Error(d)
	}
	kinds := map[string]int{}
	for _, changes := range f.changes {
		for _, c := range changes {
			kinds[mutationSigns[c.kind].words]++
		}
	}
	if d := cmp.Diff(map[string]int{"": 4, "architecture": 3, "hyperparameter": 1, "weights": 1, "activation": 1,
		"none": 2}, kinds); d != "" {
		t.Error(d)
	}
}

// A member that mutates itself at the very moment at which it is copied hands on what it had before.
func TestWayEndsBeforeTheDecision(t *testing.T) {
	events := []journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 2, Objective: "o",
			IntervalSteps: 10}},
		{Kind: journal.Start, Member: 0, Parent: -1, After: map[string]float64{"a": 1}},
		{Kind: journal.Start, Member: 1, Parent: -1, After: map[string]float64{"a": 2}},
		{Kind: journal.SelfMutate, Iteration: 1, Member: 0, Parent: -1, Steps: 10, Objective: 5, HasObjective: true,
			Before: map[string]float64{"a": 1}, After: map[string]float64{"a": 7}},
		{Kind: journal.Replace, Iteration: 1, Member: 1, Parent: 0, Steps: 10, ParentSteps: 10, Objective: 1,
			HasObjective: true,
			Before:       map[string]float64{"a": 2}, After: map[string]float64{"a": 1}},
		{Kind: journal.Final, Iteration: 2, Member: 0, Parent: -1, Steps: 20, Objective: 2, HasObjective: true,
			Before: map[string]float64{"a": 7}},
		{Kind: journal.Final, Iteration: 2, Member: 1, Parent: -1, Steps: 20, Objective: 9, HasObjective: true,
			Before: map[string]float64{"a": 1}},
	}
	f := factsOf(t, events)
	for _, a := range f.ancestry {
		for _, p := range f.within(f.find(a), f.Members[a.Member].Hyperparameters["a"], a.ToSteps) {
			if p.Value != 1 {
				t.Errorf("member %d handed on %v", a.Member, p)
			}
		}
	}
}

func TestMutationKinds(t *testing.T) {
	for text, want := range map[string]mutation{
		"": mutationAbsent, "none": mutationNone, "none (head.add_layer would go beyond the limits)": mutationNone,
		"nonexistent": mutationOther,
		"param":       mutationParameters, "param(1 of the policy's matrices)": mutationParameters,
		"param_scale":               mutationHyperparameter,
		"param_scale, env.add_node": mutationHyperparameter, "a: head.add_layer; b: head.add_layer": mutationArchitecture,
		"param(a: 2, b: 1 of the policy's matrices)":          mutationParameters,
		"none (a: head.add_layer would go beyond the limits)": mutationNone,
		"activation(relu)": mutationActivation, "None, value: activation(elu)": mutationActivation,
		"remove_latent_node(8)":               mutationArchitecture,
		"None, discriminator: head.add_layer": mutationArchitecture,
		"encoder.arm.add_node(layer 0, 16)":   mutationArchitecture, "env.add_node": mutationHyperparameter,
		"encoder.camera.add_channel(layer 0, 16)":  mutationArchitecture,
		"encoder.camera.change_kernel(layer 1, 3)": mutationArchitecture,
		"memory.remove_node(32)":                   mutationArchitecture,
	} {
		e := journal.Event{Mutation: text, Before: map[string]float64{"param_scale": 1, "env.add_node": 2}}
		if got := mutationOf(e); got != want {
			t.Errorf("%q is of kind %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"": 0, "grown": 0, "policy 4→[64 64:elu] tanh, value 4→[32] tanh": 160,
		"4→[8] + 3→[16]→8→[4] relu": 28, "[9999999999]": 0,
		"policy 84×84×3→[16k8s4 24k3p1+2:elu]→64→gru[40 40]→[7] relu, value 4→[3] relu": 130} {
		if got := hiddenNodes(text); got != want {
			t.Errorf("%q has %d hidden nodes, want %d", text, got, want)
		}
	}
	for text, want := range map[string]string{"policy 4→[8] tanh, value 4→[9] tanh": "4→[8] tanh",
		"4→[8] tanh": "4→[8] tanh", "a big one, and": "a big one",
		"a.policy 3→[8] tanh, a.value 3→[9] tanh, b.c.policy 4→[7] relu": "a 3→[8] tanh, b.c 4→[7] relu",
	} {
		if got := leading(text); got != want {
			t.Errorf("the leading network of %q is %q, want %q", text, got, want)
		}
	}
}

// Values far from all others are left out of the axis, and counted in the title.
func TestOutliers(t *testing.T) {
	var values []float64
	for i := range 40 {
		values = append(values, float64(i))
	}
	if limits, beyond := outliers(values); beyond != 0 || limits != [2]float64{} {
		t.Errorf("%v, %d", limits, beyond)
	}
	values = append(values, 1e6, math.NaN(), -1e7)
	p := (&facts{span: 1}).chart("a", false, []plot.Series{{X: make([]float64, len(values)), Y: values}})
	low, high := p.YLimits[0], p.YLimits[1]
	if p.Title != "a (2 values far outside are not shown)" || low < -50 || low > 0 || high < 39 || high > 100 {
		t.Errorf("%q, %v", p.Title, p.YLimits)
	}
	if _, beyond := outliers([]float64{0, 0, 0, 1e9}); beyond != 0 {
		t.Error("of few values none is an outlier")
	}
}
