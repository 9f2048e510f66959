package report

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

func TestGoldenEvolvingPage(t *testing.T) {
	golden(t, "evolving")
	inside(t, html(t, recorded(t, "evolving"), Options{}))
}

// What the journal says of member 2, counted by hand, and the networks' sizes on the way of the best's weights, which a
// decision at the moment of copying is no part of.
func TestChangesOfArchitectures(t *testing.T) {
	f, err := gather(recorded(t, "evolving"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range f.changes[2] {
		got = append(got, fmt.Sprint(c.iteration, " ", mutationSigns[c.kind].words, " ", c.parent, " ", leading(c.architecture), " ", c.nodes))
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
	if d := cmp.Diff(map[string]int{"": 4, "architecture": 3, "hyperparameter": 1, "weights": 1, "activation": 1, "none": 2}, kinds); d != "" {
		t.Error(d)
	}
	var way []float64
	for _, a := range f.ancestry {
		for _, p := range f.within(f.find(a), f.nodes[a.Member], a.ToSteps) {
			if len(way) == 0 || way[len(way)-1] != p.Value {
				way = append(way, p.Value)
			}
		}
	}
	// Member 2's first layer, widened on the way to 0, deepened on the way back, narrowed by 1.
	if d := cmp.Diff([]float64{16, 48, 96, 64}, way); d != "" {
		t.Errorf("hidden nodes on the best's way: %s", d)
	}
}

// A member that mutates itself at the very moment at which it is copied hands on what it had before.
func TestWayEndsBeforeTheDecision(t *testing.T) {
	events := []journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 2, Objective: "o", IntervalSteps: 10}},
		{Kind: journal.Start, Member: 0, Parent: -1, After: map[string]float64{"a": 1}, Architecture: "4→[8]"},
		{Kind: journal.Start, Member: 1, Parent: -1, After: map[string]float64{"a": 2}, Architecture: "4→[8]"},
		{Kind: journal.SelfMutate, Iteration: 1, Member: 0, Parent: -1, Steps: 10, Objective: 5, HasObjective: true, Before: map[string]float64{"a": 1}, After: map[string]float64{"a": 7}, Architecture: "4→[99]", Mutation: "head.add_node(layer 0, 91)"},
		{Kind: journal.Replace, Iteration: 1, Member: 1, Parent: 0, Steps: 10, ParentSteps: 10, Objective: 1, HasObjective: true, Before: map[string]float64{"a": 2}, After: map[string]float64{"a": 1}, Architecture: "4→[8]", Mutation: "none"},
		{Kind: journal.Final, Iteration: 2, Member: 0, Parent: -1, Steps: 20, Objective: 2, HasObjective: true, Before: map[string]float64{"a": 7}},
		{Kind: journal.Final, Iteration: 2, Member: 1, Parent: -1, Steps: 20, Objective: 9, HasObjective: true, Before: map[string]float64{"a": 1}},
	}
	f, err := gather(historyOf(t, events))
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range [][][]journal.Point{f.nodes, {f.Members[0].Hyperparameters["a"], f.Members[1].Hyperparameters["a"]}} {
		for _, a := range f.ancestry {
			for _, p := range f.within(f.find(a), series[a.Member], a.ToSteps) {
				if p.Value != 8 && p.Value != 1 {
					t.Errorf("member %d handed on %v", a.Member, p)
				}
			}
		}
	}
}

