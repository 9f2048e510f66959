package pbt

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
)

func TestHistory(t *testing.T) {
	c := newColony(4)
	c.faults.train = func(m *climber) error {
		if m.id == 3 && m == c.built[3] && m.steps == 60 {
			panic("oh")
		}
		return nil
	}
	p := mustTrain(t, c.opt)
	h, err := journal.NewHistory(p.Journal())
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Members) != 4 || h.Run.Objective != "episode.return" || len(h.Members[3].Failures) != 1 {
		t.Errorf("the history is %+v", h)
	}
	copies := 0
	for id, track := range h.Members {
		if track.Steps != 500 || track.Iteration != 10 || len(track.Objective) < 9 {
			t.Errorf("member %d: %d steps, iteration %d, %d objectives", id, track.Steps, track.Iteration, len(track.Objective))
		}
		points := track.Hyperparameters["learning_rate"]
		if last := points[len(points)-1]; last.Value != p.Generation().Members[id].Hyperparameters["learning_rate"] {
			t.Errorf("member %d: the last learning rate is %v", id, last)
		}
		copies += len(track.Copies)
		ancestry, err := h.Ancestry(id)
		if err != nil {
			t.Fatal(err)
		}
		founder := id
		if n := len(track.Copies); n > 0 {
			founder = track.Copies[n-1].Founder
		}
		if ancestry[0].Member != founder {
			t.Errorf("member %d: founder %d, ancestry %+v", id, founder, ancestry)
		}
		for i := range ancestry[1:] {
			if ancestry[i].To != ancestry[i+1].From {
				t.Errorf("member %d: a gap in %+v", id, ancestry)
			}
		}
	}
	if want := len(kinds(p.Journal(), journal.Replace)); copies != want || want == 0 {
		t.Errorf("%d copies, want %d", copies, want)
	}
	panels := Panels(h)
	if len(panels) != 3 || panels[0].YLabel != "episode.return" || panels[1].Title != "discount_factor" || panels[2].Title != "learning_rate" {
		t.Fatalf("panels are %+v", panels)
	}
	for i, panel := range panels {
		if links := []int{copies, 0, 0}[i]; len(panel.Series) != 4+copies || len(panel.Links) != links {
			t.Errorf("panel %q has %d curves and %d arrows", panel.Title, len(panel.Series), len(panel.Links))
		}
	}
	if panels[1].LogY || !panels[2].LogY {
		t.Error("the learning rate over decades, and it alone, wants a logarithmic axis")
	}
}

// A picture has a curve for every stretch of training, in the colour of its founder. What was copied begins at its source's
// objective, and its hyperparameters where they were set; together the curves hold every point once.
func TestPictureOfLineages(t *testing.T) {
	t.Parallel()
	for _, members := range []int{4, 8, 30} {
		c := newColony(members)
		p := mustTrain(t, c.opt)
		h, err := journal.NewHistory(p.Journal())
		if err != nil {
			t.Fatal(err)
		}
		panels, d := Panels(h), drawingOf(h)
		names := make(map[string]bool)
		for i, s := range d.stretches {
			want := fmt.Sprintf("from member %d", s.founder)
			if !d.named[s.founder] {
				want = ""
			}
			points := 0
			for _, panel := range panels {
				c := panel.Series[i]
				if c.Name != want || (want == "") != (c.Color != nil) {
					t.Errorf("%d members: the curve %q, %v is of founder %d", members, c.Name, c.Color, s.founder)
				}
				points += len(c.X)
			}
			if names[want] = true; points == 0 {
				t.Errorf("%d members: nothing is drawn of %+v", members, s)
			}
			if s.copied == nil {
				continue
			}
			objective, rate := panels[0].Series[i], panels[2].Series[i]
			if at := objectiveAt(&h.Members[s.copied.Parent], s.copied.ParentSteps); objective.X[0] != float64(s.copied.Steps) || objective.Y[0] != at || !number.Finite(at) {
				t.Errorf("%d members: a copy of %v begins at %v, %v", members, at, objective.X[0], objective.Y[0])
			}
			for _, e := range kinds(p.Journal(), journal.Replace) {
				if e.Member == s.member && e.Iteration == s.copied.Iteration && (rate.X[0] != float64(e.Steps) || rate.Y[0] != e.After["learning_rate"]) {
					t.Errorf("%d members: the learning rate of %+v begins at %v, %v", members, e, rate.X[0], rate.Y[0])
				}
			}
		}
		if delete(names, ""); members <= maxNamed && len(names) != members || len(names) > maxNamed {
			t.Errorf("%d members: %d names", members, len(names))
		}
		for _, l := range panels[0].Links {
			from, to := d.stretches[l.From], d.stretches[l.To]
			if to.next == nil || to.next.Parent != from.member || float64(to.next.Steps) != l.X || to.next.Founder != from.founder || from.next != nil && from.next.Steps < to.next.ParentSteps {
				t.Errorf("%d members: an arrow from %+v to %+v at %v", members, from, to, l.X)
			}
		}
		for k, panel := range panels {
			got, want := 0, 0
			for _, s := range panel.Series {
				got += len(s.X)
			}
			for _, track := range h.Members {
				if want += len(track.Objective) + len(track.Copies); k > 0 {
					want += len(track.Hyperparameters[panel.Title]) - len(track.Objective) - len(track.Copies)
				}
			}
			if got != want {
				t.Errorf("%d members, panel %q: %d points, want %d", members, panel.Title, got, want)
			}
		}
		if err := WritePNG(h, filepath.Join(t.TempDir(), "population.png")); err != nil {
			t.Error(err)
		}
	}
}

