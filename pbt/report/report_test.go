package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tracking/plot"
)

var rewrite = flag.Bool("rewrite", false, "write the structure of the page as it is into testdata; then judge the difference")

func small(t testing.TB) *journal.History { return recorded(t, "small") }

func recorded(t testing.TB, name string) *journal.History {
	t.Helper()
	events, err := journal.Read(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return historyOf(t, events)
}

// html is the page that Write makes, without its pictures as PNG files, which take long to draw.
func html(t testing.TB, h *journal.History, opt Options) string {
	t.Helper()
	f, err := gather(h)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.page(&b, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The golden file has the page's words, its tables, and how many elements of which class its pictures have: what it
// says, not how it looks.
func TestGoldenPage(t *testing.T) { golden(t, "small") }

func golden(t *testing.T, name string) {
	t.Helper()
	got := structure(t, html(t, recorded(t, name), Options{}))
	path := filepath.Join("testdata", name+".txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Error(d)
	}
}

var (
	svgElement = regexp.MustCompile(`(?s)<svg .*?</svg>`)
	tag        = regexp.MustCompile(`<[^>]*>`)
	cellEnd    = regexp.MustCompile(`</(td|th|dt)>`)
	lineEnd    = regexp.MustCompile(`</(tr|h1|h2|p|div|summary)>`)
)

func structure(t testing.TB, page string) string {
	t.Helper()
	_, body, _ := strings.Cut(page, "<body>")
	body = svgElement.ReplaceAllStringFunc(body, func(picture string) string {
		counts := map[string]int{}
		var words []string
		for _, e := range elements(t, picture) {
			counts[e.Name.Local+"."+strings.ReplaceAll(attribute(e, "class"), " ", ".")]++
			if e.Name.Local == "text" {
				words = append(words, e.text)
			}
		}
		s := "picture " + attribute(elements(t, picture)[0], "aria-label") + "|"
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			s += fmt.Sprintf("%d %s|", counts[key], key)
		}
		return s + "words: " + strings.Join(words, ", ") + "</p>"
	})
	body = strings.ReplaceAll(body, "\n", "")
	body = cellEnd.ReplaceAllString(body, " | ")
	body = lineEnd.ReplaceAllString(body, "\n")
	var lines []string
	for line := range strings.SplitSeq(tag.ReplaceAllString(body, ""), "\n") {
		if line = strings.TrimRight(strings.TrimSpace(line), " |"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

type element struct {
	xml.StartElement
	text string
}

// elements parses a picture strictly.
func elements(t testing.TB, picture string) []*element {
	t.Helper()
	var all, open []*element
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("a picture is not XML: %v\n%.300s", err, picture)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{StartElement: token.Copy()}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
}

func attribute(e *element, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

var digits = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)

// inside checks that a page's pictures are XML and that nothing is drawn outside of them.
func inside(t testing.TB, page string) {
	t.Helper()
	for _, picture := range svgElement.FindAllString(page, -1) {
		all := elements(t, picture)
		box := numbers(t, attribute(all[0], "viewBox"))
		if len(box) != 4 {
			t.Fatalf("the picture's box is %v", box)
		}
		at := func(e *element, x, y float64) {
			if x < -2 || y < -2 || x > box[2]+2 || y > box[3]+2 {
				t.Fatalf("%s lies at %v, %v, outside of %v", e.Name.Local, x, y, box[2:])
			}
		}
		for _, e := range all {
			switch e.Name.Local {
			case "circle":
				at(e, numbers(t, attribute(e, "cx"))[0], numbers(t, attribute(e, "cy"))[0])
			case "text":
				x, y := numbers(t, attribute(e, "x"))[0], numbers(t, attribute(e, "y"))[0]
				at(e, x, y)
				if attribute(e, "transform") != "" { // turned
					continue
				}
				width := wordsWidth(e.text, numbers(t, attribute(e, "font-size"))[0])
				if x < -2 || x+width > box[2]+2 {
					t.Errorf("%q goes from %v to %v, and the picture is %v wide", e.text, x, x+width, box[2])
				}
			case "path":
				d := attribute(e, "d")
				if strings.Trim(d, "MLCZ-0123456789. ") != "" {
					t.Fatalf("a path is %.100s", d)
				}
				n := numbers(t, d)
				for i := 0; i+1 < len(n); i += 2 {
					at(e, n[i], n[i+1])
				}
			}
		}
	}
}

// wordsWidth is how wide a text is in pixels, whose letters have so many.
func wordsWidth(words string, size float64) float64 {
	return plot.Font(vg.Length(size), plot.Text, false).Width(words).Points()
}

func numbers(t testing.TB, s string) (all []float64) {
	t.Helper()
	for _, text := range digits.FindAllString(s, -1) {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// A long objective's name is not cut off, in no picture.
func TestLongNames(t *testing.T) {
	for _, name := range []string{"episode.true_objective", strings.Repeat("episode.", 40)} {
		h := small(t)
		h.Run.Objective = name
		page := html(t, h, Options{})
		if inside(t, page); len(name) < 60 && strings.Count(page, ">"+name+"<") == 0 {
			t.Errorf("%s is nowhere", name)
		}
	}
}

func TestPagesOfPopulations(t *testing.T) {
	for name, s := range map[string]setup{
		"eight": eight(), "one": {members: 1, intervals: 3}, "two": {members: 2, intervals: 1},
		"hundred": {members: 100, intervals: 8, failing: map[int]int64{3: 100}}, "loss": {members: 5, intervals: 12, minimise: true, seed: 3},
		"stopped": {members: 4, intervals: 9, stopAfter: 3}, "lost": {members: 2, intervals: 4, failing: map[int]int64{0: 1500, 1: 1500}, strategy: strategy.IsaacLab{ThresholdStd: 9}},
		"never copied": {members: 3, intervals: 4, strategy: strategy.IsaacLab{ThresholdStd: 9}},
	} {
		events := s.train(t)
		for _, n := range []int{len(events), s.members + 1, s.members + 2} { // whole, begun, and torn
			page := html(t, historyOf(t, events[:n]), Options{})
			inside(t, page)
			if strings.Count(page, "<svg ") != 4 || strings.Contains(page, "NaN\"") {
				t.Errorf("%s, %d events: %d pictures", name, n, strings.Count(page, "<svg "))
			}
		}
		if page := html(t, historyOf(t, events), Options{}); len(page) > 600_000 {
			t.Errorf("%s: the page has %d bytes", name, len(page))
		}
	}
}

func TestStateAndBest(t *testing.T) {
	for name, test := range map[string]struct {
		setup setup
		state string
	}{
		"finished": {setup{members: 3, intervals: 5}, "finished"},
		"stopped":  {setup{members: 3, intervals: 9, stopAfter: 2}, "in progress, 2 intervals ended"},
		"lost":     {setup{members: 2, intervals: 4, failing: map[int]int64{0: 1500, 1: 1500}, strategy: strategy.IsaacLab{ThresholdStd: 9}}, "given up: no healthy member was left"},
		"loss":     {setup{members: 6, intervals: 15, minimise: true, seed: 3}, "finished"},
	} {
		events := test.setup.train(t)
		f, err := gather(historyOf(t, events))
		if err != nil {
			t.Fatal(err)
		}
		if f.state != test.state {
			t.Errorf("%s: the state is %q, want %q", name, f.state, test.state)
		}
		for _, e := range events {
			if !e.HasObjective || math.IsNaN(e.Objective) {
				continue
			}
			if f.better(e.Objective, f.ever.point.Value) {
				t.Errorf("%s: %v is better than the best there was, %v", name, e.Objective, f.ever.point.Value)
			}
			if e.Kind == journal.Final && f.better(e.Objective, f.best.point.Value) {
				t.Errorf("%s: member %d ends better than the best", name, e.Member)
			}
		}
		if last := f.ancestry[len(f.ancestry)-1]; last.Member != f.best.member {
			t.Errorf("%s: the ancestry of %d ends with %d", name, f.best.member, last.Member)
		}
	}
}

// The facts of the journal that the golden page shows, counted by hand.
func TestFacts(t *testing.T) {
	f, err := gather(small(t))
	if err != nil {
		t.Fatal(err)
	}
	got := []int{
		f.copies, f.happened[journal.SelfMutate], f.happened[journal.Failed], f.happened[journal.Diverged], f.rescues,
		f.happened[journal.ApplyFailed], len(f.alive),
	}
	if d := cmp.Diff([]int{6, 1, 1, 1, 2, 1, 1}, got); d != "" {
		t.Errorf("copies, self-mutations, failures, divergences, rescues, not applied, lineages: %s", d)
	}
	want := []journal.Ancestor{{Member: 2, To: 2, ToSteps: 2000}, {Member: 3, From: 2, To: 4, FromSteps: 1500, ToSteps: 4000}, {Member: 2, From: 4, To: 5, FromSteps: 4000, ToSteps: 5000}, {Member: 1, From: 5, To: 6, FromSteps: 5000, ToSteps: 6000}, {Member: 0, From: 6, To: 8, FromSteps: 6000, ToSteps: 8000}}
	if d := cmp.Diff(want, f.ancestry); d != "" {
		t.Error(d)
	}
}

const hostile = `</svg></style><script>alert("1")</script>'" onload="x` + "\x00\x1b\u2028\u202e&amp;"

func TestHostileText(t *testing.T) {
	events := setup{members: 3, intervals: 4, failing: map[int]int64{1: 1500}}.train(t)
	rename := func(values map[string]float64) map[string]float64 {
		if values == nil {
			return nil
		}
		values = maps.Clone(values)
		values[hostile] = values["learning_rate"]
		return values
	}
	run := *events[0].Run
	run.Objective, run.Strategy, run.Tuned = hostile, hostile, []string{hostile, "learning_rate"}
	events[0].Run = &run
	for i := range events[1:] {
		e := &events[i+1]
		e.Cause, e.Before, e.After = hostile, rename(e.Before), rename(e.After)
	}
	h := historyOf(t, events)
	page := html(t, h, Options{Title: hostile})
	inside(t, page)
	if n := strings.Count(page, "<script"); n != 0 || strings.Contains(page, `alert("1")`) {
		t.Errorf("%d scripts", n)
	}
	if n := strings.Count(page, "&lt;script"); n < 10 {
		t.Errorf("the hostile text stands there %d times: the test shows nothing", n)
	}
	if n := strings.Count(page, "</svg>"); n != 4 {
		t.Errorf("%d pictures end, want 4", n)
	}
	if strings.ContainsAny(page, "\x00\x1b\u2028\u202e") {
		t.Error("control characters got through")
	}
	if err := Write(t.TempDir(), h, Options{Title: hostile}); err != nil {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // again over what is there
		if err := Write(dir, small(t), Options{Title: "Walkers"}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, name := range []string{LineageFile, ObjectiveFile, HyperparametersFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		colours := map[any]bool{}
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				colours[picture.At(x, y)] = true
			}
		}
		if picture.Bounds().Dx() != 1600 || len(colours) < 50 {
			t.Errorf("%s: %v, %d colours", name, picture.Bounds(), len(colours))
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, PageFile))
	if err != nil || !strings.Contains(string(page), "<title>Walkers</title>") {
		t.Errorf("the page: %v", err)
	}
	for _, outside := range []string{"src=", "href=", "url(", "@import", "<script", "<link"} {
		if strings.Contains(string(page), outside) {
			t.Errorf("the page needs something outside: %s", outside)
		}
	}
	if err := Write(filepath.Join(dir, PageFile), small(t), Options{}); err == nil {
		t.Error("a file can be a folder")
	}
}

func TestWriteRejects(t *testing.T) {
	h := small(t)
	broken := func(change func(h *journal.History)) *journal.History {
		other := *h
		other.Members, other.Events = slices.Clone(h.Members), slices.Clone(h.Events)
		for i := range other.Members {
			other.Members[i].Copies = slices.Clone(h.Members[i].Copies)
		}
		change(&other)
		return &other
	}
	for name, h := range map[string]*journal.History{
		"nothing":       nil,
		"empty":         historyOf(t, []journal.Event{{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: 3}}}),
		"parent":        broken(func(h *journal.History) { h.Members[0].Copies[0].Parent = 4 }),
		"founder":       broken(func(h *journal.History) { h.Members[0].Copies[0].Founder = -1 }),
		"out of order":  broken(func(h *journal.History) { h.Members[0].Member = 1 }),
		"foreign event": broken(func(h *journal.History) { h.Events[0].Member = 4 }),
	} {
		dir := filepath.Join(t.TempDir(), "report")
		if err := Write(dir, h, Options{}); err == nil || !strings.HasPrefix(err.Error(), "report: ") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a folder was made", name)
		}
	}
	if err := Write(t.TempDir(), h, Options{MaxEvents: -1}); err == nil {
		t.Error("fewer than no events")
	}
	if f, err := gather(h); err != nil || f.page(full{}, Options{}) == nil {
		t.Errorf("a full disk was not noticed (%v)", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestMaxEvents(t *testing.T) {
	h := small(t)
	kept := 0
	for _, e := range h.Events {
		if e.Kind == journal.Keep {
			kept++
		}
	}
	rows := func(most int) int {
		_, table, _ := strings.Cut(html(t, h, Options{MaxEvents: most}), `id="events"`)
		return strings.Count(table, "<tr") - 1
	}
	all := len(h.Events)
	for most, want := range map[int]int{0: all, all: all, all - 1: all - kept, 5: 5} {
		if got := rows(most); got != want {
			t.Errorf("at most %d events: %d rows, want %d", most, got, want)
		}
	}
}

// Random journals, of which many cannot be: pages must be whole all the same.
func TestAnyJournalMakesAPage(t *testing.T) {
	for seed := range uint64(300) {
		inside(t, html(t, historyOf(t, anyJournal(rand.New(rand.NewPCG(seed, 1)))), Options{}))
	}
}

func anyJournal(rng *rand.Rand) []journal.Event {
	members := 1 + rng.IntN(12)
	values := []float64{0, -1, 1, 0.5, 0.999, 1e-300, 1e300, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1), 3e-4}
	value := func() float64 {
		if rng.IntN(2) == 0 {
			return values[rng.IntN(len(values))]
		}
		return rng.NormFloat64()
	}
	set := func() map[string]float64 {
		if rng.IntN(3) == 0 {
			return nil
		}
		return map[string]float64{"a": value(), "b": math.Abs(value())}
	}
	steps := func() int64 {
		if rng.IntN(30) == 0 {
			return math.MaxInt64
		}
		return rng.Int64N(1000)
	}
	evolving := rng.IntN(2) == 0
	texts := []string{"", "none", "a", "param(3 of)", "head.add_layer", "4→[64 64:elu]→8→[99999999999999999999 2147483647 2147483647] tanh", "policy 4→[8] relu, value 4→[] relu", hostile, "[]][[1 x -5]", strings.Repeat("→[1]", 200)}
	kinds := []journal.Kind{journal.Start, journal.Keep, journal.Replace, journal.SelfMutate, journal.ApplyFailed, journal.Failed, journal.Diverged, journal.Hopeless, journal.Final}
	events := []journal.Event{{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Schema: 1, Members: members, Objective: "o", IntervalSteps: rng.Int64N(200), Minimise: rng.IntN(2) == 0}}}
	for range 1 + rng.IntN(80) {
		e := journal.Event{Kind: kinds[rng.IntN(len(kinds))], Iteration: rng.Int64N(20), Member: rng.IntN(members), Parent: -1, Steps: steps(), Before: set(), After: set()}
		if e.Kind == journal.Replace {
			e.Parent, e.ParentSteps = rng.IntN(members), steps()
		}
		if evolving && rng.IntN(3) > 0 {
			e.Mutation, e.Architecture = texts[rng.IntN(len(texts))], texts[rng.IntN(len(texts))]
		}
		if rng.IntN(2) == 0 {
			e.Objective, e.HasObjective = value(), true
		}
		events = append(events, e)
	}
	return events
}

func FuzzJournal(f *testing.F) {
	for _, name := range []string{"small.jsonl", "evolving.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"event":"population","iteration":0,"steps":0,"run":{"schema":1,"members":65536,"objective":"o","interval_steps":0,"seed":1,"strategy":""}}
{"event":"replace","iteration":9223372036854775807,"member":65535,"parent":3,"steps":9223372036854775807,"objective":1e308}
`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := journal.Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		h, err := journal.NewHistory(events)
		if err != nil {
			return
		}
		if f, err := gather(h); err == nil {
			var b bytes.Buffer
			if err := f.page(&b, Options{}); err == nil {
				inside(t, b.String())
			}
			inside(t, string(plot.Figure{Panels: f.population()}.Picture().SVG()))
		}
	})
}
