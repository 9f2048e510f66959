package gymnasium

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
)

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
		{single, "exit", FaultExit, "exit status 9; it printed last:\n\tthe simulation has exploded"},
		{single, "crash", FaultExit, "ended by signal: segmentation fault"},
		{single, "stop", FaultStopped, "SIGSTOP"},
		{single, "hang", FaultTimeout, "did not finish in time"},
		{single, "raise", FaultException, "RuntimeError: the environment is cross"},
		{single, "none", FaultException, "returned the reward None of type NoneType; it must be a finite number"},
		{single, "list", FaultException, "0.25... of type list; it must be a finite number"},
		{single, "integer", FaultException, "00... of type int; it must be a finite number"},
		{batch, "hang", FaultTimeout, "did not finish in time"},
		{batch, "print", FaultExit, "the end of a gigabyte"},
		{batch, "fork", FaultExit, "the simulator has children"},
		{batch, "nan", FaultData, "environment 1: the observation has NaN in dimension 6; it must be finite"},
		{batch, "shape", FaultException, "the observation.place has the shape (4, 1); it must be (4, 2)"},
		{batch, "type", FaultException, "the observation.place has the type int64; it must be float64"},
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
				e := must.Get(New(o))(t)
				a := make([]float32, 4*e.Spaces().Action.Width())
				_, err := e.Reset(0)
				for step := 0; err == nil && step < 30 && seen == nil; step++ {
					_, err = e.Step(a)
				}
				if replace > 0 {
					must.Not(t, err != nil || e.Replaced() != 1, "%v after %d replacements", err, e.Replaced())
					err = seen
				}
				faulted(t, err, c.fault, c.words)
				if text := err.Error(); len(text) > 20_000 || strings.ContainsAny(text, "\x1b\a\u202e") ||
					strings.Contains(c.words, "reward") && strings.Contains(text, "Traceback") {
					t.Errorf("an error of %d bytes, with control characters or a traceback: %.200q", len(text), text)
				}
				must.Do(t, e.Close())
				must.Is(t, len(children(t)), 0, "processes that are left")
				sleeper := "^[^ ]*python[^ ]* -c import time; time.sleep.3600"
				out, err := exec.Command("pgrep", "-f", sleeper).Output()
				must.Not(t, err == nil, "what it started goes on: %s", out)
			})
		}
	}
}

// attempt makes a batch, resets it and makes so many steps, counted from 1. It returns the first error.
func attempt(t *testing.T, o Options, steps int, actions func(step int) []float32) error {
	t.Helper()
	e, err := New(o)
	if err == nil {
		t.Cleanup(func() { must.Do(t, e.Close()) })
		_, err = e.Reset(1)
	}
	for k := 1; k <= steps && err == nil; k++ {
		_, err = e.Step(actions(k))
	}
	return err
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
	module := func(text string) Options { // one that stands in for gymnasium
		folder := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(folder, "gymnasium.py"), []byte(text), 0o600))
		return single(func(o *Options) { o.Path = []string{folder} })
	}
	silent, timed := counting(t, 4, map[string]any{"silent": true}), counting(t, 4, nil)
	timed.RandomEpisodeLengths = true
	for want, o := range map[string]Options{
		"; set environment.python to the Python of the simulator": batch(func(o *Options) {
			o.Simulator, o.Factory, o.ID = IsaacLab, "", "X"
		}),
		"-m pip install 'gymnasium>=1.0'":                     module("raise ImportError"),
		"has gymnasium 0.29.1; the bridge needs 1.0 or later": module("__version__ = '0.29.1'"),
		"returned a vector environment": single(func(o *Options) {
			o.Factory = "bridge_environments:vector"
		}),
		"Environment `Missing` doesn't exist": single(func(o *Options) {
			o.Factory, o.ID = "", "Missing-v0"
		}),
		"have no 'amp', where the AMP observation should be": single(func(o *Options) {
			o.AMPObservations, o.AMPSize = "amp", 2
		}),
		"a value has the shape (4,); its space says (2,)": single(func(o *Options) {
			o.AMPObservations = "critic"
		}),
		"set autoreset to same_step, next_step or disabled":    silent,
		"its autoreset is same_step; the options say disabled": batch(func(o *Options) { o.Autoreset = Disabled }),
		"needs a simulator with episode_length_buf":            timed,
		"how many AMP observations are there": batch(func(o *Options) {
			o.Factory, o.AMPObservations = "bridge_batches:Bare", "amp"
		}),
	} {
		must.Refuse(t, attempt(t, o, 1, func(int) []float32 { return make([]float32, 2*o.NumEnvs) }), want)
	}
	// What the batch does not say can be said.
	silent.Autoreset = SameStep
	must.Do(t, envs.Check(open(t, silent), 20, 1))
}

// What is no game, or breaks PettingZoo's rules, is an error that names the agent and what to do.
func TestPeersGamesRefused(t *testing.T) {
	const lives, turns = "bridge_games:Lives", "bridge_games:Turns"
	for _, c := range []struct {
		name, bad, want string
		fault           Fault
	}{
		{lives, "spaces", "differ in their possible_agents or in their spaces", FaultStart},
		{lives, "nobody", "reset of Lives leaves no agent that acts", FaultStart},
		{lives, "stranger", "'d_0', which is none of possible_agents, ['a_0', 'b_0', 'c_0']", FaultException},
		{lives, "tells", "the agent 'e_0', which is none of possible_agents", FaultException},
		{lives, "back", "the agent 'a_0' has ended and is among the agents", FaultException},
		{lives, "leaves", "'b_0' has left the agents of Lives, neither terminated nor truncated", FaultException},
		{lives, "flag", "the terminations of Lives have 'no' for the agent 'b_0'", FaultException},
		{lives, "shape", "the observation of the agent 'b_0' of Lives: ValueError: a value has the shape (3, 3); its " +
			"space says (2, 2)", FaultException},
		{lives, "mask", "the action mask of the agent 'c_0' is [2 2 2 2 2]", FaultException},
		{lives, "reward", "returned the reward None of type NoneType", FaultException},
		{lives, "state", "set states to ignore", FaultException},
		{lives, "lacks", "the rewards of Lives lack the agent 'b_0'", FaultException},
		{turns, "selects", "selects the agent 'x_1', which does not live", FaultException},
		{"bridge_games:Nobody", "", "a Nobody; it must be a pettingzoo.ParallelEnv or AECEnv", FaultStart},
		{"mpe2.simple_spread_v2", "", "there is no environment 'mpe2.simple_spread_v2'; mpe2 has simple_spread_v3",
			FaultStart},
	} {
		t.Run(c.name+" "+c.bad, func(t *testing.T) {
			o := zoo(t, c.name, 2, 1)
			if c.bad != "" {
				o.Kwargs = map[string]any{"bad": c.bad}
			}
			faulted(t, attempt(t, o, 7, func(k int) []float32 {
				if c.name == turns {
					return slices.Repeat([]float32{1}, 6)
				}
				return slices.Repeat([]float32{0, 0, 0, float32((k + 1) % 2), 0}, 2)
			}), c.fault, c.want)
		})
	}
}
