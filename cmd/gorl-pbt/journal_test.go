package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/timeline"
)

const journalText = `{"event":"population","run":{"schema":1,"members":2,"objective":"o","interval_steps":10}}
{"event":"start","iteration":0,"member":0,"steps":0,"after":{"lr":0.1},"seed":7}
{"event":"start","iteration":0,"member":1,"steps":0,"after":{"lr":0.2},"seed":8}
{"event":"replace","iteration":1,"member":0,"parent":1,"steps":10,"parent_steps":10,"after":{"lr":0.4}}
{"event":"keep","iteration":1,"member":1,"steps":10,"objective":2,"before":{"lr":0.2}}
{"event":"final","iteration":2,"member":0,"steps":20,"objective":3,"before":{"lr":0.4}}
{"event":"final","iteration":2,"member":1,"steps":20,"objective":2.5,"before":{"lr":0.2}}
`

// journalFolder is a folder with a journal.
func journalFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeJournal(t, filepath.Join(dir, "000"), journalText)
	return dir
}

func writeJournal(t *testing.T, folder, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(folder, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(folder, journal.File), []byte(text), 0o644))
}

func TestReportAndReplayOfAnEvolution(t *testing.T) {
	recorded := must.Read(t, "../../pbt/report/testdata/evolving.jsonl")
	dir := t.TempDir()
	writeJournal(t, filepath.Join(dir, "000"), string(recorded))
	status, stdout, stderr := use(t.Context(), "report", dir, "--title", "four")
	if status != commandline.Done || !strings.Contains(stdout, "report.html") {
		t.Fatalf("%d %s %s", status, stdout, stderr)
	}
	if info, err := os.Stat(filepath.Join(dir, "report", "report.html")); err != nil || info.Size() < 1000 {
		t.Errorf("the page: %v", err)
	}
	path := filepath.Join(dir, "schedule.json")
	status, stdout, stderr = use(t.Context(), "replay", "--out", path, dir)
	if status != commandline.Done || !strings.Contains(stdout, "Architectures are not replayed") {
		t.Fatalf("%d %s %s", status, stdout, stderr)
	}
	if s, err := timeline.Read(path); err != nil || len(s.Architectures()) < 2 {
		t.Errorf("the schedule has the architectures %s, %v", s.Architectures(), err)
	}
}

func TestReplay(t *testing.T) {
	dir := journalFolder(t)
	for member, want := range map[string]string{
		"best": "[{0 1 map[lr:0.2] } {10 0 map[lr:0.4] }]", "0": "[{0 1 map[lr:0.2] } {10 0 map[lr:0.4] }]",
		"1": "[{0 1 map[lr:0.2] }]",
	} {
		path := filepath.Join(t.TempDir(), "schedule.json")
		status, stdout, stderr := use(t.Context(), "replay", "--member", member, "--out", path, dir)
		if status != commandline.Done || !strings.Contains(stdout, "from environment step") {
			t.Fatalf("%d %s %s", status, stdout, stderr)
		}
		s := must.Get(timeline.Read(path))(t)
		if got := fmt.Sprint(s.Phases); got != want || s.Seed != 8 || s.Steps != 20 {
			t.Errorf("member %s: %s of seed %d, %d steps; want %s", member, got, s.Seed, s.Steps, want)
		}
	}
}

func TestSimulate(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	tight := file("tight.yaml",
		"pbt: {interval_steps: 1000, num_policies: 4, threshold_std: 0.3, threshold_abs: 0.01, mutation: "+
			"{learning_rate: mutate_float, mini_epochs: mutate_float}}")
	never := file("never.yaml",
		"pbt: {interval_steps: 1000, num_policies: 4, threshold_std: 50, measure: {minimise: true}, mutation: "+
			"{learning_rate: mutate_float}}")
	status, stdout, stderr := use(t.Context(), "simulate", "--config", tight, "--config", never, "--seeds", "3",
		"--intervals", "10")
	if status != commandline.Done || !strings.Contains(stderr, "mini_epochs does nothing") {
		t.Fatalf("%d %s %s", status, stdout, stderr)
	}
	lines := strings.Split(stdout, "\n")
	if len(lines) < 6 || !strings.HasPrefix(lines[4], "tight") || !strings.HasPrefix(lines[5], "never") ||
		!strings.Contains(lines[5], "0.00 of 4") || strings.Contains(lines[4], "0.00 of 4") {
		t.Errorf("the table is\n%s", stdout)
	}
	if _, again, _ := use(t.Context(), "simulate", "--config", tight, "--config", never, "--seeds", "3", "--intervals",
		"10"); again != stdout {
		t.Error("the same flags give another result")
	}
}
