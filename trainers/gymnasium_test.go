package trainers_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// gymnasiumPeers makes an environment of Gymnasium with the Python of `make peers`.
func gymnasiumPeers(t *testing.T, o gymnasium.Options) *gymnasium.Env {
	t.Helper()
	testdata, err := filepath.Abs(filepath.Join("..", "envs", "wrappers", "gymnasium", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	o.Python, o.Path = peers.Python(t, "gymnasium"), []string{testdata}
	env, err := gymnasium.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close() })
	return env
}

// PPO solves Gymnasium's own CartPole, and then drives it from a Python loop.
func TestPeersGymnasiumCartPole(t *testing.T) {
	env := gymnasiumPeers(t, gymnasium.Options{ID: "CartPole-v1", NumEnvs: 8})
	agent, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{64, 64}, "tanh"), Seed: 1, Dict: map[string]any{
		"rollouts": 32, "learning_epochs": 10, "mini_batches": 2, "discount_factor": 0.98, "gae_lambda": 0.8, "value_loss_scale": 0.5, "value_clip": 0,
		"learning_rate": 1e-3, "learning_rate_scheduler": "LinearLR", "learning_rate_scheduler_kwargs": map[string]any{"start_factor": 1.0, "end_factor": 0.01, "total_iters": 390},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	trainer := sequential(t, env, agent, trainers.Config{Timesteps: 12_500, Seed: 1})
	if err := trainer.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	result, err := trainer.Evaluate(context.Background(), trainers.EvaluateOptions{Episodes: 40, Seed: 1001})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("return %.1f over %d episodes", result.Return, result.Episodes)
	if result.Return < 475 {
		t.Errorf("return %.1f over %d episodes, want at least 475", result.Return, result.Episodes)
	}
	ctx, cancel := context.WithCancel(context.Background())
	path, served := filepath.Join(t.TempDir(), "policy"), make(chan error)
	go func() { served <- gymnasium.Serve(ctx, agent, path, gymnasium.ServeOptions{}) }()
	script := exec.Command(peers.Python(t, "gymnasium"), "-c", `
import sys
import gymnasium
from gorl_client import Policy
env, total = gymnasium.make("CartPole-v1"), 0
with Policy(sys.argv[1]) as policy:
    observation, _ = env.reset(seed=5)
    while True:
        observation, reward, terminated, truncated, _ = env.step(policy.act(observation))
        total += reward
        if terminated or truncated:
            break
print(total)
`, path)
	script.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join("..", "clients", "python"))
	out, err := script.CombinedOutput()
	cancel()
	if serveErr := <-served; serveErr != nil || err != nil || strings.TrimSpace(string(out)) != "500.0" {
		t.Errorf("in Python the episode has the return %s(%v, %v), want 500.0", out, err, serveErr)
	}
}

// AMP's observations and privileged states come from infos, its reference motion from a method, and the observation from a Dict.
func TestPeersGymnasiumAgents(t *testing.T) {
	env := gymnasiumPeers(t, gymnasium.Options{Factory: "bridge_environments:Imitator", NumEnvs: 4, AMPObservations: "amp_obs", States: "critic"})
	motions, ok := envs.As[envs.MotionSource](env)
	if !ok {
		t.Fatal("there is no reference motion")
	}
	agent := smallAMP(t, env.Spaces(), motions, 1, nil)
	defer agent.Close()
	trainer := sequential(t, env, agent, trainers.Config{Timesteps: 64, Seed: 1})
	if err := trainer.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	if m := trainer.Metrics(); m["episode.far"] <= 0 || m["episode.length"] != 20 {
		t.Errorf("figures %v", m)
	}
	rooms := gymnasiumPeers(t, gymnasium.Options{Factory: "bridge_environments:Rooms", NumEnvs: 4})
	if k := rooms.Spaces().Observation.Kind; k != spaces.Dict {
		t.Errorf("observations are %v", k)
	}
	ppoAgent, err := ppo.New(ppo.Options{Spaces: rooms.Spaces(), Models: ppo.MLPs(rooms.Spaces(), []int{16}, "tanh"), Seed: 1, Dict: map[string]any{"rollouts": 16}})
	if err != nil {
		t.Fatal(err)
	}
	defer ppoAgent.Close()
	if err := sequential(t, rooms, ppoAgent, trainers.Config{Timesteps: 64, Seed: 1}).Train(context.Background()); err != nil {
		t.Fatal(err)
	}
}
