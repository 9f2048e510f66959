package trainers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

// The end of a run waits for an update in progress: its figures are tracked, and its error is that of the run.
func TestOverlapEnds(t *testing.T) {
	checkLiveTensors(t)
	s := overlapping[0]
	losses := func(timesteps int) int {
		cfg := trainers.Config{Timesteps: timesteps, Directory: t.TempDir(), Name: "run", Seed: 11, WriteInterval: every(1)}
		tr, done := s.start(t, cfg)
		defer done()
		if err := tr.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		return len(scalars(t, tr.Dir())["Loss / Policy loss"])
	}
	if n := losses(24); n != 3 {
		t.Errorf("the losses of %d updates are tracked, want 3", n)
	}
	env, agent := s.make(t)
	defer func() {
		if err := errors.Join(agent.Close(), env.Close()); err != nil {
			t.Error(err)
		}
	}()
	if err := agent.SetHyperparameters(map[string]float64{"learning_rate": 1e30, "grad_norm_clip": 0}); err != nil {
		t.Fatal(err)
	}
	var diverged *agents.DivergedError
	err := sequential(t, env, agent, trainers.Config{Timesteps: 8, Seed: 11}).Train(context.Background())
	if !errors.As(err, &diverged) || !strings.Contains(err.Error(), "timestep 8") {
		t.Errorf("a run whose last update diverges: %v", err)
	}
}

// A member of a population has made all its updates when it is measured, whether or not it is evaluated in between.
func TestOverlapTrainee(t *testing.T) {
	checkLiveTensors(t)
	s := overlapping[0]
	train := func(evaluate bool) *trainers.Trainee {
		env, agent := s.make(t)
		m := sequential(t, env, agent, trainers.Config{Seed: 11}).Trainee()
		for range 3 {
			if err := m.Train(context.Background(), 8*4); err != nil {
				t.Fatal(err)
			}
			if !evaluate {
				continue
			}
			if _, err := m.EvaluateMetrics(context.Background(), 4, 3); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	a, b := train(false), train(true)
	defer func() {
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}()
	snap := agenttest.Snapshot(t, a.Agent())
	if n, err := snap.Int("updates"); err != nil || n != 3 {
		t.Errorf("%d updates (%v), want 3", n, err)
	}
	agenttest.Same(t, a.Agent(), b.Agent())

	// The weights of another member act from the next step on.
	donor, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(donor); err != nil {
		t.Fatal(err)
	}
	if err := a.Reseed(77); err != nil {
		t.Fatal(err)
	}
	snap = agenttest.Snapshot(t, a.Agent())
	for name, array := range snap.Arrays {
		if acting, ok := snap.Arrays["rollout/acting/"+name]; ok && string(acting.Data) != string(array.Data) {
			t.Errorf("%s is not what the member acts with", name)
		}
	}
}

// Configurations in words have overlap, too, and agents of a group.
func TestOverlapFromDict(t *testing.T) {
	checkLiveTensors(t)
	model := func(class, output string) map[string]any {
		return map[string]any{"class": class, "network": []any{map[string]any{"name": "net", "input": "OBSERVATIONS",
			"layers": []any{8}, "activations": "elu"}}, "output": output}
	}
	for _, networks := range []map[string]any{
		{"mlp": []any{8}},
		{"separate": true, "policy": model("CategoricalMixin", "ACTIONS"), "value": model("DeterministicMixin", "ONE")},
		{"separate": false, "policy": model("CategoricalMixin", "ACTIONS"), "value": model("DeterministicMixin", "ONE")},
	} {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: 4})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trainers.FromDict(map[string]any{"models": networks, "seed": 3,
			"agent":   map[string]any{"class": "PPO", "rollouts": 8, "overlap": true, "experiment": map[string]any{"directory": t.TempDir()}},
			"trainer": map[string]any{"timesteps": 40}}, env)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tr.Train(context.Background()), tr.Close(), tr.Agent().Close(), env.Close()); err != nil {
			t.Error(err)
		}
	}
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 6})
	if err != nil {
		t.Fatal(err)
	}
	group, err := trainers.NewGroup([]agents.Agent{
		smallPPO(t, env.Spaces(), 1, map[string]any{"overlap": true}), smallPPO(t, env.Spaces(), 2, map[string]any{"rollouts": 6}),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = sequential(t, env, group, trainers.Config{Timesteps: 24, Seed: 1}).Train(context.Background())
	if err := errors.Join(err, group.Close(), env.Close()); err != nil {
		t.Error(err)
	}
}
