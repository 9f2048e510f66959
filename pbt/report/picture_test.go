package report

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

func factsOf(t testing.TB, events []journal.Event) *facts {
	t.Helper()
	f, err := gather(historyOf(t, events))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A picture has a curve for every stretch of training, in the colour of its founder. What was copied begins at its source's
// objective, and its hyperparameters where they were set; together the curves hold every point once.
func TestPictureOfLineages(t *testing.T) {
	for _, members := range []int{4, 8, 30} {
		events := setup{members: members, intervals: 10, seed: 2}.train(t)
		f := factsOf(t, events)
		panels, stretches := f.population(), f.drawn()
		if len(panels) != 3 || panels[0].YLabel != "episode.return" || panels[1].Title != "discount_factor" || panels[2].Title != "learning_rate" {
			t.Fatalf("%d members: panels are %+v", members, panels)
		}
		for i, panel := range panels {
			if links := []int{f.copies, 0, 0}[i]; f.copies == 0 || len(panel.Series) != members+f.copies || len(panel.Links) != links {
				t.Errorf("panel %q has %d curves and %d arrows of %d copies", panel.Title, len(panel.Series), len(panel.Links), f.copies)
			}
		}
		if panels[2].Scale != plot.Log {
			t.Error("the learning rate over decades wants a logarithmic axis")
		}
		names, colours := make(map[string]bool), make(map[color.Color]int)
		for i, s := range stretches {
			want := fmt.Sprintf("from member %d", s.founder)
			if members > maxNamed && f.rank[s.founder] >= maxNamed-1 {
				want = ""
			}
			points := 0
			for k, panel := range panels {
				c := panel.Series[i]
				if k == 0 && c.Name != want || (want == "") != (c.Color == color.Gray{0xc4}) {
					t.Errorf("%d members: the curve %q, %v is of founder %d", members, c.Name, c.Color, s.founder)
				}
				if founder, ok := colours[c.Color]; want != "" && ok && founder != s.founder {
					t.Errorf("%d members: the founders %d and %d have one colour", members, founder, s.founder)
				}
				colours[c.Color] = s.founder
				points += len(c.X)
			}
			if names[want] = true; points == 0 {
				t.Errorf("%d members: nothing is drawn of %+v", members, s)
			}
			if s.copied == nil {
				continue
			}
			objective, rate := panels[0].Series[i], panels[2].Series[i]
			source := math.NaN()
			for _, p := range f.Members[s.copied.Parent].Objective {
				if p.Steps == s.copied.ParentSteps {
					source = p.Value
				}
			}
			if objective.X[0] != float64(s.copied.Steps) || objective.Y[0] != source {
				t.Errorf("%d members: a copy of %v begins at %v, %v", members, source, objective.X[0], objective.Y[0])
			}
			for _, e := range events {
				if e.Kind == journal.Replace && e.Member == s.member && e.Iteration == s.copied.Iteration && (rate.X[0] != float64(e.Steps) || rate.Y[0] != e.After["learning_rate"]) {
					t.Errorf("%d members: the learning rate of %+v begins at %v, %v", members, e, rate.X[0], rate.Y[0])
				}
			}
		}
		if delete(names, ""); members <= maxNamed && len(names) != members || len(names) > maxNamed {
			t.Errorf("%d members: %d names", members, len(names))
		}
		for _, l := range panels[0].Links {
			from, to := stretches[l.From], stretches[l.To]
			var next *journal.Copy // at the end of the stretch that the arrow leads to
			for i := range f.Members[to.member].Copies {
				if c := &f.Members[to.member].Copies[i]; c.Iteration == to.to {
					next = c
				}
			}
			if next == nil || next.Parent != from.member || float64(next.Steps) != l.X || next.Founder != from.founder || from.fromSteps >= next.ParentSteps || from.toSteps < next.ParentSteps {
				t.Errorf("%d members: an arrow from %+v to %+v at %v", members, from, to, l.X)
			}
		}
		for k, panel := range panels {
			got, want := 0, 0
			for _, s := range panel.Series {
				got += len(s.X)
			}
			for _, track := range f.Members {
				if want += len(track.Objective) + len(track.Copies); k > 0 {
					want += len(track.Hyperparameters[panel.Title]) - len(track.Objective) - len(track.Copies)
				}
			}
			if got != want {
				t.Errorf("%d members, panel %q: %d points, want %d", members, panel.Title, got, want)
			}
		}
		if d := cmp.Diff(members <= maxNamed, panels[0].Series[len(panels[0].Series)-1].Markers); d != "" {
			t.Errorf("%d members: dots at objectives: %s", members, d)
		}
	}
}

// An objective of which less is better says so, and is on a logarithmic axis where it falls by orders of magnitude.
func TestPictureOfLosses(t *testing.T) {
	for _, minimise := range []bool{false, true} {
		p := factsOf(t, setup{members: 5, intervals: 12, minimise: minimise, seed: 3}.train(t)).population()[0]
		if want := map[bool]string{false: "episode.return", true: "episode.return (lower is better)"}[minimise]; p.YLabel != want {
			t.Errorf("minimise %v: %q", minimise, p.YLabel)
		}
		if (p.Scale == plot.Log) != minimise {
			t.Errorf("minimise %v: scale %v", minimise, p.Scale)
		}
	}
}

func smallEvents(t testing.TB) []journal.Event {
	t.Helper()
	events, err := journal.Read(filepath.Join("testdata", "small.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestWritePNG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "population.png")
	if err := WritePNG(path, smallEvents(t)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[color.Color]bool)
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			seen[color.NRGBAModel.Convert(picture.At(x, y))] = true
		}
	}
	for k := range 4 {
		if !seen[color.NRGBAModel.Convert(plot.Color(k))] {
			t.Errorf("the colour of lineage %d is not in the picture of four members", k)
		}
	}
	if err := WritePNG(path, nil); err == nil {
		t.Error("no history, and no error")
	}
	if err := WritePNG(filepath.Join(path, "below.png"), smallEvents(t)); err == nil {
		t.Error("a file can be a folder")
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
	limits, beyond := outliers(values)
	if beyond != 2 || limits[0] < -50 || limits[0] > 0 || limits[1] < 39 || limits[1] > 100 {
		t.Errorf("%v, %d", limits, beyond)
	}
	if _, beyond := outliers([]float64{0, 0, 0, 1e9}); beyond != 0 {
		t.Error("of few values none is an outlier")
	}
	f := factsOf(t, setup{members: 2, intervals: 1}.train(t))
	p := f.chart("a", false, []plot.Series{{X: make([]float64, len(values)), Y: values}})
	if p.Title != "a (2 values far outside are not shown)" || p.YLimits != limits {
		t.Errorf("%q, %v", p.Title, p.YLimits)
	}
}
