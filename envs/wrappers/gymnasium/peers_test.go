package gymnasium

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/spaces"
)

// real returns options of an environment in testdata, or of one with an id.
func real(t testing.TB, name string, n, children int) Options {
	t.Helper()
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
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
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(array string) []float64 {
		t.Helper()
		a, err := file.Get(array)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		return v
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
					if float64(got[i]) != x {
						t.Fatalf("step %d: %s: environment %d, dimension %d is %g, want %g", step, what, i/wO, i%wO,
							got[i], x)
					}
				}
			}
			s := envtest.Reset(t, e, seed)
			same("observations", 0, s.Observations, observations[:n*wO])
			resets, row := 0, make([]float32, n*wA)
			for step := range steps {
				for i := range row {
					row[i] = float32(acts[step*n*wA+i])
				}
				s = envtest.Step(t, e, row)
				same("observations", step+1, s.Observations, observations[(step+1)*n*wO:(step+2)*n*wO])
				for i := range n {
					flag := flags[step*n+i]
					if e.own.exact[i] != rewards[step*n+i] || s.Rewards[i] != float32(rewards[step*n+i]) ||
						s.Terminated[i] != (flag == 1 || flag == 3) || s.Truncated[i] != (flag >= 2) {
						t.Fatalf("step %d, environment %d: reward %g, %t, %t; want %g and %g", step, i, e.own.exact[i],
							s.Terminated[i], s.Truncated[i], rewards[step*n+i], flag)
					}
					if flag > 0 {
						resets++
						same("last observations", step, s.FinalObservations[i*wO:(i+1)*wO],
							finals[(step*n+i)*wO:(step*n+i+1)*wO])
					}
				}
			}
			t.Logf("%d steps of %d environments, %d resets: equal", steps, n, resets)
			if resets < c.resetsAtAll {
				t.Errorf("%d resets in %d steps, want at least %d", resets, steps, c.resetsAtAll)
			}
		})
	}
}

func TestPeersSpaces(t *testing.T) {
	e := open(t, real(t, "bridge_environments:Rooms", 2, 1))
	want := spaces.Set{
		Observation: spaces.NewDict(map[string]spaces.Space{
			"arm": spaces.NewDict(map[string]spaces.Space{"grip": spaces.NewMultiDiscrete(2, 2),
				"joints": spaces.NewBox(-1, 1, 3)}),
			"door": spaces.NewDiscrete(5),
			"keys": spaces.NewTuple(spaces.NewMultiDiscrete(3, 4), spaces.Space{Kind: spaces.Box, Shape: []int{1},
				DType: spaces.Uint8}),
			"pose": spaces.NewBox(-10, 10, 2, 2),
		}),
		Action: spaces.NewMultiDiscrete(3, 4),
	}
	if got := e.Spaces(); !got.Observation.Equal(want.Observation) || !got.Action.Equal(want.Action) {
		t.Errorf("spaces %v and %v, want %v and %v", got.Observation, got.Action, want.Observation, want.Action)
	}
	if err := envs.Check(e, 200, 5); err != nil {
		t.Error(err)
	}
	if python, gymnasium, numpy := e.Versions(); python == "" || gymnasium == "" || numpy == "" {
		t.Errorf("versions %q, %q, %q", python, gymnasium, numpy)
	}
	cartpole := open(t, real(t, "CartPole-v1", 1, 1))
	if o := cartpole.Spaces().Observation; o.Width() != 4 || o.High[0] != 4.8 || cartpole.Spaces().Action.NVec[0] != 2 {
		t.Errorf("CartPole has %v below %v, and %v", o, o.High, cartpole.Spaces().Action)
	}
}

