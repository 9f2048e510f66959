package trackers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tracking"
)

// record trains a run of steps from-to: its folder and the tracker get two values of each step. The result is all
// warnings.
func record(t *testing.T, tracker Tracker, run Run, from, to int64, step func(int64)) string {
	t.Helper()
	opt := tracking.Options{Restart: run.Resumed, ResumeStep: from - 1}
	folder := must.Get(tracking.OpenRun(run.Dir, opt))(t)
	var w warnings
	s := start([]Tracker{tracker}, run, w.warn, eager)
	sinks := tracking.Multi(folder, s)
	for i := from; i <= to; i++ {
		sinks.Scalar("a", i, float64(i))
		sinks.Scalar("b", i, -float64(i))
		must.Do(t, sinks.Flush())
		step(i)
	}
	must.Do(t, sinks.Close())
	must.Do(t, s.Close()) // says nothing again
	return strings.Join(w.texts, "\n")
}

// sentSteps returns the steps of the metric a in the order in which the server got them.
func (s *server) sentSteps() (steps []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.metrics {
		if m.Key == "a" {
			steps = append(steps, m.Step)
		}
	}
	return steps
}

// A server that was away for all of a run, for its end, or for its beginning gets what it misses from the run's
// folder, once, also after a resume that has cut the files. The run ends as it has ended.
func TestSend(t *testing.T) {
	for name, test := range map[string]struct {
		away    func(step int64) bool
		missing int64 // values at the end of the run
	}{
		"always":        {func(int64) bool { return true }, 6},
		"at the end":    {func(step int64) bool { return step >= 2 }, 4},
		"not at all":    {func(int64) bool { return false }, 0},
		"for its start": {func(step int64) bool { return step < 2 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			noGoroutines(t)
			srv := newServer(t)
			var away atomic.Bool
			away.Store(test.away(0))
			srv.fail = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				if !away.Load() {
					return false
				}
				http.Error(w, "away", http.StatusServiceUnavailable)
				return true
			}
			run := Run{Name: "r", Dir: t.TempDir()}
			must.Do(t, os.WriteFile(filepath.Join(run.Dir, "run.yaml"), nil, 0o600))
			tracker := mlflowOf(t, srv.URL)
			said := record(t, tracker, run, 1, 3, func(step int64) {
				for !test.away(step-1) && !test.away(step) && len(srv.sentSteps()) < int(step) { // until it has them
				}
				away.Store(test.away(step + 1))
			})
			if missed := strings.Contains(said, "gorl sync "+run.Dir); missed != (test.missing > 0) || missed &&
				!strings.Contains(said, fmt.Sprintf("not received %d of the run's 6 values", test.missing)) {
				t.Errorf("warnings %q", said)
			}
			away.Store(false)
			send := func(want int64) {
				t.Helper()
				n, files, err := Send(t.Context(), tracker, run)
				must.Do(t, err)
				must.Equal(t, "values and files that were sent", []int64{want, 0}, []int64{n, int64(files)})
			}
			send(test.missing)
			requests := len(srv.requests)
			send(0)
			must.Equal(t, "requests of the second call", 0, len(srv.requests)-requests)
			must.Equal(t, "steps", []int64{1, 2, 3}, srv.sentSteps())
			must.Equal(t, "the last status", "FINISHED", srv.statuses[len(srv.statuses)-1])
			// A resume from step 2 makes steps 3 and 4 (again).
			run.Resumed = true
			must.Equal(t, "warnings", "", record(t, tracker, run, 3, 4, func(int64) {}))
			send(0)
			must.Equal(t, "steps after the resume", []int64{1, 2, 3, 3, 4}, srv.sentSteps())
		})
	}
}

// A run that had no tracker, and one whose process was killed.
func TestSendWholeRun(t *testing.T) {
	srv := newServer(t)
	run := Run{Name: "r", Dir: t.TempDir()}
	record(t, tracker(&sink{ended: make(chan error, 1)}, nil), run, 1, 3, func(int64) {})
	must.Do(t, os.WriteFile(filepath.Join(run.Dir, "sent-killed.json"),
		[]byte(`{"lines": [[0, 3], [4, 5]], "end": ""}`), 0o600))
	// In this order, because both continue MLflow's run of the folder.
	for _, x := range [][2]string{{"mlflow", "FINISHED"}, {"killed", "FAILED"}} {
		name, want := x[0], x[1]
		srv.statuses, srv.metrics = nil, nil
		tracker := mlflowOf(t, srv.URL)
		tracker.Name = name
		n, _, err := Send(t.Context(), tracker, run)
		must.Not(t, err != nil || int(n) != len(srv.metrics) || srv.statuses[len(srv.statuses)-1] != want,
			"%s: %d values, the server has %d, %v, %v", name, n, len(srv.metrics), srv.statuses, err)
		must.Not(t, name == "killed" && fmt.Sprint(srv.sentSteps()) != "[3]", "steps %v of values 3, 4 and 5",
			srv.sentSteps())
	}
}

// The best checkpoint and films are kept on request, at the end of the run, each version once.
func TestArtifacts(t *testing.T) {
	noGoroutines(t)
	srv := newServer(t)
	run := Run{Name: "r", Dir: filepath.Join(t.TempDir(), "r[1]")} // brackets have a meaning in patterns
	write := func(path, text string) {
		must.Do(t, os.MkdirAll(filepath.Join(run.Dir, filepath.Dir(path)), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(run.Dir, path), []byte(text), 0o600))
	}
	write("checkpoints/agent_3.safetensors", "newest")
	write("checkpoints/best/agent_2.safetensors", "best")
	write("videos/walk.mp4", "film")
	for _, on := range []bool{false, true} {
		srv.files = nil
		tracker := must.Get(MLflow(MLflowSettings{TrackingURI: srv.URL, Artifacts: on}))(t)
		must.Equal(t, "warnings", "", record(t, tracker, run, 1, 3, func(int64) {}))
		const place = "/api/2.0/mlflow-artifacts/artifacts/7/abc/artifacts/"
		want := "[" + place + "checkpoints/best/agent_2.safetensors best<nil> " + place + "videos/walk.mp4 film<nil>]"
		must.Not(t, fmt.Sprint(srv.files) != want && on || len(srv.files) != 0 && !on,
			"artifacts %t: the server has %s, want %s", on, srv.files, want)
		run = Run{Name: "r", Dir: run.Dir, Resumed: true}
	}
	write("videos/later.gif", "another film")
	tracker := must.Get(MLflow(MLflowSettings{TrackingURI: srv.URL, Artifacts: true}))(t)
	for i, want := range []int{1, 0} {
		n, files, err := Send(t.Context(), tracker, run)
		must.Not(t, n != 0 || files != want || err != nil, "call %d sends %d values and %d files, %v", i, n, files, err)
	}
	write("videos/\xff.gif", "film")
	_, _, err := Send(t.Context(), tracker, run)
	must.Refuse(t, err, `the name "videos/\xff.gif" is not UTF-8; rename`)
}