func TestMutationKinds(t *testing.T) {
	for text, want := range map[string]mutation{
		"": mutationAbsent, "none": mutationNone, "none (head.add_layer would go beyond the limits)": mutationNone, "nonexistent": mutationOther,
		"param": mutationParameters, "param(1 of the policy's matrices)": mutationParameters, "param_scale": mutationHyperparameter,
		"activation(relu)": mutationActivation, "None, value: activation(elu)": mutationActivation, "remove_latent_node(8)": mutationArchitecture,
		"None, discriminator: head.add_layer": mutationArchitecture, "encoder.arm.add_node(layer 0, 16)": mutationArchitecture, "env.add_node": mutationHyperparameter,
	} {
		e := journal.Event{Mutation: text, Before: map[string]float64{"param_scale": 1, "env.add_node": 2}}
		if got := mutationOf(e); got != want {
			t.Errorf("%q is of kind %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"": 0, "grown": 0, "policy 4→[64 64:elu] tanh, value 4→[32] tanh": 160, "4→[8] + 3→[16]→8→[4] relu": 28, "[9999999999]": 0} {
		if got := hiddenNodes(text); got != want {
			t.Errorf("%q has %d hidden nodes, want %d", text, got, want)
		}
	}
	for text, want := range map[string]string{"policy 4→[8] tanh, value 4→[9] tanh": "4→[8] tanh", "4→[8] tanh": "4→[8] tanh", "a big one, and": "a big one"} {
		if got := leading(text); got != want {
			t.Errorf("the leading network of %q is %q, want %q", text, got, want)
		}
	}
}

// Words of a lane keep apart from each other and from those at the right.
func TestWordsInLanesKeepApart(t *testing.T) {
	for _, members := range []int{2, 4, 12, 30} {
		var events []journal.Event
		events = append(events, journal.Event{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: members, Objective: "o", IntervalSteps: 10}})
		for i := range int64(40) {
			for m := range members {
				e := journal.Event{Kind: journal.SelfMutate, Iteration: i, Member: m, Parent: -1, Steps: 10 * i, After: map[string]float64{"a": 1}, Mutation: "head.add_layer", Architecture: "policy 4→[" + strings.Repeat("8 ", 1+int(i)%5) + "] tanh"}
				if i == 0 {
					e.Kind = journal.Start
				}
				events = append(events, e)
			}
		}
		f, err := gather(historyOf(t, events))
		if err != nil {
			t.Fatal(err)
		}
		end := map[string]float64{}
		words := 0
		for _, e := range elements(t, string(f.architectures().SVG())) {
			if e.Name.Local != "text" || attribute(e, "font-size") != "9" || !strings.Contains(e.text, "→") {
				continue
			}
			words++
			x, y := numbers(t, attribute(e, "x"))[0], attribute(e, "y")
			if x < end[y] {
				t.Errorf("%d members: %q begins at %.0f, where other words end at %.0f", members, e.text, x, end[y])
			}
			if end[y] = x + wordsWidth(e.text, 9); end[y] > pageWidth-200 {
				t.Errorf("%d members: %q ends at %.0f", members, e.text, end[y])
			}
		}
		if words < 2*members {
			t.Errorf("%d members: only %d words", members, words)
		}
	}
}

func TestWriteArchitectures(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, recorded(t, "evolving"), Options{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, ArchitecturesFile))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[plot.Ink]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			at := color.NRGBAModel.Convert(picture.At(x, y))
			for _, k := range []plot.Ink{inkArchitecture, inkWeights, inkActivation, inkHyperparameter} {
				if at == color.NRGBAModel.Convert(k) {
					seen[k] = true
				}
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d of 4 colours of mutations are in the picture", len(seen))
	}
}

func TestHostileArchitectures(t *testing.T) {
	h := recorded(t, "evolving")
	for i := range h.Events {
		if h.Events[i].Mutation != "" {
			h.Events[i].Mutation = "head.add_layer" + hostile
		}
		h.Events[i].Architecture = hostile + "→[4]"
	}
	page := html(t, h, Options{})
	inside(t, page)
	if strings.Contains(page, "<script") || strings.ContainsAny(page, "\x00\x1b\u2028\u202e") || !strings.Contains(page, "&lt;script") {
		t.Error("hostile text got through, or is not there")
	}
	if n := len(regexp.MustCompile(`<svg `).FindAllString(page, -1)); n != 5 || strings.Count(page, "</svg>") != n {
		t.Errorf("%d pictures, want 5: lineage, objective, a hyperparameter, architectures, hidden nodes", n)
	}
}
