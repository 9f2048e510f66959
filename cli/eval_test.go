package cli

import (
	"context"
	"encoding/json"
	"image/gif"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
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
	if err := json.Unmarshal([]byte(stdout), &e); err != nil {
		t.Fatalf("%v:\n%s", err, stdout)
	}
	return e
}

// What gorl eval says of the best checkpoint is what trainers.Evaluate says of it.
func TestEvalIsEvaluate(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--seed", "2")
	for _, stochastic := range []bool{false, true} {
		args := []string{"runs/pole", "--episodes", "12", "--seed", "5"}
		if stochastic {
			args = append(args, "--stochastic")
		}
		got := evaluated(t, args...)

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
		if got.Step != best.Manifest.Step || got.Seed != 5 || got.Environment != "CartPole" ||
			got.Config != "runs/pole/run.yaml" {
			t.Errorf("it names %+v", got)
		}
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
	step, err := env.Reset(5)
	played, total := make([]int, 4), 0.0
	for left := 8; left > 0 && err == nil; {
		actions := make([]float32, 4)
		must(t, policy.ActBatch(step.Observations, actions))
		if step, err = env.Step(actions); err != nil {
			break
		}
		for _, e := range step.Episodes {
			must(t, policy.Reset(e.Env))
			if played[e.Env] < 2 {
				played[e.Env]++
				left--
				total += e.Return / 8
			}
		}
	}
	if err != nil || got.Figures["return"].Mean != total {
		t.Errorf("gorl eval's return is %g, the exported policy's %g (%v)", got.Figures["return"].Mean, total, err)
	}
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
	for _, args := range [][]string{{"eval", "runs/pole"}, {"export", "runs/pole", "out.onnx"},
		{"export", "--checkpoint", "best", "runs/pole", "out.onnx"}} {
		_, stderr := gorl(t, commandline.Failed, args...)
		if !strings.Contains(stderr, filepath.Base(best[0])) || !strings.Contains(stderr, "damaged") ||
			strings.Contains(stderr, "no best checkpoint") {
			t.Errorf("gorl %s says %q", strings.Join(args, " "), stderr)
		}
	}
	if _, err := os.Stat("out.onnx"); err == nil {
		t.Error("another policy was exported")
	}
	if e := evaluated(t, "runs/pole", "--checkpoint", "latest", "--episodes", "2"); e.Step != 96 {
		t.Errorf("the latest is of step %d", e.Step)
	}
	if stdout, _ := gorl(t, 0, "export", "--checkpoint", "64", "runs/pole", "out.onnx"); !strings.Contains(stdout,
		"agent_64.safetensors → out.onnx") {
		t.Errorf("it exports %q", stdout)
	}
	gorl(t, commandline.WrongUse, "export", "--checkpoint", "latest", "runs/pole/checkpoints/agent_64.safetensors",
		"more.onnx")
}

// Every way to name a checkpoint finds the one that is meant.
func TestEvalCheckpoints(t *testing.T) {
	here(t, "short.yaml", short)
	gorl(t, 0, "train", "-c", "short.yaml", "-q", "--seed", "2")
	for _, x := range []struct {
		args []string
		step int64
	}{
		{[]string{"runs/pole", "--checkpoint", "latest"}, 96},
		{[]string{"runs/pole", "--checkpoint", "64"}, 64},
		{[]string{"runs/pole", "--checkpoint", "agent_32"}, 32},
		{[]string{"runs/pole", "--checkpoint", "runs/pole/checkpoints/agent_32.safetensors"}, 32},
		{[]string{"runs/pole/checkpoints/agent_64.safetensors"}, 64},
		{[]string{"runs/pole/checkpoints/agent_64.json"}, 64},
	} {
		if e := evaluated(t, append(x.args, "--episodes", "2")...); e.Step != x.step || e.Episodes != 2 {
			t.Errorf("gorl eval %v: step %d and %d episodes, want step %d and 2", x.args, e.Step, e.Episodes, x.step)
		}
	}
	// The same episodes whatever folder gorl is started in, and with more environments as many as asked for.
	t.Chdir("runs/pole/checkpoints")
	if e := evaluated(t, "agent_64.safetensors", "--episodes", "6", "--num-envs", "3"); e.Step != 64 ||
		e.Episodes != 6 ||
		e.Config != "../run.yaml" {
		t.Errorf("%+v", e)
	}
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
	if picture, err := png.Decode(strings.NewReader(text("pole.png"))); err != nil ||
		picture.Bounds().Dx() != 4*300+3*4 {
		t.Errorf("a strip of %v: %v", picture.Bounds(), err)
	}
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
		matches(t, stderr, `no light \(film at timestep 0\)`)
		if _, err := os.Stat("runs/pole"); (err == nil) != there {
			t.Errorf("runs/pole was there before: %t; now: %v", there, err)
		}
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
	const damaged = "runs/pole/checkpoints/agent_64.safetensors"
	write(t, damaged, text("runs/pole/checkpoints/agent_32.safetensors")[:300])
	refuses(t, commandline.WrongUse, [][2]string{
		{"eval", "want the folder of a run, or a checkpoint"},
		{"eval nowhere", "nowhere"},
		{"eval runs --record a.gif",
			"--record films one run, and runs has 1; give one of them, for instance runs/pole"},
		{"eval runs/pole --record films/a.gif", "there is no folder films"},
		{"eval runs/pole --episodes 0", "--episodes is 0"},
		{"eval runs/pole --fps 100 --record a.gif", "--fps is 100"},
		{"eval runs/pole --record a.avi", "written as .gif, .mp4 or .png"},
		{"eval runs/pole --checkpoint 33", "there are those of 32, 64, 96"},
		{"eval runs/pole --checkpoint last", "want best, latest, a timestep or a file"},
		{"eval runs/pole/checkpoints/agent_32.safetensors --checkpoint latest", "is a checkpoint already"},
		{"eval runs/pole --device tpu", `device "tpu"`},
		{"eval " + damaged, "truncated"},
	})
	refuses(t, commandline.Failed, [][2]string{
		{"eval runs/pole --checkpoint 64", "truncated"},
		{"eval runs/pole --checkpoint latest --config wide.yaml",
			`array "policy/net.0.weight" has shape [16 4], want [32 4]`},
	})
	// A checkpoint without a run needs --config.
	must(t, os.Mkdir("alone", 0o755))
	for _, name := range []string{"agent_32.safetensors", "agent_32.json"} {
		write(t, filepath.Join("alone", name), text(filepath.Join("runs/pole/checkpoints", name)))
	}
	must(t, os.Rename("runs", "alone/runs"))
	_, stderr := gorl(t, commandline.WrongUse, "eval", "alone/agent_32")
	matches(t, stderr, `there is no run\.yaml in .* or above it; .* --config FILE`)
	if e := evaluated(t, "alone/agent_32", "--config", "short.yaml", "--episodes", "1"); e.Step != 32 ||
		e.Config != "short.yaml" {
		t.Errorf("%+v", e)
	}
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
