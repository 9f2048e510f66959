package trainers_test

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// AMP that begins with a PPO run's folder, or with a checkpoint of it, has that policy and value, and a discriminator,
// optimizer and timesteps of its own; a run that goes on keeps what it has learned.
func TestWarmStart(t *testing.T) {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	dir := t.TempDir()
	train := func(agent agenttest.Agent, cfg trainers.Config) *trainers.Trainer {
		t.Helper()
		cfg.Directory = dir
		tr, err := trainers.New(env, agent, cfg)
		if err != nil {
			t.Fatal(err)
		}
		agenttest.Close(t, agent)
		if err := tr.Open(context.Background()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tr.Close() })
		return tr
	}
	scaled := map[string]any{"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"}
	first := train(smallPPO(t, env.Spaces(), 5, scaled), trainers.Config{Name: "first", Timesteps: 16})
	if err := first.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := checkpoint.NewStore(filepath.Join(dir, "first", "checkpoints"), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	saved, _, err := store.Latest()
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"folder": filepath.Join(dir, "first"), "checkpoint": saved.Path} {
		from := saved.Snapshot
		if best, _, err := store.Best(); err == nil && name == "folder" {
			from = best.Snapshot
		}
		fresh := agenttest.Snapshot(t, smallAMP(t, env.Spaces(), env, 9, scaled))
		tr := train(smallAMP(t, env.Spaces(), env, 9, scaled), trainers.Config{Name: name, Timesteps: 8, WarmStart: path, Resume: true, SaveBuffers: true})
		got := agenttest.Snapshot(t, tr.Agent())
		for array, own := range got.Arrays {
			network, _, _ := layout.CutParameter(array)
			want := fresh.Arrays[array].Data
			switch network {
			case "policy", "value", "observation_preprocessor", "value_preprocessor":
				want = from.Arrays[array].Data
			}
			if !bytes.Equal(own.Data, want) {
				t.Errorf("%s: %s is not what the run is to begin with", name, array)
			}
		}
		if tr.Timestep() != 0 {
			t.Errorf("%s: begins at timestep %d", name, tr.Timestep())
		}
		if err := tr.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		learned := agenttest.Snapshot(t, tr.Agent())
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		again := train(smallAMP(t, env.Spaces(), env, 9, scaled), trainers.Config{Name: name, Timesteps: 8, WarmStart: path, Resume: true, SaveBuffers: true})
		if d := agenttest.Differences(learned, agenttest.Snapshot(t, again.Agent())); len(d) > 0 || again.Timestep() != 8 {
			t.Errorf("%s: a run that goes on at timestep %d has other %q", name, again.Timestep(), d)
		}
	}
}

// What does not fit is refused, and the agent is as it was.
func TestWarmStartRefuses(t *testing.T) {
	agent := smallPPO(t, boxed, 1, nil)
	agenttest.Close(t, agent)
	good, err := agent.Snapshot(agents.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	without := func(array string) *checkpoint.Snapshot {
		s := &checkpoint.Snapshot{Arrays: maps.Clone(good.Arrays), Values: good.Values}
		delete(s.Arrays, array)
		return s
	}
	before := agenttest.Snapshot(t, agent)
	more := without("")
	more.Arrays["policy/net.7.weight"] = checkpoint.ArrayFloat32([]int64{1}, []float32{0})
	wider := without("")
	wider.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{1, 2}, []float32{0, 0})
	for message, from := range map[string]*checkpoint.Snapshot{
		"the checkpoint has no \"policy\"": checkpoint.NewSnapshot(),
		"this agent's policy/":             without("policy/net.0.weight"),
		"policy/net.7.weight":              more,
		"policy/net.0.weight is F32":       wider,
	} {
		if _, err := agents.WarmStart(agent, from); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%v does not say %q", err, message)
		}
	}
	if d := agenttest.Differences(before, agenttest.Snapshot(t, agent)); len(d) > 0 {
		t.Errorf("what was refused has changed %q", d)
	}
	env := newCartPoles(t)
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		other := smallPPO(t, env.Spaces(), 1, nil)
		agenttest.Close(t, other)
		tr, err := trainers.New(env, other, trainers.Config{Timesteps: 8, WarmStart: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Open(context.Background()); err == nil || !strings.Contains(err.Error(), `"warm_start"`) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
