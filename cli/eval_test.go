package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/trainers"
)

// evaluation is what --json prints.
type evaluation struct {
	Checkpoint, Config, Environment string
	Step, Seed                      int64
	Episodes                        int
	Stochastic                      bool
	Figures                         map[string]summary
}

func evaluated(t testing.TB, args ...string) evaluation {
	t.Helper()
	stdout, _ := gorl(t, 0, append([]string{"eval", "--json"}, args...)...)
	var e evaluation
	must(t, json.Unmarshal([]byte(stdout), &e))
	return e
}

// What gorl eval says of the best checkpoint is what trainers.Evaluate says of it.
func TestEvalIsEvaluate(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--seed", "2")
	for _, stochastic := range []bool{false, true} {
		got := evaluated(t, "runs/pole", "--episodes", "12", "--seed", "5", fmt.Sprint("--stochastic=", stochastic))
		c := get(readConfiguration("runs/pole/run.yaml", nil))(t)
		env := get(catalog.New(c.Section("environment")))(t)
		defer env.Close()
		trainer := get(trainers.FromDict(c.Of(runfile.Trainers), env,
			func(cfg *trainers.Config) { cfg.StochasticEvaluation = stochastic }))(t)
		defer trainer.Agent().Close()
		store := get(checkpoint.NewStore("runs/pole/checkpoints", checkpoint.Options{}))(t)
		best, _, err := store.Best()
		must(t, err)
		agent := trainer.Agent().(restorable)
		must(t, agent.Restore(best.Snapshot))
		must(t, agent.Reseed(5))
		want := get(trainer.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 12, Seed: 5}))(t)
		if got.Figures["return"].Mean != want.Return || got.Figures["length"].Mean != want.Length ||
			got.Episodes != want.Episodes || got.Stochastic != stochastic {
			t.Errorf("gorl eval says %+v, Evaluate return %g and length %g over %d episodes", got, want.Return,
				want.Length, want.Episodes)
		}
		same(t, "the step", best.Manifest.Step, got.Step)
	}
}

// A run with normalised observations is evaluated by what it has learnt of them: the returns are those that its
// exported policy, which acts on raw observations, has in the bare environment.
func TestEvalUsesStatistics(t *testing.T) {
	here(t, "wrapped.yaml", strings.Replace(short, "num_envs: 4", `num_envs: 4, wrappers: [normalize_observation,
    {clip_observation: {low: -2, high: 2}}, {normalize_reward: {discount: 0.99}}, {clip_reward: {high: 0.5}}]`, 1))
	gorl(t, 0, "train", "-c", "wrapped.yaml", "-q", "--seed", "2")
	playsAlike(t)
}

// A policy with memory plays its episodes as the agent does, and says what it remembers.
func TestEvalOfMemory(t *testing.T) {
	here(t, "memory.yaml", strings.NewReplacer("CartPole,", "CartPole, velocities: false,",
		"{mlp: [16], activation: tanh}", `
  policy:
    class: Categorical
    network: [{name: net, input: OBSERVATIONS, layers: [{gru: {hidden_size: 5}}, 8], activations: [~, tanh]}]
    output: 20 * ACTIONS
  value: {class: Deterministic, network: [{name: v, input: OBSERVATIONS, layers: [8], activations: tanh}], output: ONE}
`).Replace(short))
	gorl(t, 0, "train", "-c", "memory.yaml", "-q", "--seed", "2")
	playsAlike(t)
	has(t, says(t, "inspect", "runs/pole"), "memory        a state of 5 values from step to step")
	has(t, says(t, "export", "runs/pole", "policy.onnx"), "input   hidden_in      batch × 5",
		"output  hidden_out     batch × 5")
}