// A picture's bytes are shared as bytes, its shape and type reach Go, and values that are not bytes are refused.
func TestPeersCamera(t *testing.T) {
	e := open(t, real(t, "bridge_environments:Camera", 3, 2))
	want := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(3, 2, 3), "joints": spaces.NewBox(-1, 1,
		2)})
	if got := e.Spaces().Observation; !got.Equal(want) || e.Spaces().Action.DType != spaces.Float32 {
		t.Fatalf("observations %v, want %v; actions %v", got, want, e.Spaces().Action)
	}
	if small, large := e.layout.Arrays["observations_bytes"], e.layout.Arrays["observations"]; small.DType != "u1" ||
		small.Shape[1] != 18 || large.Shape[1] != 2 {
		t.Errorf("the memory has %+v and %+v", small, large)
	}
	s, err := e.Reset(1)
	for step := 1; step <= 20; step++ {
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range s.Observations {
			row, column := i/20, i%20
			want := float32(uint8(column*13 + step))
			if column >= 18 {
				want = float32(float64(step) / 100)
			}
			if x != want {
				t.Fatalf("step %d, environment %d: value %d is %g, want %g", step, row, column, x, want)
			}
		}
		s, err = e.Step([]float32{1, 200, 3, 4, 5, 6})
	}
	if err == nil && !slices.Equal(s.Rewards, []float32{1, 3, 5}) {
		t.Errorf("rewards %v", s.Rewards)
	}
	for _, bad := range []any{-1, 256, 0.5} {
		o := real(t, "bridge_environments:Camera", 2, 1)
		o.Kwargs = map[string]any{"bad": bad}
		e := open(t, o)
		envtest.Reset(t, e, 1)
		var err error
		for range 3 {
			if _, err = e.Step([]float32{1, 2, 3, 4}); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), "no whole number from 0 to 255") ||
			!strings.Contains(err.Error(), "environment 0") {
			t.Errorf("%v: error %v", bad, err)
		}
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
		if slices.ContainsFunc(s.Rewards, func(r float32) bool { return r < 50 }) {
			t.Fatalf("rewards %v: the keyword argument did not arrive", s.Rewards)
		}
		if len(s.Metrics) != 1 || s.Metrics["nested.double"] < 2 {
			t.Fatalf("step %d: metrics %v", step, s.Metrics)
		}
		for _, episode := range s.Episodes {
			episodes++
			length := float64(episode.Length)
			want := map[string]float64{"steps": length, "nested.double": 2 * length, "flag": 1}
			if diff := cmp.Diff(want, episode.Metrics); diff != "" {
				t.Errorf("metrics of an episode (-want +got):\n%s", diff)
			}
		}
		b, err := e.Info(1)
		if text := string(b); err != nil || !strings.Contains(text, `"word": "step `) ||
			!strings.Contains(text, "[1.5, null]") {
			t.Fatalf("info %s, %v", b, err)
		}
	}
	if episodes == 0 {
		t.Error("no episode ended")
	}
	picture, err := e.Render(2)
	if err != nil {
		t.Fatal(err)
	}
	if b := picture.Bounds(); b.Dx() != 6 || b.Dy() != 4 ||
		picture.At(2, 1) != (color.RGBA{uint8(e.lengths[2]), 20, 30, 255}) {
		t.Errorf("a picture of %v with %v at (2, 1)", b, picture.At(2, 1))
	}
}

func TestPeersImitator(t *testing.T) {
	o := real(t, "bridge_environments:Imitator", 4, 2)
	o.AMPObservations, o.States = "amp_obs", "critic"
	e := open(t, o)
	set := e.Spaces()
	if set.AMPObservation.Width() != 2 || set.State.Width() != 4 {
		t.Fatalf("AMP observations %v and states %v", set.AMPObservation, set.State)
	}
	if err := envs.Check(e, 100, 1); err != nil {
		t.Error(err)
	}
	var rows [2][]float32
	for k := range rows {
		var err error
		if rows[k], err = e.CollectReferenceMotions(50, rand.New(rand.NewPCG(1, 2))); err != nil {
			t.Fatal(err)
		}
	}
	if len(rows[0]) != 100 || !slices.Equal(rows[0], rows[1]) {
		t.Errorf("%d values of reference motion; the same generator must give the same ones", len(rows[0]))
	}
	first := envtest.Reset(t, e, 3)
	place := slices.Clone(first.Observations)
	s := envtest.Step(t, e, make([]float32, 8))
	for i := range 4 {
		if s.States[4*i] != 1 || s.States[4*i+1] != place[3*i] || s.AMPObservations[2*i] != 0 {
			t.Errorf("environment %d: states %v, AMP observations %v", i, s.States[4*i:4*i+4],
				s.AMPObservations[2*i:2*i+2])
		}
	}
	if diff := cmp.Diff(map[string]any{"bonus": 1.0, "delay": int64(2)}, e.RewardShaping()); diff != "" {
		t.Errorf("reward parameters (-want +got):\n%s", diff)
	}
	before := slices.Clone(s.Rewards)
	if err := e.SetRewardShaping(map[string]any{"bonus": 5.0}, []int{2}); err != nil {
		t.Fatal(err)
	}
	if err := e.SetRewardShaping(map[string]any{"bonus": -1.0}, nil); err == nil || !strings.Contains(err.Error(),
		"a bonus below 0") {
		t.Errorf("a value that the environment refuses: %v", err)
	}
	s = envtest.Step(t, e, make([]float32, 8))
	for i, r := range s.Rewards {
		want := before[i]
		if i == 2 {
			want += 4
		}
		if r-want > 1e-5 || want-r > 1e-5 {
			t.Errorf("environment %d: reward %g, want %g", i, r, want)
		}
	}
	if err := e.SetCurriculumState([]byte(`{"states": [{"level": 3}, {"level": 4}]}`)); err != nil {
		t.Fatal(err)
	}
	if state, err := e.CurriculumState(); err != nil ||
		string(state) != `{"states":[{"level":3},{"level":4},{"level":3},{"level":4}]}` {
		t.Errorf("curriculum %s, %v", state, err)
	}
}

