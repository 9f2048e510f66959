package wrappers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// line is what a line of episode-N.jsonl must hold.
type line struct {
	Step            int       `json:"step"`
	Observation     []float32 `json:"observation"`
	State           []float32 `json:"state"`
	Action          []float32 `json:"action"`
	Reward          float32   `json:"reward"`
	NextObservation []float32 `json:"next_observation"`
	NextState       []float32 `json:"next_state"`
	AMPObservation  []float32 `json:"amp_observation"`
	Terminated      bool      `json:"terminated"`
	Truncated       bool      `json:"truncated"`
}

func readLines(t *testing.T, path string) []line {
	t.Helper()
	d := json.NewDecoder(must.Open(os.Open(path))(t))
	d.DisallowUnknownFields()
	var out []line
	for d.More() {
		var l line
		must.Do(t, d.Decode(&l))
		out = append(out, l)
	}
	return out
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		out = append(out, e.Name())
	}
	return out
}

func TestRecordTransitions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "runs")
	// Environment 1 of 3, whose episodes last 3 steps.
	env := must.Get(wrappers.NewRecord(probes(t, 3, wrappers.ParallelOptions{Workers: 2}, nil),
		wrappers.RecordOptions{Dir: dir, Env: 1}))(t)
	must.Get(env.Reset(0))(t)
	for k := range 7 {
		must.Get(env.Step([]float32{9, 9, float32(k), -1, 9, 9}))(t)
	}
	must.Do(t, env.Close())
	want := []string{"episode-000000.jsonl", "episode-000001.jsonl", "episode-000002.jsonl"}
	must.Match(t, want, names(t, dir), "files")
	k := 0
	for episode, name := range want {
		lines := readLines(t, filepath.Join(dir, name))
		must.Is(t, len(lines), []int{3, 3, 1}[episode], "%s", name)
		for i, l := range lines {
			number := []float32{float32(episode + 1)}
			random, next := l.Observation[2], l.NextObservation[2]
			must.Match(t, line{
				Step: i + 1, Observation: []float32{1, float32(i), random}, State: number,
				Action: []float32{float32(k), -1}, Reward: float32(k), NextState: number, Terminated: i == 2,
				NextObservation: []float32{1, float32(i + 1), next}, AMPObservation: []float32{float32(10*i + 10)},
			}, l, "%s, line %d", name, i)
			must.Not(t, i > 0 && !slices.Equal(l.Observation, lines[i-1].NextObservation),
				"%s: line %d does not begin where the one before ends", name, i)
			k++
		}
	}
}

// Numbers go on behind the highest. Of three episodes the first and the last are recorded, three steps of each.
func TestRecordEveryAndMaxSteps(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"episode-000007.jsonl", "episode-x.jsonl"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	env := must.Get(wrappers.NewRecord(probes(t, 3, wrappers.ParallelOptions{}, nil),
		wrappers.RecordOptions{Dir: dir, Env: 2, Every: 2, MaxSteps: 3}))(t)
	must.Get(env.Reset(0))(t)
	for range 12 {
		must.Get(env.Step(make([]float32, 6)))(t)
	}
	must.Match(t, []string{"episode-000007.jsonl", "episode-000008.jsonl", "episode-000009.jsonl", "episode-x.jsonl"},
		names(t, dir), "files")
	lines := readLines(t, filepath.Join(dir, "episode-000009.jsonl"))
	must.Not(t, len(lines) != 3 || lines[0].State[0] != 3, "%+v are not the first 3 steps of the third episode", lines)
}

func TestRecordReportsWhatItCannotWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	env := recorded(t, dir)
	must.Get(env.Reset(0))(t)
	must.Do(t, os.Remove(dir))
	must.Get(env.Step([]float32{0, 0}))(t)
	must.Refused(env.Step([]float32{0, 0}))(t, "wrappers: recording: ")
}

// recorded is a probe, whose episodes last 2 steps, with its transitions recorded.
func recorded(t *testing.T, dir string) *wrappers.Record {
	t.Helper()
	return must.Get(wrappers.NewRecord(probes(t, 1, wrappers.ParallelOptions{}, nil),
		wrappers.RecordOptions{Dir: dir}))(t)
}

// An episode that Reset interrupts is written as far as it went. What was recorded before a restored state is dropped,
// and recording goes on with the next episode.
func TestRecordAndState(t *testing.T) {
	dir := t.TempDir()
	env := recorded(t, dir)
	must.Get(env.Reset(0))(t)
	must.Get(env.Step([]float32{0, 0}))(t)
	state := must.Get(env.MarshalState())(t)
	must.Get(env.Reset(0))(t)
	must.Get(env.Step([]float32{0, 0}))(t)
	must.Do(t, env.RestoreState(state))
	for range 3 { // the rest of the restored episode, then one of two steps
		must.Get(env.Step([]float32{0, 0}))(t)
	}
	must.Match(t, []string{"episode-000000.jsonl", "episode-000001.jsonl"}, names(t, dir), "files")
	interrupted := readLines(t, filepath.Join(dir, "episode-000000.jsonl"))
	whole := readLines(t, filepath.Join(dir, "episode-000001.jsonl"))
	must.Not(t, len(interrupted) != 1 || len(whole) != 2 || whole[0].Observation[1] != 0, "%v, %v", interrupted, whole)
}