func TestTable(t *testing.T) {
	c := newColony(3)
	c.poison(499, 2)
	c.opt.TotalSteps = 500
	p := mustTrain(t, c.opt)
	table := p.Table()
	if d := cmp.Diff([]string{"discount_factor", "learning_rate"}, table.Keys); d != "" {
		t.Error(d)
	}
	table.Rows[0].Parent, table.Rows[1].Failed = 2, true
	table.Rows[0].Hyperparameters = nil
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"member parent steps episode.return discount_factor learning_rate", "", "0 2 500", "failed", "NaN"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.Contains(got, want) {
			t.Errorf("line %d is %q, want %q in it", i, got, want)
		}
	}
	c.opt.Explore, c.opt.Sample = explore.Mutation{}, nil
	if keys := mustNew(t, c.opt).Table().Keys; len(keys) != 2 {
		t.Errorf("without tuned hyperparameters the keys are %v", keys)
	}
}

func TestWritePNG(t *testing.T) {
	t.Parallel()
	c := newColony(4)
	p := mustTrain(t, c.opt)
	path := filepath.Join(t.TempDir(), "population.png")
	if err := p.WritePNG(path); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	colours := make(map[any]bool)
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			colours[picture.At(x, y)] = true
		}
	}
	if len(colours) < 4 {
		t.Errorf("a picture of four members has %d colours", len(colours))
	}
}

func TestReplayMatchesPopulation(t *testing.T) {
	c := newColony(6)
	c.opt.Diversify = true
	p := mustTrain(t, c.opt)
	standings, err := journal.Replay(p.Journal())
	if err != nil {
		t.Fatal(err)
	}
	copies := make(map[int]int64)
	for _, e := range kinds(p.Journal(), journal.Replace) {
		copies[e.Member]++
	}
	for i, row := range p.Table().Rows {
		st := standings[i]
		if st.Member != i || st.Steps != row.Steps || st.Parent != row.Parent || st.Copies != copies[i] || st.Objective != row.Objective || !st.HasObjective || !same(st.Hyperparameters, row.Hyperparameters) || !st.Final || st.Failed {
			t.Errorf("the journal replays to %+v, and the member is %+v", st, row)
		}
	}
}

func TestMergeJournals(t *testing.T) {
	want := mustTrain(t, newColony(3).opt).Journal()
	journals := make([][]journal.Event, 3)
	for i := range journals {
		journals[i] = []journal.Event{want[0]}
		for _, e := range want[1:] {
			if e.Member == i {
				journals[i] = append(journals[i], e)
			}
		}
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		got, err := journal.Merge(journals[order[0]], nil, journals[order[1]], journals[order[2]])
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the merged journal differs: %s", d)
		}
	}
	other := slices.Clone(journals[1])
	run := *other[0].Run
	run.Seed++
	other[0].Run = &run
	if _, err := journal.Merge(journals[0], other); err == nil || !strings.Contains(err.Error(), "another population") {
		t.Errorf("the error is %v", err)
	}
	if _, err := journal.Merge(journals[0][1:]); err == nil || !strings.Contains(err.Error(), "give whole journals") {
		t.Errorf("the error is %v", err)
	}

	dir := t.TempDir()
	for i, name := range []string{"000", "001", "002", "best", "1234"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			text := lines(t, journals[i])
			if i == 2 {
				text += `{"event":"keep","iter` // being written
			}
			if err := os.WriteFile(filepath.Join(dir, name, journal.File), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := journal.ReadWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the workspace's journal differs: %s", d)
	}
	if _, err := journal.ReadWorkspace(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no policy has a journal") {
		t.Errorf("the error is %v", err)
	}
}
