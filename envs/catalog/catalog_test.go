package catalog

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/spaces"
)

// fromYAML makes the environment of a YAML text.
func fromYAML(t testing.TB, text string) (envs.Env, error) {
	t.Helper()
	dict, err := config.FromYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	env, err := New(dict)
	if err == nil {
		t.Cleanup(func() {
			if err := env.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return env, err
}

func must(t testing.TB, text string) envs.Env {
	t.Helper()
	env, err := fromYAML(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// rollout is everything that an environment returns to a fixed sequence of actions.
func rollout(t testing.TB, env envs.Env, steps int) []float32 {
	t.Helper()
	s, err := env.Reset(-1)
	if err != nil {
		t.Fatal(err)
	}
	all := append([]float32(nil), s.Observations...)
	rng := rand.New(rand.NewPCG(1, 2))
	space := env.Spaces().Action
	actions := make([]float32, env.NumEnvs()*space.Width())
	for range steps {
		for i := range actions {
			actions[i] = 2*rng.Float32() - 1
			if space.Kind == spaces.Discrete {
				actions[i] = float32(rng.IntN(space.NVec[0]))
			}
		}
		if s, err = env.Step(actions); err != nil {
			t.Fatal(err)
		}
		all = append(append(all, s.Observations...), s.Rewards...)
	}
	return all
}

// An environment by name is the constructor's, with the same settings.
func TestSameAsConstructors(t *testing.T) {
	walker := func(cfg mujoco.WalkerConfig) (envs.Env, error) { return mujoco.NewWalker(cfg) }
	for _, x := range []struct {
		text string
		make func() (envs.Env, error)
	}{
		{"{id: CartPole, num_envs: 3, seed: 5, max_episode_steps: 9}", func() (envs.Env, error) {
			return classic.NewCartPole(classic.Config{NumEnvs: 3, Seed: 5, MaxEpisodeSteps: 9})
		}},
		{"{id: CartPole, num_envs: 2, velocities: false}", func() (envs.Env, error) { return classic.NewMaskedCartPole(classic.Config{NumEnvs: 2}) }},
		{"{id: CartPolePixels, num_envs: 2, width: 32, height: 20, frames: 2, interval: 3}", func() (envs.Env, error) {
			return classic.NewCartPolePixels(classic.CartPolePixelsConfig{Config: classic.Config{NumEnvs: 2}, Width: 32, Height: 20, Frames: 2, Interval: 3})
		}},
		{"{id: TMaze, num_envs: 2, length: 4}", func() (envs.Env, error) {
			return classic.NewTMaze(classic.TMazeConfig{Config: classic.Config{NumEnvs: 2}, Length: 4})
		}},
		{"{id: Acrobot, num_envs: 2, workers: 2}", func() (envs.Env, error) { return classic.NewAcrobot(classic.Config{NumEnvs: 2, Workers: 2}) }},
		{"{id: MountainCar}", func() (envs.Env, error) { return classic.NewMountainCar(classic.Config{}) }},
		{"{id: Pendulum, num_envs: 2, seed: 1}", func() (envs.Env, error) { return classic.NewPendulum(classic.Config{NumEnvs: 2, Seed: 1}) }},
		{"{id: Walker}", func() (envs.Env, error) { return walker(mujoco.WalkerConfig{}) }},
		{"{id: Walker, num_envs: 2, velocities: false}", func() (envs.Env, error) {
			return walker(mujoco.WalkerConfig{NumEnvs: 2, HideVelocities: true})
		}},
		{"{id: Walker, num_envs: 3, seed: 2, target_speed: 0.7, episode_length: 20, stagger: 7}", func() (envs.Env, error) {
			return walker(mujoco.WalkerConfig{NumEnvs: 3, Seed: 2, TargetSpeed: 0.7, EpisodeLength: 20, Stagger: 7})
		}},
		{"{id: Pendulum, wrappers: [rescale_action, {reward_scale: {scale: 0.5}}, episode_statistics, {normalize_reward: {discount: 0.9}}]}", func() (envs.Env, error) {
			env, err := classic.NewPendulum(classic.Config{})
			if err != nil {
				return nil, err
			}
			rescaled, err := wrappers.NewRescaleAction(env)
			if err != nil {
				return nil, err
			}
			scaled, err := wrappers.NewRewardScale(rescaled, 0.5)
			if err != nil {
				return nil, err
			}
			return wrappers.NewNormalizeReward(scaled, wrappers.NormalizeRewardOptions{Discount: 0.9})
		}},
		{"{id: Pendulum, wrappers: [{normalize_observation: {variant: sb3}}, {clip_observation: {high: 0.5}}, {clip_reward: {low: -3}}]}", func() (envs.Env, error) {
			env, err := classic.NewPendulum(classic.Config{})
			if err != nil {
				return nil, err
			}
			normal, err := wrappers.NewNormalizeObservation(env, wrappers.NormalizeObservationOptions{Variant: wrappers.SB3})
			if err != nil {
				return nil, err
			}
			clipped, err := wrappers.NewClipObservation(normal, -10, 0.5)
			if err != nil {
				return nil, err
			}
			return wrappers.NewClipReward(clipped, -3, 10)
		}},
		{"{id: Pendulum, wrappers: [clip_action]}", func() (envs.Env, error) { return classic.NewPendulum(classic.Config{}) }},
	} {
		t.Run(x.text, func(t *testing.T) {
			other, err := x.make()
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			env := must(t, x.text)
			if env.NumEnvs() != other.NumEnvs() || !cmp.Equal(env.Spaces().Observation, other.Spaces().Observation) {
				t.Fatalf("%d environments of %v, want %d of %v", env.NumEnvs(), env.Spaces(), other.NumEnvs(), other.Spaces())
			}
			if diff := cmp.Diff(rollout(t, other, 30), rollout(t, env, 30)); diff != "" {
				t.Errorf("steps (-constructor +catalog):\n%.800s", diff)
			}
		})
	}
}

// Settings fills in what is not said, and reads back from YAML as the same environment.
func TestSettings(t *testing.T) {
	for _, text := range []string{
		"{id: CartPole}", "{id: Walker, num_envs: 2, target_speed: 1.0, render: {width: 100}}",
		"{id: Pendulum, wrappers: [clip_action, {reward_scale: {scale: 0.1}}, normalize_observation, clip_reward]}",
		`{id: "gymnasium:Some-v0", num_envs: 4, timeout: 20s, kwargs: {a: [1, x]}, episode_metrics: []}`,
	} {
		dict, err := config.FromYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		full, err := Settings(dict)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range dict {
			if _, nested := value.(map[string]any); key != "wrappers" && key != "timeout" && !nested && !cmp.Equal(full[key], value) {
				t.Errorf("%s: %s became %v", text, key, full[key])
			}
		}
		written, err := yaml.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		read, err := config.FromYAML(written)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Settings(read)
		if err != nil {
			t.Fatalf("%v:\n%s", err, written)
		}
		if diff := cmp.Diff(full, again); diff != "" {
			t.Errorf("%s (-first +read back):\n%s", text, diff)
		}
	}
	full, err := Settings(map[string]any{"id": "Walker"})
	if err != nil || full["episode_length"] != 300 || full["target_speed"] != 1.3 || full["num_envs"] != 1 {
		t.Errorf("a walker's settings are %v, %v", full, err)
	}
}

func TestErrors(t *testing.T) {
	for _, x := range []struct {
		text  string
		words []string
	}{
		{"{}", []string{`"id" is null`, "CartPole", "gymnasium:<id>"}},
		{"{id: 3}", []string{`"id" is 3`}},
		{"{id: Cartpole}", []string{`"id" is "Cartpole"`, "Acrobot, CartPole, CartPolePixels, Humanoid, MountainCar", `did you mean "CartPole"`}},
		{"{id: CartPole-v1}", []string{`did you mean "gymnasium:CartPole-v1"`}},
		{"{id: 'CartPole:x'}", []string{"there is no such environment"}},
		{"{id: CartPole, num_env: 4}", []string{"catalog: CartPole", `unknown key "num_env" (given 4)`, `did you mean "num_envs"`}},
		{"{id: CartPole, num_envs: 0}", []string{`"num_envs" is 0`, "integer"}},
		{"{id: CartPole, num_envs: many, seed: -1}", []string{`"num_envs" is "many"`, `"seed" is -1`}},
		{"{id: Walker, target_speed: 0}", []string{`"target_speed" is 0`}},
		{"{id: Walker, stagger: 400}", []string{"Stagger is 400"}},
		{"{id: Walker, motion: nowhere.txt}", []string{`"motion"`, "nowhere.txt"}},
		{"{id: Pendulum, wrappers: clip_action}", []string{`"wrappers" is "clip_action"`, "want a list"}},
		{"{id: Pendulum, wrappers: [clip_actions]}", []string{`"wrappers[0]" is "clip_actions"`, "reward_scale", `did you mean "clip_action"`}},
		{"{id: Pendulum, wrappers: [clip_action, reward_scale]}", []string{`"wrappers[1]" is "reward_scale"`, "{reward_scale: {scale: value}}"}},
		{"{id: Pendulum, wrappers: [{reward_scale: {scale: 1, x: 2}}]}", []string{"wrappers[0]: reward_scale", `unknown key "x"`}},
		{"{id: Pendulum, wrappers: [{reward_scale: {scale: 0}}]}", []string{"wrappers[0]", "reward scale is 0"}},
		{"{id: Pendulum, wrappers: [{normalize_reward: {discount: 2}}]}", []string{`"discount" is 2`, "[0, 1]"}},
		{"{id: Pendulum, wrappers: [{a: {}, b: {}}]}", []string{`"wrappers[0]"`}},
		{"{id: Pendulum, wrappers: [{normalize_reward: {epsilon: 1}}]}", []string{"{normalize_reward: {discount: value}}"}},
		{"{id: Pendulum, wrappers: [{normalize_observation: {epsilon: 0}}]}", []string{`"epsilon" is 0`}},
		{"{id: Pendulum, wrappers: [{normalize_observation: {variant: gymnasum}}]}", []string{`"variant" is "gymnasum"`, "gymnasium", "sb3"}},
		{"{id: Pendulum, wrappers: [{clip_reward: {low: 2, high: 1}}]}", []string{"wrappers[0] (clip_reward)", "low is 2 and high 1"}},
		{"{id: CartPole, wrappers: [clip_action]}", []string{"wrappers[0] (clip_action)", "Box"}},
		{"{id: gymnasium}", []string{"gymnasium:<id>", "factory"}},
		{"{id: envpool}", []string{"envpool:<id>", "factory"}},
		{"{id: batch}", []string{"batch:<id>", "factory"}},
		{"{id: 'batch:A-v0'}", []string{`"batch"`, "Factory"}},
		{"{id: 'mjlab:A', autoreset: sometimes}", []string{`"autoreset" is "sometimes"`, "same_step"}},
		{"{id: 'vector:A-v0', children: 2}", []string{"children"}},
		{"{id: 'gymnasium:A-v0', factory: 'a:b'}", []string{"factory"}},
		{"{id: 'gymnasium:A-v0', timeout: soon}", []string{`"timeout" is "soon"`}},
		{"{id: 'gymnasium:A-v0', reference_motions: no.npz}", []string{"reference_motions", "no.npz"}},
		{"{id: 'gymnasium:CartPole-v1', python: no-such-python}", []string{"no-such-python"}},
	} {
		_, err := fromYAML(t, x.text)
		if err == nil {
			t.Errorf("%s gave no error", x.text)
			continue
		}
		for _, w := range x.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error lacks %q:\n%v", x.text, w, err)
			}
		}
	}
}

type hall struct {
	Batch `yaml:",inline"`
	// Length is in m.
	Length float64 `yaml:"length" config:"gt=0"`
}

func TestRegister(t *testing.T) {
	defer func() {
		mu.Lock()
		delete(entries, "Hall")
		mu.Unlock()
	}()
	var got hall
	Register("Hall", hall{Batch: Defaults(), Length: 2}, func(h hall) (envs.Env, error) {
		if got = h; h.Length > 100 {
			panic("no room")
		}
		return classic.NewPendulum(classic.Config{NumEnvs: h.NumEnvs})
	})
	must(t, "{id: Hall, num_envs: 4, length: 3.5}")
	if want := (hall{Batch{NumEnvs: 4}, 3.5}); got != want {
		t.Errorf("made of %+v, want %+v", got, want)
	}
	if !strings.Contains(strings.Join(Names(), " "), "Hall") {
		t.Errorf("names are %v", Names())
	}
	if _, err := fromYAML(t, "{id: Hall, lengh: 1}"); err == nil || !strings.Contains(err.Error(), `did you mean "length"`) {
		t.Errorf("an unknown key gave %v", err)
	}
	if _, err := fromYAML(t, "{id: Hall, length: 101}"); err == nil ||
		!strings.Contains(err.Error(), "Hall: its constructor panicked: no room at catalog.TestRegister (catalog_test.go:") {
		t.Errorf("a panic in its function gave %v", err)
	}
	for name, f := range map[string]func(){
		"taken": func() {
			Register("CartPole", hall{}, func(hall) (envs.Env, error) { return nil, nil })
		},
		"colon":     func() { Register("a:b", hall{}, func(hall) (envs.Env, error) { return nil, nil }) },
		"empty":     func() { Register("", hall{}, func(hall) (envs.Env, error) { return nil, nil }) },
		"nil":       func() { Register[hall]("Nil", hall{}, nil) },
		"no struct": func() { Register("Number", 3, func(int) (envs.Env, error) { return nil, nil }) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Register did not panic", name)
				}
			}()
			f()
		}()
	}
}

// A gait in a file is the reference motion of the walker.
func TestWalkerMotion(t *testing.T) {
	dir := t.TempDir()
	clip := motions.Gait()
	frames := make([][]float64, clip.NumFrames())
	for k := range frames {
		frames[k] = append([]float64{1.25 * (clip.FrameTime(k+1) - clip.FrameTime(k))}, clip.Frame(k)...)
	}
	file, err := json.Marshal(map[string]any{"Loop": "wrap", "Frames": frames})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "slow.txt")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	env := must(t, "{id: Walker, motion: "+path+"}")
	w, ok := envs.As[*mujoco.Walker](env)
	if !ok {
		t.Fatalf("a %T", env)
	}
	if got := w.Motion(); got.Name() != "slow" || got.NumFrames() != clip.NumFrames() || got.Loop() != motions.LoopWrap {
		t.Errorf("the motion is %s of %d frames", got.Name(), got.NumFrames())
	}
	short := filepath.Join(dir, "arm.txt")
	if err := os.WriteFile(short, []byte(`{"Loop": "wrap", "Frames": [[0.1, 1, 2], [0.1, 1, 2]]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fromYAML(t, "{id: Walker, motion: "+short+"}"); err == nil || !strings.Contains(err.Error(), "arm.txt has 2 numbers a frame beside the duration; the walker wants 9") {
		t.Errorf("a clip of another character gave %v", err)
	}
	dog := filepath.Join(dir, "dog.txt")
	if err := os.WriteFile(dog, []byte(`{"LoopMode": "Wrap", "FrameDuration": 0.1, "Frames": [[0,0,0,0,0,0,1`+strings.Repeat(",0", 12)+`]]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fromYAML(t, "{id: Walker, motion: "+dog+"}"); err == nil || !strings.Contains(err.Error(), "dog.txt") || !strings.Contains(err.Error(), "not DeepMimic's humanoid") {
		t.Errorf("a quadruped gave %v", err)
	}
	human := filepath.Join(dir, "human.txt")
	frame := func(x string) string {
		leg := "1,0,0,0, -0.2, 1,0,0,0, 1,0,0,0, 0"
		return "[0.5, " + x + ", 0.85, 0, 1,0,0,0, 1,0,0,0, 1,0,0,0, " + leg + ", " + leg + "]"
	}
	if err := os.WriteFile(human, []byte(`{"Loop": "wrap", "Frames": [`+frame("0")+","+frame("0.5")+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, ok := envs.As[*mujoco.Walker](must(t, "{id: Walker, motion: "+human+"}")); !ok || w.Motion().Width() != 9 || w.Motion().LoopTravel()[0] != 0.5 {
		t.Errorf("a humanoid's clip is not the walker's motion")
	}
}

func TestReadMotions(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, write func(f *os.File) error) string {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = write(f)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	array := func(shape []int, values ...float32) *npz.Array { return npz.New(motionsArray, values, shape...) }
	tensors := func(shape []int64, values ...float32) *checkpoint.Snapshot {
		return &checkpoint.Snapshot{Arrays: map[string]checkpoint.Array{"any": checkpoint.ArrayFloat32(shape, values)}}
	}
	want := []float32{1, 2, 3, 4, 5, 6}
	for name, path := range map[string]string{
		"npz": write("a.npz", func(f *os.File) error {
			return npz.Write(f, array([]int{3, 2}, want...), npz.New("other", []int64{1}, 1))
		}),
		"safetensors": write("a.safetensors", func(f *os.File) error { return checkpoint.EncodeSafetensors(f, tensors([]int64{3, 2}, want...)) }),
	} {
		rows, width, err := readMotions(path)
		if err != nil || width != 2 || !cmp.Equal(rows, want) {
			t.Errorf("%s: %v of width %d, %v", name, rows, width, err)
		}
	}
	nan := float32(0)
	nan /= nan
	for name, x := range map[string]struct{ path, words string }{
		"missing": {filepath.Join(dir, "none"), "no such file"},
		"nothing": {write("empty", func(*os.File) error { return nil }), "neither NumPy's nor a safetensors file"},
		"flat":    {write("flat.npz", func(f *os.File) error { return npz.Write(f, array([]int{6}, want...)) }), "shape [6]"},
		"nan":     {write("nan.npz", func(f *os.File) error { return npz.Write(f, array([]int{1, 2}, 1, nan)) }), "row 0 has NaN in column 1"},
		"two": {write("two.npz", func(f *os.File) error {
			return npz.Write(f, npz.New("a", []int64{1}, 1), npz.New("b", []int64{1}, 1))
		}), "it has the arrays a, b"},
		"words": {write("words.npz", func(f *os.File) error { return npz.Write(f, npz.NewString("a", []string{"b"}, 1, 1)) }), "holds no numbers"},
	} {
		if _, _, err := readMotions(x.path); err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: the error lacks %q: %v", name, x.words, err)
		}
	}
	m := &imitating{rows: want, width: 2}
	rng := rand.New(rand.NewPCG(1, 1))
	drawn, err := m.CollectReferenceMotions(50, rng)
	if err != nil || len(drawn) != 100 {
		t.Fatalf("%d numbers, %v", len(drawn), err)
	}
	seen := map[float32]bool{}
	for i := 0; i < len(drawn); i += 2 {
		if drawn[i+1] != drawn[i]+1 {
			t.Errorf("row %v is not one of the file's", drawn[i:i+2])
		}
		seen[drawn[i]] = true
	}
	if len(seen) != 3 {
		t.Errorf("50 rows are of %d kinds, want all 3", len(seen))
	}
	if _, err := m.CollectReferenceMotions(0, rng); err == nil {
		t.Error("no rows gave no error")
	}
}

// A simulator's are, too.
func TestPeersSimulator(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	env := must(t, "{id: 'vector:CartPole-v1', num_envs: 3, autoreset: disabled, kwargs: {vectorization_mode: sync, max_episode_steps: 7}, python: "+python+"}")
	s, err := env.Reset(4)
	for range 7 {
		if err != nil {
			t.Fatal(err)
		}
		s, err = env.Step(make([]float32, 3))
	}
	if err != nil || len(s.Episodes) != 3 || s.FinalUnknown != nil || s.Invalid != nil {
		t.Errorf("%d episodes ended in 7 steps, unknown %v, invalid %v, %v", len(s.Episodes), s.FinalUnknown, s.Invalid, err)
	}
}

// The names and settings that reach Python are those of the file.
func TestPeersGymnasium(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	env := must(t, "{id: 'gymnasium:CartPole-v1', num_envs: 3, children: 2, seed: 4, kwargs: {max_episode_steps: 7}, timeout: 30s, python: "+python+"}")
	if env.NumEnvs() != 3 || env.Spaces().Observation.Width() != 4 {
		t.Errorf("%d environments of %v", env.NumEnvs(), env.Spaces())
	}
	s, err := env.Reset(-1)
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		if s, err = env.Step(make([]float32, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Truncated[0] {
		t.Error("the episode was not truncated after 7 steps")
	}

	dir := t.TempDir()
	module := `
import gymnasium, numpy as np
class Reach(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))
    amp_observation_size = 3
    def __init__(self, scale=1.0): self.scale = scale
    def info(self): return {"amp": np.full(3, self.scale, np.float32)}
    def reset(self, *, seed=None, options=None): return np.zeros(2, np.float32), self.info()
    def step(self, action): return np.zeros(2, np.float32), 1.0, False, False, self.info()
`
	if err := os.WriteFile(filepath.Join(dir, "reach.py"), []byte(module), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := filepath.Join(dir, "rows.npz")
	f, err := os.Create(rows)
	if err == nil {
		err = npz.Write(f, npz.New("motions", []float32{1, 2, 3, 1, 2, 3}, 2, 3))
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	text := "{id: gymnasium, factory: 'reach:Reach', path: [" + dir + "], kwargs: {scale: 2.5}, amp_observations: amp, reference_motions: " + rows + ", python: " + python + "}"
	env = must(t, text)
	motion, ok := envs.As[envs.MotionSource](env)
	if !ok {
		t.Fatal("the file did not make it a source of motion")
	}
	if drawn, err := motion.CollectReferenceMotions(1, rand.New(rand.NewPCG(1, 1))); err != nil || !cmp.Equal(drawn, []float32{1, 2, 3}) {
		t.Errorf("reference motion is %v, %v", drawn, err)
	}
	if s, err = env.Reset(0); err == nil {
		s, err = env.Step([]float32{0})
	}
	if err != nil || s.AMPObservations[0] != 2.5 {
		t.Errorf("AMP observations %v, %v", s.AMPObservations, err)
	}
	wide := strings.Replace(module, "amp_observation_size = 3", "amp_observation_size = 2", 1)
	wide = strings.Replace(wide, "np.full(3", "np.full(2", 1)
	if err := os.WriteFile(filepath.Join(dir, "reach.py"), []byte(wide), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(time.Hour) // Python compiles it anew
	if err := os.Chtimes(filepath.Join(dir, "reach.py"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := fromYAML(t, text); err == nil || !strings.Contains(err.Error(), "have 3 numbers, the AMP observations 2") {
		t.Errorf("rows of another width gave %v", err)
	}
}
