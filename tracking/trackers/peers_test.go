package trackers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// tracked are the scalars of a run: tags as gorl's, values that float32 has not, and one that is no number.
var tracked = []tracking.Scalar{
	{Step: 10, Tag: "Loss / Policy loss", Value: 0.1}, {Step: 10, Tag: "Reward / Total reward (mean)", Value: -1e300},
	{Step: 20, Tag: "Loss / Policy loss", Value: 1.0 / 3}, {Step: 20, Tag: "Reward / Total reward (mean)",
		Value: math.NaN()},
}

// later are those of the resumed run.
var later = []tracking.Scalar{{Step: 30, Tag: "Loss / Policy loss", Value: 2}}

var configuration = map[string]any{"seed": 3, "agent": map[string]any{"class": "PPO", "grad_norm_clip": 0.5}}

// track writes a run with a tracker. Nothing may be warned of.
func track(t *testing.T, tracker trackers.Tracker, run trackers.Run, scalars []tracking.Scalar, ended error) {
	t.Helper()
	files := must.Get(tracking.OpenRun(run.Dir, tracking.Options{}))(t)
	sinks := trackers.Start([]trackers.Tracker{tracker}, run, func(err error) { t.Error(err) })
	s := tracking.Multi(files, sinks)
	for _, x := range scalars {
		s.Scalar(x.Tag, x.Step, x.Value)
	}
	sinks.Finish(ended)
	must.Do(t, s.Close())
}

// wandbStart is what a .wandb file says of the run itself.
type wandbStart struct {
	Name            string `json:"display_name"`
	Entity, Project string
	Group           string `json:"run_group"`
	ID              string `json:"run_id"`
	Tags            []string
	Config          struct{ Update map[string]any }
}

// What wandb's own reader (`wandb leet inspect`) finds in the files of an offline run is what was tracked, under the
// same id after a resume.
func TestPeersWandB(t *testing.T) {
	python := peers.Python(t, "wandb")
	t.Setenv("WANDB_API_KEY", "")
	os.Unsetenv("WANDB_API_KEY")
	dir := t.TempDir()
	w := must.Get(trackers.WandB(trackers.WandBSettings{Python: python, Project: "walker", Entity: "team",
		Group: "seeds", Tags: []string{"a", "b"}, Mode: "offline"}))(t)
	run := trackers.Run{Name: "walk", Dir: dir, Config: configuration}
	track(t, w, run, tracked, nil)
	run.Resumed = true
	track(t, w, run, later, context.Canceled)

	files := must.Get(filepath.Glob(filepath.Join(dir, "wandb", "offline-run-*", "run-*.wandb")))(t)
	must.Is(t, len(files), 2, "files")
	var id struct{ ID string }
	must.Do(t, json.Unmarshal(must.Read(t, filepath.Join(dir, "wandb.json")), &id))
	must.Is(t, id.ID != "", true, "there is an id")
	for i, want := range []struct {
		rows []map[string]any
		exit int
	}{
		{[]map[string]any{
			{"_step": 10.0, "global_step": 10.0, "Loss / Policy loss": 0.1, "Reward / Total reward (mean)": -1e300},
			{"_step": 20.0, "global_step": 20.0, "Loss / Policy loss": 1.0 / 3, "Reward / Total reward (mean)": "NaN"},
		}, 0},
		{[]map[string]any{{"_step": 30.0, "global_step": 30.0, "Loss / Policy loss": 2.0}}, 255},
	} {
		must.Equal(t, "the file of the run", "run-"+id.ID+".wandb", filepath.Base(files[i]))
		var rows []map[string]any
		exit, started := -1, wandbStart{}
		for line := range strings.Lines(peers.Run(t, python, "-m", "wandb", "leet", "inspect", "--json", files[i])) {
			var record struct {
				Run     *wandbStart
				History *struct{ Item map[string]any }
				Exit    *struct {
					Code int `json:"exit_code"`
				}
			}
			must.Do(t, json.Unmarshal([]byte(line), &record))
			switch {
			case record.Run != nil:
				started = *record.Run
			case record.History != nil:
				maps.DeleteFunc(record.History.Item,
					func(key string, _ any) bool { return strings.HasPrefix(key, "_") && key != "_step" })
				rows = append(rows, record.History.Item)
			case record.Exit != nil:
				exit = record.Exit.Code
			}
		}
		delete(started.Config.Update, "_wandb")
		wantStart := wandbStart{Name: "walk", Entity: "team", Project: "walker", Group: "seeds", ID: id.ID,
			Tags: []string{"a", "b"}}
		wantStart.Config.Update = map[string]any{"seed": 3.0, "agent": map[string]any{"class": "PPO",
			"grad_norm_clip": 0.5}}
		must.Equal(t, "the run", wantStart, started)
		must.Equal(t, "values", want.rows, rows)
		must.Equal(t, "exit code", want.exit, exit)
	}
}

