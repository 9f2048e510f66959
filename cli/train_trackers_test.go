package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/trackers"
)

// heard is a tracker of the tests: what each run has told it, by the run's name.
var heard struct {
	sync.Mutex
	runs map[string]*heardRun
}

type heardRun struct {
	trackers.Run
	steps map[string][]int64 // by tag
	ended error
}

func (h *heardRun) Scalar(tag string, step int64, _ float64) {
	h.steps[tag] = append(h.steps[tag], step)
}
func (h *heardRun) Flush() error     { return nil }
func (h *heardRun) Finish(err error) { h.ended = err }

func (h *heardRun) Close() error {
	heard.Lock()
	defer heard.Unlock()
	heard.runs[h.Name] = h
	return nil
}

type heardSettings struct {
	// Deaf is an error.
	Deaf bool `yaml:"deaf"`
}

func init() {
	trackers.Register("heard", heardSettings{},
		func(_ context.Context, run trackers.Run, s heardSettings) (tracking.Sink, error) {
			if s.Deaf {
				return nil, fmt.Errorf("it is deaf (%w)", trackers.ErrFinal)
			}
			return &heardRun{Run: run, steps: map[string][]int64{}}, nil
		})
}

// Each member of a population has a run of a tracker, in the population's group, also after a resume.
func TestTrainTracksMembers(t *testing.T) {
	here(t, "p.yaml", crew)
	refuses(t, commandline.WrongUse, [][2]string{
		{"train -c p.yaml --check -s trainer.trackers=[herd]", `did you mean "heard"`},
		{"train -c p.yaml --check -s trainer.trackers=[heard] -s trainer.write_interval=0",
			"trainer.trackers needs trainer.write_interval"},
	})
	for name, config := range map[string]string{"crew": crew, "tribe": tribe + "trainer: {}\n"} {
		t.Run(name, func(t *testing.T) {
			here(t, "p.yaml", config)
			var returns [3][]int64
			for _, resumed := range []bool{false, true} {
				heard.runs = map[string]*heardRun{}
				if !resumed {
					ctx, cancel := context.WithCancel(context.Background())
					stop = cancel
					gorlWith(ctx, t, commandline.Stopped, "train", "-c", "p.yaml", "-q",
						"-s", "trainer.trackers=[heard]", "-s", "environment.at=300")
				} else {
					gorl(t, 0, "train", "--resume", "runs/"+name, "-q", "-s", "environment.at=0")
				}
				for id := range 3 {
					run := heard.runs[fmt.Sprintf("%s-%03d", name, id)]
					if run == nil || run.Group != name || run.Resumed != resumed ||
						filepath.Base(run.Dir) != fmt.Sprintf("%03d", id) ||
						errors.Is(run.ended, context.Canceled) == resumed || at(run.Config, "agent.class") != "PPO" {
						t.Fatalf("resumed %t: the run of member %d is %+v", resumed, id, run)
					}
					returns[id] = append(returns[id], run.steps["episode.return"]...)
					if len(run.steps["Hyperparameter / learning_rate"]) < len(run.steps["episode.return"]) {
						t.Errorf("member %d has the figures %v", id, run.steps)
					}
				}
			}
			for id, steps := range returns { // what an interrupted process wrote after its state is not there twice
				var at []int64
				for _, s := range get(tracking.ReadRun(fmt.Sprintf("runs/%s/%03d", name, id)))(t) {
					if s.Tag == tracking.TagTimesteps {
						at = append(at, s.EnvSteps)
					}
				}
				same(t, "the steps of values", []int64{512, 1024, 1536}, at)
				if len(steps) == 0 || !slices.IsSorted(steps) || steps[len(steps)-1] != 1536 {
					t.Errorf("member %d has returns at the steps %v", id, steps)
				}
			}
		})
	}
}

