package trainers_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// gymnasiumPeers makes an environment of Gymnasium with the Python of `make peers`.
func gymnasiumPeers(t *testing.T, o gymnasium.Options) *gymnasium.Env {
	t.Helper()
	testdata := value(filepath.Abs(filepath.Join("..", "envs", "wrappers", "gymnasium", "testdata")))(t)
	o.Python, o.Path = peers.Python(t, "gymnasium"), []string{testdata}
	env := value(gymnasium.New(o))(t)
	t.Cleanup(func() { env.Close() })
	return env
}

// A Python program that asks an agent with memory, and says where episodes begin, is answered as a Go program is.
func TestPeersServeMemory(t *testing.T) {
	python, path := peers.Python(t, "numpy"), filepath.Join(t.TempDir(), "policy")
	sp := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.Unbounded(1)}
	agent := value(ppo.New(ppo.Options{Spaces: sp, Models: ppo.Recurrent(sp, models.LSTM(6), []int{8}, "tanh"),
		NumEnvs: 3, Seed: 1, Dict: map[string]any{"rollouts": 16}}))(t)
	defer agent.Close()
	agent.SetTraining(false)
	want := ""
	for i := range 6 {
		if i == 4 {
			agent.ResetHidden(0, 2)
		}
		for _, x := range value(agent.Act(agents.Observation{Observations: []float32{float32(i), 1, 2, -1, 0.5,
			float32(-i)}}))(t) {
			want += fmt.Sprintf("%.9g\n", x)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- gymnasium.Serve(ctx, agent, path, gymnasium.ServeOptions{}) }()
	t.Setenv("PYTHONPATH", filepath.Join("..", "clients", "python"))
	got := peers.Run(t, python, "-c", `
import sys
from gorl_client import Policy
for attempt in range(2):  # the second program begins with fresh hidden states
    with Policy(sys.argv[1]) as policy:
        answers = []
        for i in range(6):
            if i == 4:
                policy.reset(0, 2)
            answers += policy.act([[i, 1], [2, -1], [0.5, -i]]).ravel().tolist()
print("".join(f"{x:.9g}\n" for x in answers), end="")
`, path)
	cancel()
	if must(t, <-served); got != want {
		t.Errorf("in Python the actions are\n%s, want\n%s", got, want)
	}
}

// A run of HalfCheetah with every normaliser there is, resumed at a random update from a checkpoint that has nothing of
// the environment, has the losses of the uninterrupted run in its next fifty updates, to the last bit. Gymnasium's
// environments cannot save their state, so both begin an episode at the checkpoint: each first plays the same frozen
// evaluation, which leaves the environment's random numbers at the same place, and then resets.
func TestPeersResumeHalfCheetah(t *testing.T) {
	resume(t, 50, gymnasium.Options{ID: "HalfCheetah-v5", NumEnvs: 2}, func(env envs.Env, seed int64,
		dict map[string]any) (envs.Env, agents.Agent) {
		env = recipe(t, env)
		return env, value(ppo.New(ppo.Options{Spaces: env.Spaces(), Seed: seed, Dict: dict,
			Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh")}))(t)
	})
}

// Games of PettingZoo resume like that, too: of agents with different spaces, and by turns with action masks.
func TestPeersResumeGames(t *testing.T) {
	peers.Python(t, "pettingzoo", "mpe2", "pygame")
	for _, id := range []string{"mpe2.simple_speaker_listener_v4", "classic.connect_four_v3"} {
		t.Run(id, func(t *testing.T) {
			resume(t, 5, gymnasium.Options{PettingZoo: true, ID: id, NumEnvs: 2}, func(env envs.Env, seed int64,
				dict map[string]any) (envs.Env, agents.Agent) {
				return env, value(ippo.New(ippo.Options{Spaces: env.Spaces(), Centralised: true,
					Models: ippo.MLPs([]int{16}, "tanh"), Seed: seed, Dict: dict}))(t)
			})
		})
	}
}

// resume trains, and goes on with the run and with a copy of it that is resumed: their next updates must be equal.
func resume(t *testing.T, updates int, o gymnasium.Options,
	make func(env envs.Env, seed int64, dict map[string]any) (envs.Env, agents.Agent)) {
	t.Helper()
	const rollout = 32
	at := rollout * (20 + rand.IntN(40))
	t.Logf("resumed at timestep %d", at)
	dir := t.TempDir()
	begin := func(seed int64, name string) *trainers.Trainer {
		t.Helper()
		env, agent := make(gymnasiumPeers(t, o), seed, map[string]any{"rollouts": rollout, "learning_epochs": 4,
			"mini_batches": 4, "learning_rate_scheduler": "KLAdaptiveLR",
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"})
		t.Cleanup(func() { agent.Close() })
		return sequential(t, env, agent, trainers.Config{Timesteps: at, Directory: dir, Name: name, Resume: true,
			Seed:               -1,
			CheckpointInterval: agents.Interval{Steps: at}})
	}
	evaluate := func(tr *trainers.Trainer) {
		t.Helper()
		value(tr.Evaluate(t.Context(), trainers.EvaluateOptions{Episodes: 2, Seed: 7}))(t)
	}
	losses := func(tr *trainers.Trainer) (all []map[string]float64) {
		t.Helper()
		for range updates * rollout {
			value(tr.Step(t.Context()))(t)
			if tr.Timestep()%rollout == 0 {
				m := maps.Clone(tr.Metrics())
				maps.DeleteFunc(m, func(name string, _ float64) bool {
					return !strings.HasPrefix(name, "Loss") && !strings.HasPrefix(name, "Learning")
				})
				all = append(all, m)
			}
		}
		return all
	}
	first := begin(1, "run")
	must(t, first.Train(t.Context()))
	must(t, os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "run"))))
	evaluate(first)
	second := begin(2, "copy")
	evaluate(second)
	want, got := losses(first), losses(second)
	if second.Timestep() != first.Timestep() || len(want) != updates || len(want[0]) < 3 {
		t.Fatalf("%d and %d timesteps, %d updates of %v", first.Timestep(), second.Timestep(), len(want), want[0])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-uninterrupted +resumed)\n%.600s", d)
	}
}