// mlflowServer starts MLflow's tracking server and returns its address.
func mlflowServer(t *testing.T, python string) string {
	t.Helper()
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, _ := net.SplitHostPort(free.Addr().String())
	must.Do(t, free.Close())
	dir := t.TempDir()
	server := exec.Command(python, "-W", "ignore", "-m", "mlflow", "server", "--gunicorn-opts", "--threads 2",
		"--workers", "1", "--port", port, "--backend-store-uri", "sqlite:///"+
			filepath.Join(dir, "mlflow.db"), "--default-artifact-root", filepath.Join(dir, "artifacts"))
	server.Dir = dir
	server.Env = append(os.Environ(), "HOME="+dir, "PYTHONDONTWRITEBYTECODE=1", "OPENBLAS_NUM_THREADS=1")
	printed := must.Open(os.Create(filepath.Join(dir, "log")))(t)
	server.Stdout, server.Stderr = printed, printed
	must.Do(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	uri := "http://127.0.0.1:" + port
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get(uri + "/health")
		if err == nil {
			answer.Body.Close()
			return uri
		}
		must.Not(t, time.Now().After(until), "mlflow server does not answer:\n%s", must.Read(t, printed.Name()))
	}
}

// readMLflow prints what MLflow's own client finds on a server.
const readMLflow = `
import json, sys, mlflow
client = mlflow.MlflowClient(sys.argv[1])
experiment = client.get_experiment_by_name(sys.argv[2])
out = []
for run in client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"]):
    rows = [(m.step, name, repr(m.value)) for name in run.data.metrics
            for m in client.get_metric_history(run.info.run_id, name)]
    out.append({"name": run.info.run_name, "status": run.info.status, "params": run.data.params,
                "tag": run.data.tags.get("who"), "rows": sorted(rows)})
print(json.dumps(out))
`

// What MLflow's own client reads from MLflow's own server is what was tracked, in one run after a resume.
func TestPeersMLflow(t *testing.T) {
	python := peers.Python(t, "mlflow", "flask", "gunicorn")
	uri := mlflowServer(t, python)
	dir := t.TempDir()
	m := must.Get(trackers.MLflow(trackers.MLflowSettings{TrackingURI: uri, ExperimentName: "walker",
		Tags: map[string]string{"who": "me"}}))(t)
	type read struct {
		Name, Status, Tag string
		Params            map[string]string
		Rows              [][3]any
	}
	run := trackers.Run{Name: "walk", Dir: dir, Config: configuration}
	// More in a batch than the server takes at once, and names that it refuses.
	many := slices.Clone(tracked)
	for step := range int64(2100) {
		many = append(many, tracking.Scalar{Step: step, Tag: "many / (a) % of //b", Value: float64(step) / 7})
	}
	track(t, m, run, many, errors.New("broken"))
	run.Resumed = true
	track(t, m, run, later, nil)
	track(t, m, trackers.Run{Name: "stopped", Dir: t.TempDir()}, nil, context.Canceled)
	var runs []read
	must.Do(t, json.Unmarshal([]byte(peers.Run(t, python, "-c", readMLflow, uri, "walker")), &runs))
	must.Is(t, len(runs), 2, "runs")
	must.Equal(t, "the resumed run", []string{"walk", "me", "FINISHED"},
		[]string{runs[0].Name, runs[0].Tag, runs[0].Status})
	must.Equal(t, "the other run", []string{"stopped", "KILLED"}, []string{runs[1].Name, runs[1].Status})
	must.Equal(t, "parameters", map[string]string{"seed": "3", "agent.class": "PPO", "agent.grad_norm_clip": "0.5"},
		runs[0].Params)
	got, want := map[string]float64{}, map[string]float64{}
	for _, row := range runs[0].Rows {
		got[fmt.Sprint(row[1], " ", row[0])] = must.Get(strconv.ParseFloat(row[2].(string), 64))(t)
	}
	names := strings.NewReplacer("many / (a) % of //b", "_many _ a _ of __b", "(", "", ")", "")
	for _, s := range append(many, later...) {
		want[fmt.Sprint(names.Replace(s.Tag), " ", s.Step)] = s.Value
	}
	must.Equal(t, "values", want, got, cmpopts.EquateNaNs())
	must.Equal(t, "rows", len(want), len(runs[0].Rows))
}
