package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
	"github.com/gorl-dev/gorl/trainers"
)

const trackedYAML = `
seed: 1
models: {mlp: [8]}
agent: {class: PPO, rollouts: 4, experiment: EXPERIMENT}
trainer: {class: SequentialTrainer, timesteps: 20, write_interval: 5, checkpoint_interval: 10, trackers: TRACKERS}
`

func tracked(experiment, list string) []byte {
	return []byte(strings.NewReplacer("EXPERIMENT", experiment, "TRACKERS", list).Replace(trackedYAML))
}

// sink keeps what it is told of a run.
type sink struct {
	tracking.Memory
	run   trackers.Run
	ended error
}

func (s *sink) Finish(err error) { s.ended = err }

func (s *sink) tracker() trackers.Tracker {
	return trackers.Tracker{Name: "mine", Open: func(_ context.Context, run trackers.Run) (tracking.Sink, error) {
		s.run = run
		return s, nil
	}}
}

// A sink of one's own gets what the run's files get, the configuration before, and how the run ended after.
func TestTrackers(t *testing.T) {
	checkLiveTensors(t)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		ctx    context.Context
		onStep error
		want   error
	}{
		"to the end": {context.Background(), nil, nil}, "stopped": {stopped, nil, context.Canceled}, "broken": {context.Background(), broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			var mine sink
			dir := t.TempDir()
			tr, err := trainers.FromYAML(tracked("{}", "[]"), pendulum(t), func(c *trainers.Config) {
				c.Directory, c.Name, c.Trackers = dir, "walk", []trackers.Tracker{mine.tracker()}
				c.OnWarning = func(err error) { t.Error(err) }
				c.Callbacks = []trainers.Callback{
					trainers.StepFunc(func(*trainers.Trainer, *envs.Step) error { return test.onStep }),
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Agent().Close()
			if err := tr.Train(test.ctx); !errors.Is(err, test.want) {
				t.Fatal(err)
			}
			if err := tr.Close(); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(mine.ended, test.want) {
				t.Errorf("ended with %v, want %v", mine.ended, test.want)
			}
			agent, _ := mine.run.Config["agent"].(map[string]any)
			if mine.run.Name != "walk" || mine.run.Dir != filepath.Join(dir, "walk") || mine.run.Resumed || agent["rollouts"] != 4 {
				t.Errorf("the tracker is told %+v", mine.run)
			}
			want, err := tracking.ReadFile(filepath.Join(dir, "walk", tracking.ScalarsFile))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(values(want), values(mine.Scalars())); diff != "" || name == "to the end" && len(want) == 0 {
				t.Errorf("%d scalars; the tracker's differ (-file +tracker):\n%s", len(want), diff)
			}
			if _, err := yaml.Marshal(tr.Dict()); err != nil {
				t.Errorf("a tracker that YAML cannot name is not left out: %v", err)
			}
		})
	}
}

func values(scalars []tracking.Scalar) (list []string) {
	for _, s := range scalars {
		list = append(list, fmt.Sprint(s.Step, s.Tag, s.Value))
	}
	return list
}

// Trackers that are not there do not change what is trained, and are warned of once each.
func TestTrackersAway(t *testing.T) {
	checkLiveTensors(t)
	nothing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nothing.Addr().String()
	if err := nothing.Close(); err != nil {
		t.Fatal(err)
	}
	list := fmt.Sprintf(`[{mlflow: {tracking_uri: "http://%s"}}, {wandb: {python: %s/python3}}]`, address, t.TempDir())
	before := runtime.NumGoroutine()
	var files [2]string
	var warnings []string
	for i, list := range []string{"[]", list} {
		dir := t.TempDir()
		tr, err := trainers.FromYAML(tracked("{}", list), pendulum(t), func(c *trainers.Config) {
			c.Directory, c.Name = dir, "walk"
			c.OnWarning = func(err error) { warnings = append(warnings, err.Error()) }
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tr.Train(context.Background()), tr.Close(), tr.Agent().Close()); err != nil {
			t.Fatal(err)
		}
		scalars, err := tracking.ReadFile(filepath.Join(dir, "walk", tracking.ScalarsFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scalars {
			if !strings.HasPrefix(s.Tag, "Stats /") { // times
				files[i] += fmt.Sprintln(s.Step, s.Tag, s.Value)
			}
		}
	}
	if files[0] == "" || files[0] != files[1] {
		t.Errorf("without trackers\n%s\nwith\n%s", files[0], files[1])
	}
	said := strings.Join(warnings, "\n")
	if len(warnings) != 2 || !strings.Contains(said, "tracker mlflow: ") || !strings.Contains(said, "tracker wandb: ") {
		t.Errorf("%d warnings, want one of each tracker:\n%s", len(warnings), said)
	}
	for runtime.NumGoroutine() > before { // the test's time limit ends it where one is left
		runtime.Gosched()
	}
}

// skrl's switch is the tracker, what the trainer's section says wins, and Dict makes the same again.
func TestTrackersOfSkrl(t *testing.T) {
	checkLiveTensors(t)
	for _, test := range []struct{ experiment, list, project string }{
		{"{wandb: true, wandb_kwargs: {project: skrl, tags: [a, b]}}", "[]", "skrl"},
		{"{wandb: true, wandb_kwargs: {project: skrl}}", "[{wandb: {project: own}}]", "own"},
		{"{wandb: false, wandb_kwargs: {project: skrl}}", "[{wandb: {project: own}}]", "own"},
	} {
		first, err := config.FromYAML(tracked(test.experiment, test.list))
		if err != nil {
			t.Fatal(err)
		}
		full := completed(t, first, pendulum(t))
		written, err := yaml.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		read, err := config.FromYAML(written)
		if err != nil {
			t.Fatal(err)
		}
		for _, dict := range []map[string]any{first, full, read} {
			var got []trackers.Tracker
			tr, err := trainers.FromDict(dict, pendulum(t), func(c *trainers.Config) { got = c.Trackers })
			if err != nil {
				t.Fatal(err)
			}
			tr.Agent().Close()
			if len(got) != 1 || got[0].Name != "wandb" || got[0].Settings()["project"] != test.project {
				t.Errorf("%v: %v, want wandb with the project %s", dict, got, test.project)
			}
		}
	}
}

// What is wrong in trackers is said before anything is made.
func TestTrackersRefused(t *testing.T) {
	t.Setenv("MLFLOW_TRACKING_URI", "")
	os.Unsetenv("MLFLOW_TRACKING_URI")
	for list, want := range map[string]string{
		"[wandbb]":                  `"trackers[0]" is "wandbb"|the names are mlflow, wandb|did you mean "wandb"`,
		"[3]":                       `"trackers[0]" is 3|name or {name: {setting: value}}`,
		"[{wandb: 3}]":              `want the settings of wandb`,
		"[{wandb: {}, mlflow: {}}]": `want one tracker`,
		"[{wandb: {projct: x}}]":    `unknown key "projct"|project`,
		"[{wandb: {mode: ofline}}]": `"mode" is "ofline"|offline`,
		"[mlflow]":                  `"tracking_uri" is missing|MLFLOW_TRACKING_URI`,
		"[{mlflow: {tracking_uri: \"sqlite:///x.db\"}}]": `"tracking_uri" is "sqlite:///x.db"|mlflow server`,
		"[wandb, {wandb: {project: x}}]":                 `"wandb" twice`,
		"[wandb], write_interval: 0":                     `"trackers" needs "write_interval"`,
	} {
		text := strings.Replace(string(tracked("{}", list)), "write_interval: 5, ", "", 1)
		tr, err := trainers.FromYAML([]byte(text), pendulum(t))
		if err == nil {
			tr.Agent().Close()
			t.Errorf("%s is taken", list)
			continue
		}
		for part := range strings.SplitSeq(want, "|") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error %q does not say %q", list, err, part)
			}
		}
	}
	for _, list := range [][]trackers.Tracker{{{}}, {{Name: "mine"}}} {
		cfg := trainers.Config{WriteInterval: agents.Interval{Auto: true}, Trackers: list}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "trackers[0]") {
			t.Errorf("%v: %v", list, err)
		}
	}
}
