package catalog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// fromYAML makes the environment of a YAML text.
func fromYAML(t testing.TB, text string) (envs.Env, error) {
	t.Helper()
	dict := must.Get(config.FromYAML([]byte(text)))(t)
	env, err := New(dict)
	if err == nil {
		t.Cleanup(func() {
			must.Do(t, env.Close())
		})
	}
	return env, err
}

func opened(t testing.TB, text string) envs.Env {
	t.Helper()
	return must.Get(fromYAML(t, text))(t)
}

// rollout is everything that an environment returns to a fixed sequence of actions.
func rollout(t testing.TB, env envs.Env, steps int) []float32 {
	t.Helper()
	s := envtest.Reset(t, env, -1)
	all := slices.Clone(s.Observations)
	rng := rand.New(rand.NewPCG(1, 2))
	actions := env.Spaces().Action.Rows(env.NumEnvs())
	for range steps {
		env.Spaces().SampleActions(rng, actions, s.ActionMasks)
		s = envtest.Step(t, env, actions)
		all = append(append(all, s.Observations...), s.Rewards...)
	}
	return all
}

// An environment by name is the constructor's, with the same settings.
func TestSameAsConstructors(t *testing.T) {
	pendulum, err := classic.NewPendulum(classic.Config{})
	ok := func(env envs.Env, e error) envs.Env {
		t.Helper()
		if e != nil {
			t.Fatal(e)
		}
		return env
	}
	ok(pendulum, err)
	two := classic.Config{NumEnvs: 2}
	pixels := classic.CartPolePixelsConfig{Config: two, Width: 32, Height: 20, Frames: 2, Interval: 3}
	rescaled := ok(wrappers.NewRescaleAction(ok(classic.NewPendulum(classic.Config{}))))
	scaled := ok(wrappers.NewRewardScale(rescaled, 0.5))
	normal := ok(wrappers.NewNormalizeObservation(ok(classic.NewPendulum(classic.Config{})),
		wrappers.NormalizeObservationOptions{Variant: wrappers.SB3}))
	for text, want := range map[string]envs.Env{
		"{id: CartPole, num_envs: 3, seed: 5, max_episode_steps: 9}": ok(classic.NewCartPole(
			classic.Config{NumEnvs: 3, Seed: 5, MaxEpisodeSteps: 9})),
		"{id: CartPole, num_envs: 2, velocities: false}": ok(classic.NewMaskedCartPole(two)),
		"{id: CartPolePixels, num_envs: 2, width: 32, height: 20, frames: 2, interval: 3}": ok(
			classic.NewCartPolePixels(pixels)),
		"{id: TMaze, num_envs: 2, length: 4}": ok(classic.NewTMaze(classic.TMazeConfig{Config: two, Length: 4})),
		"{id: ConnectFour, num_envs: 2, masks: false}": ok(
			classic.NewConnectFour(classic.ConnectFourConfig{Config: two, Unmasked: true})),
		"{id: Acrobot, num_envs: 2, workers: 2}": ok(classic.NewAcrobot(two)),
		"{id: Walker, num_envs: 3, seed: 2, target_speed: 0.7, episode_length: 20, stagger: 7, velocities: false}": ok(
			mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, Seed: 2, TargetSpeed: 0.7, EpisodeLength: 20, Stagger: 7,
				HideVelocities: true})),
		"{id: Pendulum, wrappers: [rescale_action, {reward_scale: {scale: 0.5}}, episode_statistics, " +
			"{normalize_reward: {discount: 0.9}}]}": ok(wrappers.NewNormalizeReward(scaled,
			wrappers.NormalizeRewardOptions{Discount: 0.9})),
		"{id: Pendulum, wrappers: [{normalize_observation: {variant: sb3}}, {clip_observation: {high: 0.5}}, " +
			"{clip_reward: {low: -3}}]}": ok(wrappers.NewClipReward(ok(wrappers.NewClipObservation(normal, -10, 0.5)),
			-3, 10)),
		"{id: Pendulum, wrappers: [clip_action]}": pendulum,
	} {
		t.Run(text, func(t *testing.T) {
			defer want.Close()
			env := opened(t, text)
			if env.NumEnvs() != want.NumEnvs() || !cmp.Equal(env.Spaces().Observation, want.Spaces().Observation) {
				t.Fatalf("%d environments of %v, want %d of %v", env.NumEnvs(), env.Spaces(), want.NumEnvs(),
					want.Spaces())
			}
			must.Match(t, rollout(t, want, 30), rollout(t, env, 30), "steps")
		})
	}
}

