package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func sampleEvents() []Event {
	return []Event{
		{Kind: Population, Member: -1, Parent: -1, Run: &RunInfo{Schema: 1, Members: 2, Objective: "episode.length",
			IntervalSteps: 10, Seed: 3, Strategy: "pbt.IsaacLab{}", Tuned: []string{"learning_rate"}}},
		{Kind: Start, Member: 0, Parent: -1, Seed: 9, After: map[string]float64{"learning_rate": 1e-4}},
		{Kind: Keep, Iteration: 1, Member: 0, Parent: -1, Steps: 10, Objective: -0.1, HasObjective: true,
			Before: map[string]float64{"learning_rate": 1e-4}, Cause: "leader: \"quoted\"\nand more"},
		{Kind: Replace, Iteration: 1, Member: 1, Parent: 0, Steps: 10, ParentSteps: 10, Objective: math.NaN(),
			HasObjective: true, Before: map[string]float64{"a": math.Inf(1)},
			After: map[string]float64{"a": math.Inf(-1)}, Cause: "NaN"},
		{Kind: Failed, Iteration: 2, Member: 1, Parent: -1, Steps: 15, Cause: "panic: oh"},
	}
}

func encode(t testing.TB, events ...Event) []byte {
	var b bytes.Buffer
	for _, e := range events {
		data := must.Get(json.Marshal(e))(t)
		b.Write(append(data, '\n'))
	}
	return b.Bytes()
}

// TestJournalContinues opens a journal at what a state knows of it: nothing of the rest stays.
func TestJournalContinues(t *testing.T) {
	dir, events := t.TempDir(), sampleEvents()
	known, lost := encode(t, events[:2]...), encode(t, events[2:]...)
	j := must.Get(Open(dir, 0))(t)
	must.Do(t, errors.Join(j.Append(events[:2]...), j.Append(events[2:]...), j.Append(), j.Close()))
	if j.Length != int64(len(known)+len(lost)) {
		t.Errorf("the journal counts %d bytes, want %d", j.Length, len(known)+len(lost))
	}
	got, err := Read(filepath.Join(dir, File))
	if d := cmp.Diff(events, got, cmpopts.EquateNaNs()); err != nil || d != "" {
		t.Errorf("%v, %s", err, d)
	}
	j, err = Open(dir, int64(len(known)))
	must.Do(t, err)
	must.Do(t, errors.Join(j.Append(events[2]), j.Close()))
	must.Is(t, string(must.Read(t, filepath.Join(dir, File))), string(encode(t, events[:3]...)), "the journal")
}

// TestTornJournal cuts a journal at every byte: whole lines are read, and only a part of a last line is left out.
func TestTornJournal(t *testing.T) {
	t.Parallel()
	data := encode(t, sampleEvents()...)
	for n := range data {
		events, err := Decode(bytes.NewReader(data[:n]))
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		whole := bytes.Count(data[:n], []byte("\n"))
		if data[n] == '\n' {
			whole++ // only the line's end is missing
		}
		if len(events) != whole {
			t.Fatalf("cut after %d bytes: %d events, want %d", n, len(events), whole)
		}
	}
}

func TestDamagedJournal(t *testing.T) {
	for text, want := range map[string]string{
		"{}\n":                                                         "line 1 is not an event",
		`{"event":"keep","member":0,"steps":1`:                         "", // torn
		`{"event":"keep","member":0}` + "\n?\n":                        "line 2",
		`{"event":"keep"}` + "\n":                                      "has no member",
		`{"event":"replace","member":1}` + "\n":                        "has no parent",
		`{"event":"keep","member":1,"steps":-2}` + "\n":                "negative",
		`{"event":"population","run":{"schema":2,"members":1}}` + "\n": "format is 2",
	} {
		_, err := Decode(strings.NewReader(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: the error is %v, want %q", text, err, want)
		}
	}
}

func FuzzDecodeJournal(f *testing.F) {
	f.Add(encode(f, sampleEvents()...))
	f.Add([]byte(`{"event":"keep","member":0,"objective":"-Inf","before":{"a":"NaN"}}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := Decode(bytes.NewReader(encode(t, events...)))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if d := cmp.Diff(events, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("read again it is different: %s", d)
		}
		h, err := NewHistory(events)
		if err != nil || len(h.Members) > 100 {
			return
		}
		for _, m := range h.Members {
			if _, err := h.Ancestry(m.Member); err != nil {
				t.Error(err)
			}
		}
	})
}
