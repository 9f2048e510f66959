package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// replay is what both sides of a comparison do, and what came of it. Starts has the rows of the clip's table at which
// the episodes of each environment begin, in their order; the others are by step and environment. Observations are
// those after the step, before another episode begins.
type replay struct {
	Starts       [][]int       `json:"starts"`
	Actions      [][][]float32 `json:"actions"`
	First        [][]float32   `json:"first"`
	Observations [][][]float32 `json:"observations"`
	Rewards      [][]float32   `json:"rewards"`
	Terminated   [][]bool      `json:"terminated"`
	Truncated    [][]bool      `json:"truncated"`
}

// replayed has skrl_humanoid.py do what a replay says, and writes what came of it there.
const replayed = `
import json, pathlib, sys
import numpy as np
sys.path.insert(0, "")
import skrl_humanoid as script
clip, path, episode = sys.argv[1:]
script.EPISODE = int(episode)
replay = json.loads(pathlib.Path(path).read_text())
rows = [iter(of) for of in replay["starts"]]
humanoid = script.Humanoid(clip, len(rows), 1, pathlib.Path(sys.prefix) / "libstepper.so",
    script.HERE.parent / "envs" / "mujoco" / "humanoid.xml", lambda i: next(rows[i]))
out = {"first": humanoid.observation.tolist(), "observations": [], "rewards": [], "terminated": [], "truncated": []}
for actions in replay["actions"]:
    _, rewards, terminated, truncated, _, _ = humanoid.step(np.array(actions, dtype=np.float32))
    for name, values in (("observations", humanoid.final), ("rewards", rewards),
                         ("terminated", terminated), ("truncated", truncated)):
        out[name].append(values.tolist())
pathlib.Path(path).write_text(json.dumps(out))
`

// The humanoid that skrl is timed with is gorl's: after the same actions it observes the same, earns the same, and its
// episodes end at the same steps, those of falls and those at the time limit.
func TestPeersHumanoid(t *testing.T) {
	python := peers.Python(t, "skrl")
	const characters, steps, episode, tolerance = 6, 320, 16, 1e-4
	clip := readClipTable()
	env := must.Open(newTracker(characters, episode, 1))(t)
	width, phase := env.Spaces().Observation.Width(), 13+2*28+3*4
	// start is where the episode that an observation begins is in the clip, by the clock behind the features.
	start := func(observation []float32) int {
		turn := math.Atan2(float64(observation[phase]), float64(observation[phase+1])) / (2 * math.Pi)
		row := int(math.Round(turn * float64(clip.Period)))
		return (row-clipRows+clip.Period)%clip.Period + clipRows
	}
	first := must.Get(env.Reset(1))(t)
	rows := func(flat []float32, n int) (out [][]float32) {
		for i := range characters {
			out = append(out, append([]float32(nil), flat[i*n:(i+1)*n]...))
		}
		return out
	}
	want := replay{First: rows(first.Observations, width)}
	for _, o := range want.First {
		want.Starts = append(want.Starts, []int{start(o)})
	}
	rng, actions := rand.New(rand.NewPCG(1, 1)), make([]float32, characters*28)
	falls, limits := 0, 0
	for range steps {
		for i := range actions {
			actions[i] = float32(0.1 * float64(i/28) * rng.NormFloat64()) // none in environment 0, the most in the last
		}
		out := must.Get(env.Step(actions))(t)
		observations, next := rows(out.Observations, width), rows(out.Observations, width)
		for i := range characters {
			if out.Terminated[i] || out.Truncated[i] {
				copy(observations[i], out.FinalObservations[i*width:(i+1)*width])
				want.Starts[i] = append(want.Starts[i], start(next[i]))
			}
			if out.Terminated[i] {
				falls++
			}
			if out.Truncated[i] {
				limits++
			}
		}
		want.Actions = append(want.Actions, rows(actions, 28))
		want.Observations = append(want.Observations, observations)
		want.Rewards = append(want.Rewards, append([]float32(nil), out.Rewards...))
		want.Terminated = append(want.Terminated, append([]bool(nil), out.Terminated...))
		want.Truncated = append(want.Truncated, append([]bool(nil), out.Truncated...))
	}
	t.Logf("%d falls, %d time limits in %d steps", falls, limits, characters*steps)
	if falls < 10 || limits < 10 {
		t.Errorf("%d falls and %d time limits; the comparison needs both", falls, limits)
	}

	got := pythonReplays(t, python, want, episode)
	got.Starts, got.Actions = want.Starts, want.Actions
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(tolerance, tolerance)); d != "" {
		t.Errorf("-gorl +skrl:\n%.2000s", d)
	}
}

// pythonReplays is what comes of a replay in Python.
func pythonReplays(t *testing.T, python string, r replay, episode int) (got replay) {
	t.Helper()
	clip := writeClipTable()
	defer func() { _ = os.Remove(clip) }()
	data := must.Get(json.Marshal(r))(t)
	path := filepath.Join(t.TempDir(), "replay.json")
	must.Do(t, os.WriteFile(path, data, 0o600))
	peers.Run(t, python, "-c", replayed, clip, path, strconv.Itoa(episode))
	must.Do(t, json.Unmarshal(must.Read(t, path), &got))
	return got
}