// playsAlike compares the returns of gorl eval with those of the exported policy in the same environment without
// wrappers.
func playsAlike(t *testing.T) {
	t.Helper()
	got := evaluated(t, "runs/pole", "--episodes", "8", "--seed", "5", "--checkpoint", "latest")

	gorl(t, 0, "export", "--checkpoint", "latest", "runs/pole", "policy.safetensors")
	policy := get(infer.Load("policy.safetensors"))(t)
	env := get(catalog.New(map[string]any{"id": "CartPole", "num_envs": 4,
		"velocities": policy.Spaces().Observation.Width() == 4}))(t)
	defer env.Close()
	step := get(env.Reset(5))(t)
	played, total := make([]int, 4), 0.0
	for left := 8; left > 0; {
		actions := make([]float32, 4)
		must(t, policy.ActBatch(step.Observations, actions))
		step = get(env.Step(actions))(t)
		for _, e := range step.Episodes {
			must(t, policy.Reset(e.Env))
			if played[e.Env] < 2 {
				played[e.Env]++
				left--
				total += e.Return / 8
			}
		}
	}
	same(t, "the return of gorl eval is not the exported policy's", total, got.Figures["return"].Mean)
}

// A best checkpoint that is damaged is named, and no other plays or is exported in its place unless it is asked for.
func TestDamagedBest(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--seed", "2")
	best := globbed(t, "runs/pole/checkpoints/best/*.safetensors", 1)
	must(t, os.Truncate(best[0], 500))
	// Training goes on from the latest one, and says that the best is lost, also if it is to say little.
	_, stderr := gorl(t, 0, "train", "--resume", "runs/pole", "-q", "--timesteps", "96")
	has(t, stderr, "passed over: ", filepath.Base(best[0]))
	refuses(t, commandline.Failed, [][2]string{
		{"eval runs/pole", filepath.Base(best[0]) + ", which is damaged"},
		{"export --checkpoint best runs/pole out.onnx", filepath.Base(best[0]) + ", which is damaged"},
	})
	same(t, "the latest", int64(96), evaluated(t, "runs/pole", "--checkpoint", "latest", "--episodes", "2").Step)
	stdout, _ := gorl(t, 0, "export", "--checkpoint", "64", "runs/pole", "out.onnx")
	has(t, stdout, "agent_64.safetensors → out.onnx")
	must(t, os.Truncate("runs/pole/checkpoints/agent_64.safetensors", 500))
	refuses(t, commandline.Failed, [][2]string{{"eval --checkpoint 64 runs/pole", "agent_64"}})
}

// The table names the checkpoint, and a film with --fps shows the first episode, one picture a step.
func TestEvalTable(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--seed", "2", "--set", "environment.max_episode_steps=9")
	stdout, _ := gorl(t, 0, "eval", "runs/pole", "--episodes", "3", "--record", "pole.GIF", "--fps", "50")
	matches(t, stdout, `runs/pole/checkpoints/best/agent_\d+\.safetensors, timestep \d+: 3 episodes of CartPole, by `+
		`the `+
		`mean or most probable action, seed 1`, `mean +std +min +median +max`, `\nreturn +[89]`, `\nlength +[89]`,
		`The first episode is in pole\.GIF`)
	film := decodeGIF(t, "pole.GIF")
	if n := len(film.Image); n < 8 || n > 9 || film.Config.Width != 300 || film.Delay[0] != 2 {
		t.Errorf("a film of %d pictures, %d wide, %d hundredths of a second each", n, film.Config.Width, film.Delay[0])
	}
	gorl(t, 0, "eval", "runs/pole", "--episodes", "1", "--record", "pole.png")
	same(t, "the width of a strip", 4*300+3*4, get(png.Decode(strings.NewReader(text("pole.png"))))(t).Bounds().Dx())
	// The strip of a long episode goes on to its end, and few pictures are drawn for it.
	long := &endless{}
	strips := get(newRecording(long, "a.png", 25))(t)
	get(strips.Reset(1))(t)
	for range 2000 {
		get(strips.Step(nil))(t)
	}
	if n := len(strips.pictures); long.drawn > 120 || n < strip || strips.every*(n+1) < 2000 {
		t.Errorf("%d pictures are drawn of 2000, and %d kept, one of %d", long.drawn, n, strips.every)
	}
}

