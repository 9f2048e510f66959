package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

var rewrite = flag.Bool("rewrite", false, "write what the page shows into testdata; then judge the difference")

func recorded(t testing.TB, name string) *journal.History {
	t.Helper()
	events := must.Get(journal.Read(filepath.Join("testdata", name+".jsonl")))(t)
	return must.Get(journal.NewHistory(events))(t)
}

// The golden files have what the page shows: a line for every field.
func TestGolden(t *testing.T) {
	for _, name := range []string{"small", "evolving"} {
		p := must.Get(Of(recorded(t, name), Options{}))(t)
		text := must.Get(json.Marshal(p))(t)
		var fields map[string]json.RawMessage
		must.Do(t, json.Unmarshal(text, &fields))
		got := "{"
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			got += fmt.Sprintf("\n%q: %s,", key, fields[key])
		}
		got = strings.TrimSuffix(got, ",") + "\n}\n"
		path := filepath.Join("testdata", name+".json")
		if *rewrite {
			must.Do(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want := must.Read(t, path)
		must.Equal(t, name, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
	}
}

const hostile = `</svg></style></script><script>alert("1")</script>'" onload="x` + "\x00\x1b\u2028\u202e&amp;"

// A page in one file has its scripts, which its policy allows by their checksums, and hostile text as data alone.
func TestWrite(t *testing.T) {
	h := recorded(t, "evolving")
	h.Run.Objective, h.Run.Strategy = hostile, hostile
	for i := range h.Events {
		h.Events[i].Cause, h.Events[i].Mutation = hostile, hostile
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // again over what is there
		must.Do(t, Write(dir, h, Options{Title: "Walkers " + hostile}))
	}
	page := must.Read(t, filepath.Join(dir, PageFile))
	const scripts = 8
	if n := bytes.Count(page, []byte("<script")); n != 1+scripts {
		t.Errorf("%d scripts, want the data and %d", n, scripts)
	}
	if n := bytes.Count(page, []byte("'sha256-")); n != scripts {
		t.Errorf("%d checksums of scripts", n)
	}
	for _, wrong := range []string{"src=", `href="page`, `href="uplot`, "url(", "@import", "alert(\"1", "onload=\"x"} {
		if bytes.Contains(page, []byte(wrong)) {
			t.Errorf("the page has %q", wrong)
		}
	}
	_, text, _ := strings.Cut(string(page), `id="data">`)
	text, _, _ = strings.Cut(text, "</script>")
	var data struct {
		Populations map[string]struct{ Objective string }
	}
	must.Do(t, json.Unmarshal([]byte(text), &data))
	for _, p := range data.Populations {
		if p.Objective != hostile {
			t.Errorf("the objective is %q", p.Objective)
		}
	}
	must.Refuse(t, Write(filepath.Join(dir, PageFile), recorded(t, "small"), Options{}))
}

func TestWriteRejects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	must.Refuse(t, Write(dir, nil, Options{}), "report: ")
	must.Refuse(t, Write(dir, &journal.History{Run: journal.RunInfo{Schema: 1, Members: 3}}, Options{}), "report: ")
	must.Refuse(t, Write(dir, recorded(t, "small"), Options{MaxEvents: -1}), "report: ")
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}

func TestMaxEvents(t *testing.T) {
	h := recorded(t, "small")
	kept := 0
	for _, e := range h.Events {
		if e.Kind == journal.Keep {
			kept++
		}
	}
	all := len(h.Events)
	for most, want := range map[int]int{0: all, all: all, all - 1: all - kept, 5: 5} {
		must.Is(t, len(must.Get(Of(h, Options{MaxEvents: most}))(t).Events), want, "rows of at most %d events", most)
	}
}

func FuzzJournal(f *testing.F) {
	for _, name := range []string{"small.jsonl", "evolving.jsonl"} {
		data := must.Read(f, filepath.Join("testdata", name))
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
		if p, err := Of(h, Options{}); err == nil {
			must.Get(json.Marshal(p))(t)
		}
	})
}
