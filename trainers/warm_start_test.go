package trainers_test

import (
	"context"
	"errors"
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
	saved := value(checkpoint.Load(checkpoints(t, first.Dir())[0]))(t) // the only one, and the best
	for name, path := range map[string]string{"folder": first.Dir(), "checkpoint": saved.Path} {
		cfg := trainers.Config{Name: name, Timesteps: 8, WarmStart: path, Resume: true, SaveBuffers: true}
		amp := func() agenttest.Agent { return smallAMP(t, env.Spaces(), env, 9, scaled) }
		fresh := amp()
		agenttest.Close(t, fresh)
		tr := open(amp(), cfg)
		want := agenttest.Snapshot(t, fresh)
		for array := range want.Arrays {
			switch network, _, _ := layout.CutParameter(array); network {
			case "policy", "value", "observation_preprocessor", "value_preprocessor":
				want.Arrays[array] = saved.Snapshot.Arrays[array]
			}
		}
		if d := agenttest.Differences(want, agenttest.Snapshot(t, tr.Agent())); len(d) > 0 || tr.Timestep() != 0 {
			t.Errorf("%s: %q are not what the run is to begin with, at timestep %d", name, d, tr.Timestep())
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
	tr := scenes[0].open(t, trainers.Config{Timesteps: 8, WarmStart: t.TempDir()})
	wantError(t, "an empty folder", tr.Open(t.Context()), `"warm_start"`)
}
