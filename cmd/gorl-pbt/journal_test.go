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
	status, stdout, stderr := use(t.Context(), "report", dir)
	if status != commandline.Done || !strings.Contains(stdout, "report.html") {
		t.Fatalf("%d %s %s", status, stdout, stderr)
	}
	if n := len(must.Read(t, filepath.Join(dir, "report", "report.html"))); n < 1000 {
		t.Errorf("the page has %d bytes", n)
	}
	_, stdout, _ = use(t.Context(), "replay", "--out", filepath.Join(dir, "schedule.json"), dir)
	if !strings.Contains(stdout, "Architectures are not replayed") {
		t.Error(stdout)
	}
}

func TestReplay(t *testing.T) {
	dir := journalFolder(t)
	path := filepath.Join(dir, "schedule.json")
	for member, want := range map[string]string{"best": "[{0 1 map[lr:0.2] } {10 0 map[lr:0.4] }]",
		"1": "[{0 1 map[lr:0.2] }]"} {
		status, stdout, stderr := use(t.Context(), "replay", "--member", member, "--out", path, dir)
		if status != commandline.Done || !strings.Contains(stdout, "from environment step") {
			t.Fatalf("%d %s %s", status, stdout, stderr)
		}
		must.Equal(t, "phases of "+member, want, fmt.Sprint(must.Get(timeline.Read(path))(t).Phases))
	}
}

func TestSimulate(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, keys := range map[string]string{
		"tight": "threshold_std: 0.3, threshold_abs: 0.01, mutation: {learning_rate: mutate_float, " +
			"mini_epochs: mutate_float}",
		"never": "threshold_std: 50, measure: {minimise: true}, mutation: {learning_rate: mutate_float}",
	} {
		must.Do(t, os.WriteFile(name+".yaml", []byte("pbt: {interval_steps: 1000, num_policies: 4, "+keys+"}"), 0o644))
	}
	args := strings.Fields("simulate --config tight.yaml --config never.yaml --seeds 3 --intervals 10")
	status, stdout, stderr := use(t.Context(), args...)
	if status != commandline.Done || !strings.Contains(stderr, "mini_epochs does nothing") {
		t.Fatalf("%d %s %s", status, stdout, stderr)
	}
	lines := strings.Split(stdout, "\n")
	if len(lines) < 6 || !strings.HasPrefix(lines[4], "tight") || !strings.HasPrefix(lines[5], "never") ||
		!strings.Contains(lines[5], "0.00 of 4") || strings.Contains(lines[4], "0.00 of 4") {
		t.Errorf("the table is\n%s", stdout)
	}
	_, again, _ := use(t.Context(), args...)
	must.Equal(t, "the result of the same flags", stdout, again)
}
