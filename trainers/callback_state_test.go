package trainers_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// tally is a callback with a state: how many timesteps it has seen.
type tally struct {
	trainers.BaseCallback
	name    string
	steps   byte
	refuses bool
}

func (c *tally) OnStep(*trainers.Trainer, *envs.Step) error { c.steps++; return nil }
func (c *tally) StateName() string                          { return c.name }
func (c *tally) MarshalState() ([]byte, error)              { return []byte{c.steps}, nil }

func (c *tally) RestoreState(state []byte) error {
	if len(state) != 1 || c.refuses {
		return errors.New("not a tally's")
	}
	c.steps = state[0]
	return nil
}

// A callback with a state goes on with it in a resumed run, from the timestep of the checkpoint. Names that a
// checkpoint lacks, and those that no callback has, are noted.
func TestCallbacksKeepState(t *testing.T) {
	checkLiveTensors(t)
	cfg := run(t, 10)
	cfg.CheckpointInterval = every(5)
	train := func(timesteps int, own ...*tally) string {
		t.Helper()
		cfg.Timesteps, cfg.Callbacks = timesteps, nil
		for _, c := range own {
			cfg.Callbacks = append(cfg.Callbacks, c)
		}
		tr, done := scenes[0].start(t, cfg)
		defer done()
		if err := tr.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.Join(tr.Notes(), "; ")
	}
	first := &tally{name: "tally"}
	if notes := train(10, first); notes != "" {
		t.Errorf("notes %q of a new run", notes)
	}
	file, err := checkpoint.Load(filepath.Join(cfg.Directory, "run", "checkpoints", "agent_5.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	saved := file.Snapshot
	if state, err := saved.Arrays["callbacks/tally"].Bytes(); err != nil || fmt.Sprint(state) != "[5]" {
		t.Errorf("the state in the checkpoint of timestep 5 is %v, %v", state, err)
	}
	second := &tally{name: "tally"}
	if notes := train(17, second); notes != "" || second.steps != 17 {
		t.Errorf("resumed: %d steps, want 17; notes %q", second.steps, notes)
	}
	other := &tally{name: "other"}
	notes := train(20, other)
	for _, want := range []string{`the checkpoint has no state of the callback "other"`, `the checkpoint has a state of the callback "tally"`} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	if other.steps != 3 {
		t.Errorf("a callback that is new has counted %d steps, want 3", other.steps)
	}

	// A checkpoint that a callback or the agent refuses changes nothing.
	cfg.Resume, cfg.Directory = false, t.TempDir()
	one, refusing := &tally{name: "other"}, &tally{name: "tally", refuses: true}
	cfg.Callbacks = []trainers.Callback{one, refusing}
	tr, done := scenes[0].start(t, cfg)
	defer done()
	if _, err := tr.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := tr.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	saved.Arrays["callbacks/other"] = checkpoint.ArrayBytes([]int64{1}, []byte{99})
	for _, want := range []string{`the callback "tally": not a tally's`, "the checkpoint is of an agent"} {
		if err := tr.Restore(saved); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		after, err := tr.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if d := agenttest.Differences(before, after); len(d) > 0 {
			t.Errorf("the refused checkpoint changed %q", d)
		}
		refusing.refuses, saved.Values[layout.Agent] = false, "another"
	}

	// Names are those of one callback.
	for _, names := range [][]string{{""}, {"a", "a"}} {
		cfg.Callbacks = nil
		for _, name := range names {
			cfg.Callbacks = append(cfg.Callbacks, &tally{name: name})
		}
		env, agent := scenes[0].make(t)
		if _, err := trainers.New(env, agent, cfg); err == nil || !strings.Contains(err.Error(), "StateName") {
			t.Errorf("%q: error %v", names, err)
		}
		if err := errors.Join(agent.Close(), env.Close()); err != nil {
			t.Error(err)
		}
	}
}

// The learning rate that a callback sets is the one that is tracked, without a schedule as well.
func TestCallbackSetsLearningRate(t *testing.T) {
	checkLiveTensors(t)
	env, unused := scenes[0].make(t)
	defer unused.Close()
	agent := smallPPO(t, env.Spaces(), 1, map[string]any{"learning_rate": 1e-3})
	defer agent.Close()
	const figure = "Learning / Learning rate"
	var seen []float64
	tr := sequential(t, env, agent, trainers.Config{Timesteps: 32, CloseEnvironmentAtExit: true, Directory: t.TempDir(), WriteInterval: every(8),
		Callbacks: []trainers.Callback{onUpdate{f: func(tr *trainers.Trainer) error {
			seen = append(seen, tr.Metrics()[figure])
			return agent.SetHyperparameters(map[string]float64{"learning_rate": 1e-3 / float64(1+len(seen))})
		}}}})
	defer tr.Close()
	if err := tr.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%.3g", seen); got != "[0.001 0.0005 0.000333 0.00025]" {
		t.Errorf("the rates of the updates are %s", got)
	}
	if list := scalars(t, tr.Dir())[figure]; len(list) != 4 || list[1].Value != 0.5e-3 {
		t.Errorf("the rates written are %v", list)
	}
}

// onUpdate is a callback after every update.
type onUpdate struct {
	trainers.BaseCallback
	f func(tr *trainers.Trainer) error
}

func (o onUpdate) OnUpdate(tr *trainers.Trainer) error { return o.f(tr) }
