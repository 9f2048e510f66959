package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

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
	scalars []tracking.Scalar
	run     trackers.Run
	ended   error
}

func (s *sink) Scalar(tag string, step int64, value float64) {
	s.scalars = append(s.scalars, tracking.Scalar{Step: step, Tag: tag, Value: value})
}

func (s *sink) Flush() error     { return nil }
func (s *sink) Close() error     { return nil }
func (s *sink) Finish(err error) { s.ended = err }

func (s *sink) tracker() trackers.Tracker {
	return trackers.Tracker{Name: "mine", Open: func(_ context.Context, run trackers.Run) (tracking.Sink, error) {
		s.run = run
		return s, nil
	}}
}

// A sink of one's own gets what the run's files get, the configuration before, and how the run ended after.
func TestTrackers(t *testing.T) {
	for _, want := range []error{nil, errors.New("broken")} {
		var mine sink
		dir := t.TempDir()
		tr := value(trainers.FromYAML(tracked("{}", "[]"), pendulum(t), func(c *trainers.Config) {
			c.Directory, c.Name, c.Trackers = dir, "walk", []trackers.Tracker{mine.tracker()}
			c.OnWarning = func(err error) { t.Error(err) }
			c.Callbacks = after(func(*trainers.Trainer) error { return want })
		}))(t)
		if err := tr.Train(t.Context()); !errors.Is(err, want) {
			t.Fatal(err)
		}
		must(t, errors.Join(tr.Close(), tr.Agent().Close()))
		agent, _ := mine.run.Config["agent"].(map[string]any)
		if run := mine.run; !errors.Is(mine.ended, want) || run.Name != "walk" ||
			run.Dir != filepath.Join(dir, "walk") || run.Resumed || agent["rollouts"] != 4 {
			t.Errorf("the tracker got %+v, ended with %v", run, mine.ended)
		}
		written := value(tracking.ReadFile(filepath.Join(dir, "walk", tracking.ScalarsFile)))(t)
		for i, s := range written { // trackers get environment steps
			written[i].Step = s.EnvSteps
		}
		if diff := cmp.Diff(values(written), values(mine.scalars)); diff != "" || want == nil && len(written) == 0 {
			t.Errorf("%d scalars; the tracker's differ (-file +tracker):\n%s", len(written), diff)
		}
	}
}

func values(scalars []tracking.Scalar) (list []string) {
	for _, s := range scalars {
		list = append(list, fmt.Sprint(s.Step, s.Tag, s.Value))
	}
	return list
}

// Trackers that are not there do not change what is trained. There is one warning of each failure, and one
// at the end of the values that were not sent.
func TestTrackersAway(t *testing.T) {
	nothing := value(net.Listen("tcp", "127.0.0.1:0"))(t)
	must(t, nothing.Close())
	away := fmt.Sprintf(`[{mlflow: {tracking_uri: "http://%s"}}, {wandb: {python: %s/python3}}]`, nothing.Addr(),
		t.TempDir())
	before := runtime.NumGoroutine()
	var rows [2][]string
	var warnings []string
	for i, list := range []string{"[]", away} {
		dir := t.TempDir()
		tr := value(trainers.FromYAML(tracked("{}", list), pendulum(t), func(c *trainers.Config) {
			c.Directory, c.Name = dir, "walk"
			c.OnWarning = func(err error) { warnings = append(warnings, err.Error()) }
		}))(t)
		must(t, errors.Join(tr.Train(context.Background()), tr.Close(), tr.Agent().Close()))
		rows[i] = figures(t, filepath.Join(dir, "walk"))
	}
	if diff := cmp.Diff(rows[0], rows[1]); diff != "" || len(rows[0]) == 0 {
		t.Errorf("-without +with trackers\n%s", diff)
	}
	wantError(t, "the warnings", errors.New(strings.Join(warnings, "\n")), "tracker mlflow: ", "tracker wandb: ")
	if atEnd := strings.Count(strings.Join(warnings, "\n"), "it has not received "); len(warnings) != 4 || atEnd != 2 {
		t.Errorf("%d of %d warnings are of values; want one and another one of each tracker", atEnd, len(warnings))
	}
	for runtime.NumGoroutine() > before { // the test's time limit ends it if one is left
		runtime.Gosched()
	}
}

// skrl's switch is the tracker, what the trainer's section says wins, and Dict makes the same again.
func TestTrackersOfSkrl(t *testing.T) {
	for _, test := range []struct{ experiment, list, project string }{
		{"{wandb: true, wandb_kwargs: {project: skrl, tags: [a, b]}}", "[]", "skrl"},
		{"{wandb: false, wandb_kwargs: {project: skrl}}", "[{wandb: {project: own}}]", "own"},
	} {
		dict := value(config.FromYAML(tracked(test.experiment, test.list)))(t)
		for range 2 {
			var got []trackers.Tracker
			tr := value(trainers.FromDict(dict, pendulum(t), func(c *trainers.Config) { got = c.Trackers }))(t)
			if len(got) != 1 || got[0].Name != "wandb" || got[0].Settings()["project"] != test.project {
				t.Errorf("%v: %v, want wandb with the project %s", dict, got, test.project)
			}
			dict = value(config.FromYAML(value(yaml.Marshal(tr.Dict()))(t)))(t)
			must(t, tr.Agent().Close())
		}
	}
}

// A simulator's figure with a group is a tag itself, once. Other figures of the batch get a prefix.
func TestNamesOfSimulators(t *testing.T) {
	var mine sink
	dir := t.TempDir()
	tr := value(trainers.FromYAML(tracked("{}", "[]"), &talker{Env: pendulum(t)}, func(c *trainers.Config) {
		c.Directory, c.Name, c.Trackers = dir, "walk", []trackers.Tracker{mine.tracker()}
	}))(t)
	must(t, errors.Join(tr.Train(context.Background()), tr.Close(), tr.Agent().Close()))
	var got []string
	for _, s := range mine.scalars {
		if s.Step == 20 && (strings.Contains(s.Tag, "level") || strings.Contains(s.Tag, "resets")) {
			got = append(got, s.Tag)
		}
	}
	if diff := cmp.Diff([]string{"Curriculum/adr.level", "Info / resets"}, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}