// What goes wrong in Python is an error that says what, or, where children are replaced, what OnFault is given.
func TestPeersFaults(t *testing.T) {
	single := func(how string) Options {
		o := real(t, "bridge_environments:Faulty", 4, 2)
		o.Kwargs = map[string]any{"how": how, "marker": filepath.Join(t.TempDir(), "marker")}
		return o
	}
	batch := func(bad string) Options { return counting(t, 4, map[string]any{"bad": bad}) }
	for _, c := range []struct {
		make  func(how string) Options
		how   string
		fault Fault
		words string
	}{
		{single, "exit", FaultExit, "ended with status 9; it printed last:\n\tthe simulation has exploded"},
		{single, "crash", FaultExit, "was ended by signal 11"},
		{single, "sysexit", FaultExit, "ended with status 3"},
		{single, "stop", FaultStopped, "SIGSTOP"},
		{single, "hang", FaultTimeout, "did not finish in time"},
		{single, "raise", FaultException, "RuntimeError: the environment is cross"},
		{single, "nan", FaultData, "the observation has NaN in dimension 0"},
		{single, "shape", FaultException, "a value has the shape (3,); its space says (2,)"},
		{single, "none", FaultException, "returned the reward None of type NoneType; it must be a finite number"},
		{single, "text", FaultException, "returned the reward '1.5' of type str; it must be a finite number"},
		{single, "list", FaultException, "0.25... of type list; it must be a finite number"},
		{single, "integer", FaultException, "00... of type int; it must be a finite number"},
		{batch, "hang", FaultTimeout, "did not finish in time"},
		{batch, "exit", FaultExit, "ended with status 9; it printed last:\n\tthe simulator has run out of memory"},
		{batch, "raise", FaultException, "RuntimeError: the simulator is cross"},
		{batch, "print", FaultExit, "the end of a gigabyte"},
		{batch, "fork", FaultExit, "the simulator has children"},
		{batch, "nan", FaultData, "environment 1: the observation has NaN in dimension 6; it must be finite"},
		{batch, "shape", FaultException, "the observation.place has the shape (4, 1); it must be (4, 2)"},
		{batch, "type", FaultException, "the observation.place has the type int64; it must be float64"},
		{batch, "object", FaultException, "the observation.place has the type object; it must be float64"},
		{batch, "keys", FaultException, "has 'camera', 'place'; its space has 'camera', 'door', 'place'"},
		{batch, "rewards", FaultException, "the rewards of step have the shape (3,); it must be (4,)"},
		{batch, "terminated", FaultException, "terminated of step are nan for environment 2; they must be 0 or 1"},
		{batch, "truncated", FaultException, "truncated of step are 0.5 for environment 2; they must be 0 or 1"},
		{batch, "long mask", FaultException, "has the shape (5,) and the type bool; it must be (4,) of bool"},
		{batch, "log mask", FaultException, "the mask '_speed' of the infos has the shape (5,)"},
		{batch, "rows", FaultException, "the infos of step have 5 rows of 'final_obs'; there must be 4"},
		{batch, "escape", FaultException, `RuntimeError: \x1b[2J\x1b]0;owned\a\u202exxx`},
		{batch, "four", FaultException, "returned 4 values; it must be observations, rewards, terminated, truncated"},
	} {
		for _, replace := range []int{0, 1} {
			o := c.make(c.how)
			t.Run(fmt.Sprint(o.Factory, c.how, replace), func(t *testing.T) {
				o.Replace, o.Timeout = replace, patience
				if c.how == "hang" {
					o.Timeout = 4 * time.Second
				}
				var seen error
				o.OnFault = func(err *ChildError) { seen = err }
				e, err := New(o)
				if err != nil {
					t.Fatal(err)
				}
				a := make([]float32, 4*e.Spaces().Action.Width())
				_, err = e.Reset(0)
				for step := 0; err == nil && step < 30 && seen == nil; step++ {
					_, err = e.Step(a)
				}
				if replace > 0 {
					if err != nil || e.Replaced() != 1 {
						t.Errorf("%v after %d replacements", err, e.Replaced())
					}
					err = seen
				}
				var fault *ChildError
				if !errors.As(err, &fault) || fault.Fault != c.fault || !strings.Contains(err.Error(), c.words) ||
					strings.Contains(c.words, "reward") && strings.Contains(err.Error(), "Traceback") {
					t.Fatalf("%v, want the fault %q and %q", err, c.fault, c.words)
				}
				if text := err.Error(); len(text) > 20_000 || strings.ContainsAny(text, "\x1b\a\u202e") {
					t.Errorf("an error of %d bytes, with control characters: %.200q", len(text), text)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
				if left := children(t); len(left) > 0 {
					t.Errorf("processes %v are left", left)
				}
				sleeper := "^[^ ]*python[^ ]* -c import time; time.sleep.3600"
				if out, err := exec.Command("pgrep", "-f", sleeper).Output(); err == nil {
					t.Errorf("what it started goes on: %s", out)
				}
			})
		}
	}
}

// Options that Python, an environment or a batch cannot serve are errors of New, or of the first reset and step.
func TestPeersRefusals(t *testing.T) {
	single := func(change func(*Options)) Options {
		o := real(t, "bridge_environments:Imitator", 2, 1)
		change(&o)
		return o
	}
	batch := func(change func(*Options)) Options {
		o := counting(t, 4, nil)
		change(&o)
		return o
	}
	module := func(text string) func(*Options) { // one that stands in for gymnasium
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "gymnasium.py"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return func(o *Options) { o.Path = []string{folder} }
	}
	for want, o := range map[string]Options{
		"-m pip install 'gymnasium>=1.0'":                     single(module("raise ImportError")),
		"has gymnasium 0.29.1; the bridge needs 1.0 or later": single(module("__version__ = '0.29.1'")),
		"returned a vector environment": single(
			func(o *Options) { o.Factory = "bridge_environments:vector" }),
		"it must be a gymnasium.Env": single(
			func(o *Options) { o.Factory = "bridge_environments:nothing" }),
		"No module named 'missing_module'": single(
			func(o *Options) { o.Factory = "missing_module:f" }),
		"Environment `Missing` doesn't exist": single(func(o *Options) {
			o.Factory, o.ID = "",
				"Missing-v0"
		}),
		"how many states are there": single(func(o *Options) {
			o.Factory,
				o.States = "bridge_environments:Rooms", "critics"
		}),
		"have no 'amp', where the AMP observation should be": single(func(o *Options) {
			o.AMPObservations,
				o.AMPSize = "amp", 2
		}),
		"'critic': a value has the shape (4,); its space says (3,)": single(func(o *Options) {
			o.States,
				o.StateSize = "critic", 3
		}),
		"'critic': a value has the shape (4,); its space says (2,)": single(
			func(o *Options) { o.AMPObservations = "critic" }),
		"set autoreset to same_step, next_step or disabled": batch(
			func(o *Options) { o.Kwargs = map[string]any{"silent": true} }),
		"its autoreset is same_step; the options say disabled": batch(
			func(o *Options) { o.Autoreset = Disabled }),
		"has 3 environments (num_envs); the options say 4": batch(
			func(o *Options) { o.Factory = "bridge_batches:few" }),
		"must be a batch with num_envs, reset and step": batch(
			func(o *Options) { o.Factory = "bridge_environments:nothing" }),
		"how many AMP observations are there": batch(func(o *Options) {
			o.Factory,
				o.AMPObservations = "bridge_batches:Bare", "amp"
		}),
		"needs a simulator with episode_length_buf": batch(
			func(o *Options) { o.RandomEpisodeLengths = true }),
		"the infos of step have no 'amp', where the AMP observation ": batch(
			func(o *Options) { o.AMPObservations = "amp" }),
		"state_groups has 'critics'": batch(
			func(o *Options) { o.StateGroups = []string{"critics"} }),
	} {
		e, err := New(o)
		if err == nil {
			if _, err = e.Reset(0); err == nil {
				_, err = e.Step(e.Spaces().Action.Rows(o.NumEnvs))
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// What the batch does not say can be said.
	o := counting(t, 4, map[string]any{"silent": true})
	o.Autoreset = SameStep
	if err := envs.Check(open(t, o), 20, 1); err != nil {
		t.Error(err)
	}
}

// A Python program asks policies that add up their observations, and is told what is wrong with a file, with the
// program that served, and with what it asks.
func TestPeersServe(t *testing.T) {
	python := peers.Python(t, "gymnasium")
	client, err := filepath.Abs("../../../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	rooms := spaces.NewDict(map[string]spaces.Space{"a": spaces.NewDiscrete(3), "b": spaces.Unbounded(2)})
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 2)
	for name, observation := range map[string]spaces.Space{"box": spaces.Unbounded(3), "dict": rooms} {
		p := &adder{set: spaces.Set{Observation: observation, Action: spaces.NewBox(-1, 1, 2)}, training: true}
		go func() { served <- Serve(ctx, p, filepath.Join(folder, name), ServeOptions{Rows: 4}) }()
	}
	script := exec.Command(python, "-c", `
import os, struct, subprocess, sys
import numpy as np
from gorl_client import Policy, PolicyError

folder = sys.argv[1]
kept = []

def attempt(f):
    try:
        print(np.asarray(f()).tolist())
    except (ValueError, PolicyError) as e:
        kept.append(e)  # with all that its frames hold
        print(type(e).__name__, str(e).replace(folder, ""))

with Policy(folder + "/box") as policy:
    print(policy.name, policy.rows, policy.action_kind)
    for k in range(2000):
        assert policy.act([k, 0, 1])[0] == k + 1
    for bad in ([[1, 1, 1], [2, 2, 2]], [1, 2], [[0, 0, 0]] * 5, [float("nan"), 0, 0], [-1, 0, 0]):
        attempt(lambda: policy.act(bad))
    attempt(lambda: Policy(folder + "/box", wait=0))
with Policy(folder + "/box") as policy:
    print(policy.act([1, 1, 1]).tolist())
with Policy(folder + "/dict") as policy:
    for observation in (
        {"b": [1, 2], "a": 1}, {"a": np.array([1, 2]), "b": np.ones((2, 2))}, np.ones((2, 3)),
        {"a": 1, "c": [1, 2]}, {"a": 1, "b": [1, 2, 3]}, (1, [1, 2]),
    ):
        attempt(lambda: policy.act(observation))
for name, content in (("empty", b""), ("text", b"x" * 99)):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(content)
    for _ in range(2):  # the first attempt holds on to nothing
        attempt(lambda: Policy(os.path.join(folder, name), wait=0))

# A server that was killed, and that nobody has asked about: its file is there.
gone = subprocess.Popen(["true"])
with open(folder + "/dict", "rb") as f:
    memory = bytearray(f.read())
offset = memory.index(struct.pack("<I", os.getppid()), 4096)
memory[offset : offset + 4] = struct.pack("<I", gone.pid)
os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
with open(folder + "/killed", "wb") as f:
    f.write(memory)
attempt(lambda: Policy(folder + "/killed", wait=0))
`, folder)
	script.Env = append(os.Environ(), "PYTHONPATH="+client)
	out, err := script.CombinedOutput()
	cancel()
	if err := errors.Join(<-served, <-served); err != nil {
		t.Error(err)
	}
	want := `adder 4 Box
[[3.0, -3.0], [6.0, -6.0]]
ValueError the observations have the shape (2,); the policy takes (3,), or a batch of them
ValueError 5 observations; the policy takes from 1 to 4 at once
PolicyError gymnasium: observations: spaces: Box(3): environment 0, dimension 0 is NaN; it must be finite
PolicyError negative observations
PolicyError /box: another program is asking this policy, or this one has not closed it
[3.0, -3.0]
[4.0, -4.0]
[[3.0, -3.0], [4.0, -4.0]]
[[3.0, -3.0], [3.0, -3.0]]
ValueError the observation has the keys ['a', 'c']; the policy takes ['a', 'b']
ValueError the part b has the shape (3,); the policy takes (2,), or a batch of them in every part
ValueError the observation is a tuple; the policy takes a dict with the keys ['a', 'b']
PolicyError /empty is no policy
PolicyError /empty is no policy
PolicyError /text begins with b'xxxxxxxx', version 2021161080; it must be b'GORLSHM\x00', version 1
PolicyError /text begins with b'xxxxxxxx', version 2021161080; it must be b'GORLSHM\x00', version 1
PolicyError /killed: the program that served the policy has ended
`
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("%v; the program printed (-want +got):\n%s", err, diff)
	}
	if _, err := os.Stat(filepath.Join(folder, "box")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