func TestErrors(t *testing.T) {
	for text, words := range map[string][]string{
		"{}":             {`"id" is null`, "CartPole", "gymnasium:<id>"},
		"{id: Cartpole}": {`"id" is "Cartpole"`, "Acrobot, CartPole", `did you mean "CartPole"`},
		"{id: CartPole, num_env: 4}": {"catalog: CartPole", `unknown key "num_env" (given 4)`,
			`did you mean "num_envs"`},
		"{id: CartPole, num_envs: many, seed: -1}": {`"num_envs" is "many"`, `"seed" is -1`},
		"{id: Walker, stagger: 400}":               {"Stagger is 400"},
		"{id: Pendulum, wrappers: [clip_actions]}": {`"wrappers[0]" is "clip_actions"`,
			`did you mean "clip_action"`},
		"{id: Pendulum, wrappers: [clip_action, reward_scale]}": {`"wrappers[1]"`,
			"{reward_scale: {scale: value}}"},
		"{id: Pendulum, wrappers: [{reward_scale: {scale: 1, x: 2}}]}": {`unknown key "wrappers[0].reward_scale.x"`},
		"{id: Pendulum, wrappers: [{clip_reward: {low: 2, high: 1}}]}": {"wrappers[0] (clip_reward)",
			"low is 2 and high 1"},
		"{id: Character}": {`"model" is missing`, "PyPI package mjlab"},
		"{id: Character, model: no.xml}": {
			"there is no file no.xml", "mjlab/asset_zoo/robots", "mujoco_menagerie"},
		"{id: gymnasium}":                                               {"gymnasium:<id>", "factory"},
		"{id: 'batch:A-v0'}":                                            {`"batch"`, "Factory"},
		"{id: 'mjlab:A', autoreset: sometimes}":                         {`"autoreset" is "sometimes"`, "same_step"},
		"{id: 'mjlab:A', model: robot.xml}":                             {`"model" is given without "motions"`},
		"{id: 'mjlab:A', motions: [no.npz], reference_motions: no.npz}": {"both given"},
		"{id: 'envpool:A', amp_group: {terms: [joint_pos]}}":            {"AMPGroup is for tasks of mjlab"},
		"{id: 'gymnasium:A-v0', reference_motions: no.npz}":             {"reference_motions", "no.npz"},
		"{id: 'gymnasium:CartPole-v1', python: no-such-python}":         {"no-such-python"},
	} {
		must.RefusedAs(fromYAML(t, text))(t, text, words...)
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
	opened(t, "{id: Hall, num_envs: 4, length: 3.5}")
	must.Is(t, got, (hall{Batch{NumEnvs: 4}, 3.5}), "made")
	if !strings.Contains(strings.Join(Names(), " "), "Hall") {
		t.Errorf("names are %v", Names())
	}
	must.Refused(fromYAML(t, "{id: Hall, lengh: 1}"))(t, `did you mean "length"`)
	must.Refused(fromYAML(t, "{id: Hall, length: 101}"))(t,
		"Hall: its constructor panicked: no room at catalog.TestRegister (catalog_test.go:")
	none := func(hall) (envs.Env, error) { return nil, nil }
	defer func() { must.Not(t, recover() == nil, "Register accepts a name that is taken") }()
	Register("CartPole", hall{}, none)
}

// The names and settings that reach Python are those of the file.
func TestPeersGymnasium(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	for _, text := range []string{
		"{id: 'gymnasium:CartPole-v1', num_envs: 3, children: 2, kwargs: {max_episode_steps: 7}, timeout: 30s",
		"{id: 'vector:CartPole-v1', num_envs: 3, autoreset: disabled, " +
			"kwargs: {vectorization_mode: sync, max_episode_steps: 7}",
	} {
		env := opened(t, text+", seed: 4, python: "+python+"}")
		s, err := env.Reset(-1)
		for range 7 {
			must.Do(t, err)
			s, err = env.Step(make([]float32, 3))
		}
		if err != nil || len(s.Episodes) != 3 || !s.Truncated[0] || s.FinalUnknown != nil || s.Invalid != nil {
			t.Errorf("%s: %d episodes ended in 7 steps, %v", text, len(s.Episodes), err)
		}
	}
	dir := t.TempDir()
	module := `
import gymnasium, numpy as np
class Reach(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))
    def __init__(self, size, scale=1.0): self.amp_observation_size, self.scale = size, scale
    def info(self): return {"amp": np.full(self.amp_observation_size, self.scale, np.float32)}
    def reset(self, *, seed=None, options=None): return np.zeros(2, np.float32), self.info()
    def step(self, action): return np.zeros(2, np.float32), 1.0, False, False, self.info()
`
	must.Do(t, os.WriteFile(filepath.Join(dir, "reach.py"), []byte(module), 0o644))
	rows := filepath.Join(dir, "rows.npz")
	var file bytes.Buffer
	must.Do(t, npz.Write(&file, npz.New("motions", []float32{1, 2, 3, 1, 2, 3}, 2, 3)))
	must.Do(t, os.WriteFile(rows, file.Bytes(), 0o644))
	text := "{id: gymnasium, factory: 'reach:Reach', path: [" + dir + "], kwargs: {scale: 2.5, size: 3}, " +
		"amp_observations: amp, reference_motions: " + rows + ", python: " + python + "}"
	env := opened(t, text)
	motion, ok := envs.As[envs.MotionSource](env)
	must.Is(t, ok, true, "the file makes it a source of motion")
	drawn := must.Get(motion.CollectReferenceMotions(1, rand.New(rand.NewPCG(1, 1))))(t)
	must.Same(t, drawn, []float32{1, 2, 3}, "reference motion")
	envtest.Reset(t, env, 0)
	must.Is(t, envtest.Step(t, env, []float32{0}).AMPObservations[0], 2.5, "AMP observations")
	must.Refused(fromYAML(t, strings.Replace(text, "size: 3", "size: 2", 1)))(t,
		"have 3 numbers: spaces: ")
}

// Every key of randomize reaches the characters, and a wrong one is refused by its name.
func TestRandomize(t *testing.T) {
	const head = "id: Quadruped\nnum_envs: 3\nrandomize: "
	env := opened(t, head+`{friction: [0.5, 1.2], mass: [0.9, 1.1], center_of_mass: 0.02, stiffness: [0.9, 1.1],
  damping: [0.9, 1.1], motor_strength: [0.9, 1], armature: [0.9, 1.1], joint_offset: 0.01, action_delay: [1, 2],
  observation_delay: [1, 2], observation_noise: {joint_pos: 0.01}, push: {velocity: 0.5, seconds: 1}, curriculum: 5,
  terrain: {slope: 0.3, steps: 0.1, rough: 0.05, levels: 3, size: 6, curriculum: true}}`)
	envtest.Reset(t, env, 1)
	step := envtest.Step(t, env, env.Spaces().Action.Rows(3))
	for _, name := range []string{"friction", "mass", "center_of_mass", "stiffness", "damping", "motor_strength",
		"armature", "joint_offset", "action_delay", "observation_delay", "randomization", "terrain_level"} {
		if _, ok := step.Metrics["quadruped/"+name]; !ok {
			t.Errorf("there is no metric %s", name)
		}
	}
	must.Refused(fromYAML(t, head+"{frictoin: [1, 1]}"))(t, `"randomize.frictoin"`)
	must.Refused(fromYAML(t, head+"{mass: [2, 1]}"))(t, "Randomize.Mass is [2 1]")
}
