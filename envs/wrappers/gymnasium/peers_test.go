package gymnasium

import (
	"image"
	"image/color"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/spaces"
)

// real returns options of an environment in testdata, or of one with an id.
func real(t testing.TB, name string, n, children int) Options {
	t.Helper()
	folder := must.Get(filepath.Abs("testdata"))(t)
	o := Options{Python: peers.Python(t, "gymnasium"), Path: []string{folder}, NumEnvs: n, Children: children}
	if strings.Contains(name, ":") {
		o.Factory = name
	} else {
		o.ID = name
	}
	return o
}

// reference runs a script in testdata that steps n environments, and returns the arrays that it wrote, by name.
func reference(t *testing.T, python, script, name string, n, steps, seed int) func(array string) []float64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reference.npz")
	command := exec.Command(python, script, name, strconv.Itoa(n), strconv.Itoa(steps), strconv.Itoa(seed), path)
	command.Dir = "testdata"
	must.Run(t, command)
	file := must.Get(npz.Open(path))(t)
	return func(array string) []float64 {
		t.Helper()
		return must.Get(file.Arrays[array].Float64s())(t)
	}
}

// The bridge must return, bit for bit, what Gymnasium's own vector environment returns for the same seeds and actions.
func TestPeersEqualSyncVectorEnv(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	for _, c := range []struct {
		name        string
		copies      int
		resetsAtAll int
	}{{"CartPole-v1", 3, 1000}, {"Pendulum-v1", 3, 150}, {"HalfCheetah-v5", 3, 30}, {"bridge_environments:Rooms", 5,
		2000}} {
		t.Run(c.name, func(t *testing.T) {
			const steps, seed = 10_000, 17
			array := reference(t, python, "reference.py", c.name, c.copies, steps, seed)
			observations, finals, rewards, flags, acts := array("observations"), array("finals"), array("rewards"),
				array("flags"), array("actions")
			e := open(t, real(t, c.name, c.copies, 2))
			n, wO, wA := c.copies, e.Spaces().Observation.Width(), e.Spaces().Action.Width()
			same := func(what string, step int, got []float32, want []float64) {
				t.Helper()
				for i, x := range want {
					must.Is(t, float64(got[i]), x, "step %d: %s: environment %d, dimension %d", step, what, i/wO, i%wO)
				}
			}
			s := envtest.Reset(t, e, seed)
			same("observations", 0, s.Observations, observations[:n*wO])
			resets := 0
			for step := range steps {
				s = envtest.Step(t, e, number.Float32s(nil, acts[step*n*wA:(step+1)*n*wA]))
				same("observations", step+1, s.Observations, observations[(step+1)*n*wO:(step+2)*n*wO])
				must.Same(t, e.exact, rewards[step*n:(step+1)*n], "step %d: exact rewards", step)
				must.Same(t, s.Rewards, number.Float32s(nil, rewards[step*n:(step+1)*n]), "step %d: rewards", step)
				for i := range n {
					flag := flags[step*n+i]
					must.Is(t, s.Terminated[i], flag == 1 || flag == 3, "step %d: environment %d terminated", step, i)
					must.Is(t, s.Truncated[i], flag >= 2, "step %d: environment %d truncated", step, i)
					if flag > 0 {
						resets++
						same("last observations", step, s.FinalObservations[i*wO:(i+1)*wO],
							finals[(step*n+i)*wO:(step*n+i+1)*wO])
					}
				}
			}
			t.Logf("%d steps of %d environments, %d resets: equal", steps, n, resets)
			must.Not(t, resets < c.resetsAtAll, "%d resets in %d steps, want at least %d", resets, steps, c.resetsAtAll)
		})
	}
}

// A picture's bytes are shared as bytes, its shape and type reach Go, and values that are not bytes are refused.
func TestPeersCamera(t *testing.T) {
	e := open(t, real(t, "bridge_environments:Camera", 3, 2))
	want := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(3, 2, 3), "joints": spaces.NewBox(-1, 1,
		2)})
	must.Not(t, !e.set.Observation.Equal(want) || e.set.Action.DType != spaces.Float32,
		"observations %v, want %v; actions %v", e.set.Observation, want, e.set.Action)
	must.Is(t, e.layout.Arrays["observations_bytes"].DType, "u1", "the type of pictures in the memory")
	s, err := e.Reset(1)
	for step := 1; step <= 20; step++ {
		must.Do(t, err)
		for i, x := range s.Observations {
			want := float32(uint8(i%20*13 + step))
			if i%20 >= 18 {
				want = float32(float64(step) / 100)
			}
			must.Is(t, x, want, "step %d, environment %d: value %d", step, i/20, i%20)
		}
		s, err = e.Step([]float32{1, 200, 3, 4, 5, 6})
	}
	must.Same(t, s.Rewards, []float32{1, 3, 5}, "rewards")
	o := real(t, "bridge_environments:Camera", 2, 1)
	o.Kwargs = map[string]any{"bad": 256}
	err = attempt(t, o, 3, func(int) []float32 { return []float32{1, 2, 3, 4} })
	must.Refuse(t, err, "no whole number from 0 to 255", "environment 0")
}