// endless has an episode without an end, and counts its pictures.
type endless struct {
	envs.Env
	drawn int
}

func (e *endless) Reset(int64) (*envs.Step, error) { return e.Step(nil) }
func (*endless) Step([]float32) (*envs.Step, error) {
	return &envs.Step{Terminated: []bool{false}, Truncated: []bool{false}}, nil
}
func (e *endless) Render(int) (image.Image, error) {
	e.drawn++
	return nil, nil
}

// trainer.video_interval films while training, before the first timestep and every interval. A run whose first film
// fails leaves no folder, unless the folder was there before.
func TestTrainVideos(t *testing.T) {
	here(t, "short.yaml", short)
	for _, there := range []bool{true, false} {
		if there {
			must(t, os.MkdirAll("runs/pole", 0o777))
		}
		_, stderr := gorl(t, commandline.Failed, "train", "-c", "short.yaml", "-q", "-s", "environment={id: Unlit}",
			"-s", "trainer.video_interval=48")
		has(t, stderr, "no light (film at timestep 0)")
		_, err := os.Stat("runs/pole")
		same(t, "whether runs/pole is left", there, err == nil)
		must(t, os.RemoveAll("runs/pole"))
	}
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "-s", "trainer.video_interval=48", "-s", "trainer.video_length=5")
	for _, at := range []string{"000", "048", "096"} {
		same(t, "pictures, one of every other step, of the film of timestep "+at, 3,
			len(decodeGIF(t, "runs/pole/videos/step-000000"+at+".gif").Image))
	}
}

func decodeGIF(t *testing.T, path string) *gif.GIF {
	t.Helper()
	return get(gif.DecodeAll(strings.NewReader(text(path))))(t)
}

func TestEvalWrongUse(t *testing.T) {
	here(t, "short.yaml", short)
	write(t, "wide.yaml", strings.Replace(short, "mlp: [16]", "mlp: [32]", 1))
	gorl(t, 0, "train", "-c", "short.yaml", "-q")
	must(t, os.CopyFS("r[1]", os.DirFS("runs"))) // brackets are no pattern
	refuses(t, commandline.WrongUse, [][2]string{
		{"export r[1] p.onnx --checkpoint latest", "other runs; give one of them, for instance r[1]/pole"},
		{"eval r[1] --record a.gif", "--record films one run, and r[1] has 1; give one of them"},
		{"eval", "want the folder of a run, or a checkpoint"},
		{"eval runs --record a.gif", "--record films one run, and runs has 1; give one of them"},
		{"eval runs/pole --record films/a.gif", "there is no folder films"},
		{"eval runs/pole --episodes 0", "--episodes is 0"},
		{"eval runs/pole --record a.avi", "written as .gif, .mp4 or .png"},
		{"eval runs/pole --checkpoint 33", "there are those of 32, 64, 96"},
		{"eval runs/pole/checkpoints/agent_32.safetensors --checkpoint latest", "is a checkpoint already"},
	})
	refuses(t, commandline.Failed, [][2]string{{"eval runs/pole --checkpoint latest --config wide.yaml",
		`array "policy/net.0.weight" has shape [16 4], want [32 4]`}})
	// A checkpoint without a run needs --config.
	must(t, os.Rename("runs/pole/checkpoints", "alone"))
	must(t, os.RemoveAll("runs"))
	_, stderr := gorl(t, commandline.WrongUse, "eval", "alone/agent_32")
	matches(t, stderr, `there is no run\.yaml in .* or above it; .* --config FILE`)
	same(t, "the step", int64(32), evaluated(t, "alone/agent_32", "--config", "short.yaml", "--episodes", "1").Step)
}

func TestSummarize(t *testing.T) {
	got := summarize("", []float64{4, 1, 3, 2})
	if want := (summary{Mean: 2.5, Std: math.Sqrt(1.25), Min: 1, Median: 2.5, Max: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := summarize("", []float64{7}); got != (summary{Mean: 7, Min: 7, Median: 7, Max: 7}) {
		t.Errorf("of one episode: %+v", got)
	}
}
