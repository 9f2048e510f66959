package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

var rewrite = flag.Bool("rewrite", false,
	"write the structure of the page as it is into testdata; then judge the difference")

func recorded(t testing.TB, name string) *journal.History {
	t.Helper()
	events, err := journal.Read(filepath.Join("testdata", name+".jsonl"))
	must.Do(t, err)
	h, err := journal.NewHistory(events)
	must.Do(t, err)
	return h
}

// html is the page that Write makes, without its pictures as PNG files, which take long to draw.
func html(t testing.TB, h *journal.History, opt Options) string {
	t.Helper()
	f, err := gather(h)
	must.Do(t, err)
	var b bytes.Buffer
	must.Do(t, f.page(&b, opt))
	return b.String()
}

// The golden file has the page's words, its tables, and how many elements of which class its pictures have: what it
// says, not how it looks.
func TestGoldenPage(t *testing.T)         { golden(t, "small") }
func TestGoldenEvolvingPage(t *testing.T) { golden(t, "evolving") }

func golden(t *testing.T, name string) {
	t.Helper()
	got := structure(t, html(t, recorded(t, name), Options{}))
	path := filepath.Join("testdata", name+".txt")
	if *rewrite {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must.Do(t, err)
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

// whole checks that a page's pictures are XML, and that paths hold nothing but numbers.
func whole(t testing.TB, page string) {
	t.Helper()
	for _, picture := range svgElement.FindAllString(page, -1) {
		for _, e := range elements(t, picture) {
			if d := attribute(e, "d"); strings.Trim(d, "MLCZ-0123456789. ") != "" {
				t.Fatalf("a path is %.100s", d)
			}
		}
	}
}

const hostile = `</svg></style><script>alert("1")</script>'" onload="x` + "\x00\x1b\u2028\u202e&amp;"

func TestHostileText(t *testing.T) {
	for name, pictures := range map[string]int{"small": 5, "evolving": 5} {
		h := recorded(t, name)
		h.Run.Objective, h.Run.Strategy = hostile, hostile
		for i := range h.Members {
			h.Members[i].Hyperparameters[hostile] = []journal.Point{{Value: 1}}
		}
		h.Run.Tuned = append(h.Run.Tuned, hostile)
		for i := range h.Events {
			e := &h.Events[i]
			e.Cause, e.After = hostile, map[string]float64{hostile: 1}
			if name == "evolving" {
				e.Mutation, e.Architecture = "head.add_layer"+hostile, hostile+"→[4]"
			}
		}
		page := html(t, h, Options{Title: hostile})
		whole(t, page)
		if strings.Contains(page, "<script") || strings.ContainsAny(page, "\x00\x1b\u2028\u202e") {
			t.Errorf("%s: hostile text got through", name)
		}
		if n := strings.Count(page, "&lt;script"); n < 10 {
			t.Errorf("%s: the hostile text stands there %d times: the test shows nothing", name, n)
		}
		if n := strings.Count(page, "<svg "); n != pictures || strings.Count(page, "</svg>") != n {
			t.Errorf("%s: %d pictures, want %d", name, n, pictures)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // again over what is there
		must.Do(t, Write(dir, recorded(t, "evolving"), Options{Title: "Walkers"}))
	}
	events, err := journal.Read(filepath.Join("testdata", "small.jsonl"))
	must.Do(t, err)
	must.Do(t, WritePNG(filepath.Join(dir, "population.png"), events))
	for name, inks := range map[string][]plot.Ink{
		ArchitecturesFile: {inkArchitecture, inkWeights, inkActivation, inkHyperparameter},
		LineageFile:       {plot.Color(0)}, "population.png": {plot.Color(0), inkBad},
	} {
		file, err := os.Open(filepath.Join(dir, name))
		must.Do(t, err)
		picture, err := png.Decode(file)
		must.Do(t, errors.Join(err, file.Close()))
		seen := map[color.Color]bool{}
		for i := range picture.Bounds().Dx() * picture.Bounds().Dy() {
			x, y := i%picture.Bounds().Dx(), i/picture.Bounds().Dx()
			seen[color.NRGBAModel.Convert(picture.At(x, y))] = true
		}
		for _, ink := range inks {
			if !seen[color.NRGBAModel.Convert(ink)] {
				t.Errorf("%s lacks the colour %v", name, ink)
			}
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
	inFile := filepath.Join(dir, PageFile)
	if Write(inFile, recorded(t, "small"), Options{}) == nil || WritePNG(filepath.Join(inFile, "x.png"),
		events) == nil {
		t.Error("a file can be a folder")
	}
	if WritePNG(filepath.Join(dir, "none.png"), nil) == nil {
		t.Error("no history, and no error")
	}
}

func TestWriteRejects(t *testing.T) {
	h := recorded(t, "small")
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
		"empty":         {Run: journal.RunInfo{Schema: 1, Members: 3}},
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
	h := recorded(t, "small")
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

func FuzzJournal(f *testing.F) {
	for _, name := range []string{"small.jsonl", "evolving.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		must.Do(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"event":"population","run":{"schema":1,"members":65536,"objective":"o"}}
{"event":"replace","iteration":9223372036854775807,"member":65535,"parent":3,"steps":9223372036854775807}
`))
	f.Add([]byte(`{"event":"population","run":{"schema":1,"members":2,"objective":"o","minimise":true}}
{"event":"start","member":0,"steps":0,"after":{"a":1e-300,"b":"NaN"},"architecture":"[]][[1 x -5]"}
{"event":"self-mutate","iteration":3,"member":0,"steps":900,"objective":1e308,"architecture":"[99999999999]"}
{"event":"replace","iteration":2,"member":1,"parent":0,"steps":5,"parent_steps":1000,"objective":"-Inf","after":{"a":0}}
{"event":"hopeless","iteration":1,"member":1,"steps":3,"objective":"NaN","before":{"a":-1,"b":1e300}}
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
				whole(t, b.String())
			}
		}
	})
}