// A tracker of a single agent gets all of run.yaml, numbers as numbers, and environment steps. TensorBoard and plots
// count the same steps.
func TestTrainTracksOne(t *testing.T) {
	here(t, "a.yaml", `
environment: {id: CartPole, num_envs: 4}
models: {mlp: [16]}
agent: {class: PPO, rollouts: 8, learning_rate: 3e-4, grad_norm_clip: 1}
trainer: {timesteps: 40, write_interval: 20, trackers: [heard]}
`)
	heard.runs = map[string]*heardRun{}
	refuses(t, commandline.WrongUse, [][2]string{{"train -c a.yaml --check -s " +
		"'trainer.trackers=[wandb: {python: /bin/false}]'", "/bin/false has no package wandb"}})
	_, stderr := gorl(t, 0, "train", "-c", "a.yaml", "-n", "one")
	matches(t, stderr, `100 %  160/160`)
	must(t, os.MkdirAll("runs/walk", 0o777))
	write(t, "runs/walk/runs.yaml", "runs: []\n") // of --seeds
	gorl(t, 0, "train", "-c", "a.yaml", "-q", "--out", "runs/walk", "-n", "seed-2")
	if run := heard.runs["walk-seed-2"]; run == nil || run.Group != "walk" || heard.runs["one"].Group != "" {
		t.Errorf("the run of a batch has no group: %+v", heard.runs)
	}
	run := heard.runs["one"]
	var inFile map[string]any
	must(t, yaml.Unmarshal([]byte(text("runs/one/run.yaml")), &inFile))
	for key, want := range map[string]any{"environment.id": "CartPole", "agent.learning_rate": 3e-4} {
		same(t, key+" for trackers", want, at(run.Config, key))
		same(t, key+" in the file", want, at(inFile, key))
	}
	same(t, "the environment steps of values", []int64{80, 160}, run.steps[tracking.TagTimesteps])
	board := get(tracking.ReadFile(get(filepath.Glob("runs/one/*tfevents*"))(t)[0]))(t)
	lines := get(tracking.ReadRun("runs/one"))(t)
	for i, s := range lines {
		if s.EnvSteps != 4*s.Step || board[i].Step != s.EnvSteps || board[i].Tag != s.Tag {
			t.Fatalf("JSON lines have %+v, the event file %+v", s, board[i])
		}
	}
	checkAxes(t, []record{{name: "lines", scalars: lines}, {name: "board", scalars: board}}, tracking.TagUpdates,
		map[string]float64{"steps": 160, "timesteps": 40, "updates": 5})
}

// checkAxes compares where the curves of a tag end, by the name of the axis.
func checkAxes(t *testing.T, list []record, tag string, ends map[string]float64) {
	t.Helper()
	for axis, last := range ends {
		x := get(axisOf(axis, list))(t)
		for _, r := range list {
			if got := x.curve(r, tag).X; got[len(got)-1] != last {
				t.Errorf("over %s the %s end at %v, want %v", axis, r.name, got, last)
			}
		}
	}
}

// Members that are processes do the same. Their tracker's server is away, and gets the values later. Their best plays
// without --config, and what trains in one process leaves their folder alone.
func TestTrainTracksProcesses(t *testing.T) {
	asChild(t)
	here(t, "p.yaml", strings.NewReplacer("id: Stopping", "id: CartPole", "save_buffers: true",
		"save_buffers: true, trackers: [mlflow: {tracking_uri: 'http://127.0.0.1:1'}]").Replace(crew)+
		"seed: 4\nlauncher: {command: ["+os.Args[0]+", member]}\n")
	must(t, launch.Run(t.Context(), get(launch.ReadFile("p.yaml"))(t), launch.Options{}))
	matches(t, text("runs/crew/logs/002.log"), `note: tracker mlflow: .* To send them: gorl sync \S+/runs/crew\n`)
	heard.runs = map[string]*heardRun{}
	stdout, _ := gorl(t, 0, "sync", "runs/crew", "-s", "trainer.trackers=[heard]")
	matches(t, stdout, `^heard: [1-9]\d+ values and 0 files sent\n$`)
	for id := range 3 {
		run := heard.runs[fmt.Sprintf("crew-%03d", id)]
		if run == nil || run.Group != "crew" || run.ended != nil {
			t.Errorf("the tracker got %+v of member %d", run, id)
		}
	}
	playsBest(t, "runs/crew")
}
