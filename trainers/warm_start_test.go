package trainers_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
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
	env := value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, Workers: 1}))(t)
	defer env.Close()
	dir := t.TempDir()
	scaled := map[string]any{"observation_preprocessor": "RunningStandardScaler",
		"value_preprocessor": "RunningStandardScaler"}
	open := func(agent agenttest.Agent, cfg trainers.Config) *trainers.Trainer {
		t.Helper()
		cfg.Directory = dir
		agenttest.Close(t, agent)
		tr := sequential(t, env, agent, cfg)
		must(t, tr.Open(context.Background()))
		return tr
	}
	first := open(smallPPO(t, env.Spaces(), 5, scaled), trainers.Config{Name: "first", Timesteps: 16})
	must(t, errors.Join(first.Train(context.Background()), first.Close()))
	saved := value(checkpoint.Load(checkpoints(t, first.Dir())[0]))(t) // the only one, and not the best of anything
	for name, path := range map[string]string{"folder": first.Dir(), "checkpoint": saved.Path} {
		from := saved.Snapshot
		if best := best(t, first); best != nil && name == "folder" {
			from = best.Snapshot
		}
		cfg := trainers.Config{Name: name, Timesteps: 8, WarmStart: path, Resume: true, SaveBuffers: true}
		amp := func() agenttest.Agent { return smallAMP(t, env.Spaces(), env, 9, scaled) }
		fresh := amp()
		agenttest.Close(t, fresh)
		tr := open(amp(), cfg)
		for array, own := range agenttest.Snapshot(t, tr.Agent()).Arrays {
			network, _, _ := layout.CutParameter(array)
			want := agenttest.Snapshot(t, fresh).Arrays[array].Data
			switch network {
			case "policy", "value", "observation_preprocessor", "value_preprocessor":
				want = from.Arrays[array].Data
			}
			if !bytes.Equal(own.Data, want) || tr.Timestep() != 0 {
				t.Errorf("%s: %s is not what the run is to begin with, at timestep %d", name, array, tr.Timestep())
			}
		}
		must(t, errors.Join(tr.Train(context.Background()), tr.Close()))
		again := open(amp(), cfg)
		if agenttest.Same(t, tr.Agent(), again.Agent()); again.Timestep() != 8 {
			t.Errorf("%s: the run goes on at timestep %d", name, again.Timestep())
		}
		must(t, again.Close())
	}
}

// What does not fit is refused, and the agent is as it was.
func TestWarmStartRefuses(t *testing.T) {
	agent := smallPPO(t, boxed, 1, nil)
	agenttest.Close(t, agent)
	before := agenttest.Snapshot(t, agent)
	for message, change := range map[string]func(s *checkpoint.Snapshot){
		"the checkpoint has no \"policy\"": func(s *checkpoint.Snapshot) { *s = *checkpoint.NewSnapshot() },
		"this agent's policy/":             func(s *checkpoint.Snapshot) { delete(s.Arrays, "policy/net.0.weight") },
		"policy/net.7.weight": func(s *checkpoint.Snapshot) {
			s.Arrays["policy/net.7.weight"] = checkpoint.ArrayFloat32([]int64{1}, []float32{0})
		},
		"policy/net.0.weight is F32": func(s *checkpoint.Snapshot) {
			s.Arrays["policy/net.0.weight"] = checkpoint.ArrayFloat32([]int64{1, 2}, []float32{0, 0})
		},
	} {
		from := agenttest.Through(t, before)
		change(from)
		refused(agents.WarmStart(agent, from))(t, message, message)
		if d := agenttest.Differences(before, agenttest.Snapshot(t, agent)); len(d) > 0 {
			t.Errorf("%s: what was refused has changed %q", message, d)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		tr, done := scenes[0].start(t, trainers.Config{Timesteps: 8, WarmStart: path})
		wantError(t, path, tr.Open(context.Background()), `"warm_start"`)
		done()
	}
}