// MuJoCo draws without a display and without MUJOCO_GL. If it cannot draw, a line of the error names MUJOCO_GL.
func TestPeersPicturesWithoutDisplay(t *testing.T) {
	for gl, want := range map[string]string{"": "", "glfw": "MuJoCo cannot draw (MUJOCO_GL=glfw): "} {
		o := real(t, "InvertedPendulum-v5", 1, 1)
		peers.Python(t, "mujoco")
		o.RenderMode = "rgb_array"
		for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY"} {
			t.Setenv(name, "")
		}
		t.Setenv("MUJOCO_GL", gl)
		e := open(t, o)
		envtest.Reset(t, e, 1)
		picture, err := e.Render(0)
		if err != nil && gl == "" && strings.Contains(err.Error(), "install its library") {
			t.Skipf("neither EGL nor OSMesa is here: %v", err)
		}
		must.Not(t, (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n")), "MUJOCO_GL=%q: %v, %v, want an error with %q", gl, picture, err, want)
	}
}

func TestPeersInfosAndPictures(t *testing.T) {
	o := real(t, "bridge_environments:Rooms", 3, 2)
	o.StepMetrics, o.Infos, o.RenderMode = []string{"nested.double"}, true, "rgb_array"
	o.Kwargs = map[string]any{"offset": 100}
	e := open(t, o)
	envtest.Reset(t, e, 2)
	episodes := 0
	for step := 1; step <= 100; step++ {
		s := envtest.Step(t, e, make([]float32, 6))
		must.Not(t, slices.Min(s.Rewards) < 50 || len(s.Metrics) != 1 || s.Metrics["nested.double"] < 2,
			"step %d: rewards %v, to which the keyword argument adds 100, and metrics %v", step, s.Rewards, s.Metrics)
		for _, episode := range s.Episodes {
			episodes++
			length := float64(episode.Length)
			want := map[string]float64{"steps": length, "nested.double": 2 * length, "flag": 1}
			must.Match(t, want, episode.Metrics, "metrics of an episode")
		}
		text := string(must.Get(e.Info(1))(t))
		must.Not(t, !strings.Contains(text, `"word": "step `) || !strings.Contains(text, "[1.5, null]"), "info %s",
			text)
	}
	must.Is(t, episodes > 0, true, "episodes end")
	picture := must.Get(e.Render(2))(t)
	must.Is(t, picture.Bounds().Max, image.Pt(6, 4), "size")
	must.Is(t, picture.At(2, 1), color.Color(color.RGBA{uint8(e.lengths[2]), 20, 30, 255}), "colour")
}

func TestPeersImitator(t *testing.T) {
	o := real(t, "bridge_environments:Imitator", 4, 2)
	o.AMPObservations, o.States, o.Replace = "amp_obs", "critic", 1
	e := open(t, o)
	set := e.Spaces()
	must.Not(t, set.AMPObservation.Width() != 2 || set.State.Width() != 4, "AMP observations %v and states %v",
		set.AMPObservation, set.State)
	must.Do(t, envs.Check(e, 100, 1))
	var rows [2][]float32
	for k := range rows {
		rows[k] = must.Get(e.CollectReferenceMotions(50, rand.New(rand.NewPCG(1, 2))))(t)
	}
	must.Is(t, len(rows[0]), 100, "values of reference motion")
	must.Same(t, rows[0], rows[1], "reference motion of equal generators")
	place := slices.Clone(envtest.Reset(t, e, 3).Observations)
	s := envtest.Step(t, e, make([]float32, 8))
	for i := range 4 {
		must.Not(t, s.States[4*i] != 1 || s.States[4*i+1] != place[3*i] || s.AMPObservations[2*i] != 0,
			"environment %d: states %v, AMP observations %v", i, s.States[4*i:4*i+4], s.AMPObservations[2*i:2*i+2])
	}
	must.Match(t, map[string]any{"bonus": 1.0, "delay": int64(2)}, e.RewardShaping(), "reward parameters")
	want := slices.Clone(s.Rewards)
	must.Do(t, e.SetRewardShaping(map[string]any{"bonus": 5.0}, []int{2}))
	must.Refuse(t, e.SetRewardShaping(map[string]any{"bonus": -1.0}, nil), "a bonus below 0")
	must.Refuse(t, e.SetRewardShaping(map[string]any{"bonus": 2.0}, []int{4}), "")
	s = envtest.Step(t, e, make([]float32, 8))
	want[2] += 4
	for i, r := range s.Rewards {
		must.Near(t, float64(r), float64(want[i]), 1e-5, "the reward of environment %d", i)
	}
	// A child that replaces another continues with its reward parameters and its curriculum.
	must.Do(t, e.SetCurriculumState([]byte(`{"states": [{"level": 3}, {"level": 4}]}`)))
	must.Refuse(t, e.SetCurriculumState([]byte(`{}`)), "")
	lose(t, e, 1)
	s = envtest.Step(t, e, make([]float32, 8))
	must.Is(t, s.Observations[3*2+2], 3, "the level that environment 2 shows")
	place = slices.Clone(s.Observations)
	s = envtest.Step(t, e, make([]float32, 8))
	square := float64(place[6])*float64(place[6]) + float64(place[7])*float64(place[7])
	must.Near(t, float64(s.Rewards[2]), 5-square, 1e-5, "the reward of environment 2 after its child was replaced")
	must.Is(t, string(must.Get(e.CurriculumState())(t)), `{"states":[{"level":3},{"level":4},{"level":3},{"level":4}]}`,
		"curriculum")
}
