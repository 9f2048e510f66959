package trainers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

func walkers(t testing.TB) envs.Env {
	t.Helper()
	env := value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 4, Seed: 1}))(t)
	t.Cleanup(func() { env.Close() })
	return env
}

// fromDict makes a trainer and closes its agent. It returns the agent's first weights and the complete dictionary.
func fromDict(t testing.TB, dict map[string]any, env envs.Env) (map[string]checkpoint.Array, map[string]any) {
	t.Helper()
	tr := value(trainers.FromDict(dict, env))(t)
	defer tr.Agent().Close()
	return agenttest.Snapshot(t, tr.Agent().(agenttest.Agent)).Arrays, tr.Dict()
}

// What Dict returns, written as YAML and read again, makes the agent that the original makes.
func TestDict(t *testing.T) {
	checkLiveTensors(t)
	for name, x := range map[string]struct {
		text string
		env  envs.Env
	}{
		"ppo": {ppoYAML, pendulum(t)},
		"amp": {strings.Replace(ampYAML, "SEPARATE", "true", 1), walkers(t)},
		"without the trainer's class": {"{seed: 3, models: {mlp: [8]}, agent: {class: PPO}, trainer: {timesteps: 8}}",
			pendulum(t)},
		"without a trainer": {"{seed: 3, models: {mlp: [8]}, agent: {class: PPO}, trainer: null}",
			pendulum(t)},
	} {
		weights, full := fromDict(t, value(config.FromYAML([]byte(x.text)))(t), x.env)
		written := value(yaml.Marshal(full))(t)
		for from, d := range map[string]map[string]any{"Go": full, "YAML": value(config.FromYAML(written))(t)} {
			again, second := fromDict(t, d, x.env)
			if diff := cmp.Diff(weights, again); diff != "" {
				t.Errorf("%s, %s: the first weights differ:\n%.500s", name, from, diff)
			}
			if text := value(yaml.Marshal(second))(t); string(text) != string(written) {
				t.Errorf("%s, %s: completed again it is\n%s\nafter\n%s", name, from, text, written)
			}
		}
	}
}

// A seed that nobody gave is drawn, and is in the dictionary.
func TestDictHasTheDrawnSeed(t *testing.T) {
	env, seeds := pendulum(t), map[any]bool{}
	for range 3 {
		_, full := fromDict(t, map[string]any{"models": map[string]any{"mlp": []any{8}},
			"agent": map[string]any{"class": "PPO"}}, env)
		seeds[full["seed"]] = true
		if _, twice := full["trainer"].(map[string]any)["seed"]; twice {
			t.Error("the trainer's seed stands beside the run's")
		}
	}
	if len(seeds) != 3 {
		t.Errorf("three runs have the seeds %v", seeds)
	}
}

// The models in short are those of ppo.MLPs and amp.MLPs.
func TestModelsInShort(t *testing.T) {
	checkLiveTensors(t)
	short := func(class string, models any) map[string]any {
		return map[string]any{"seed": 5, "models": models, "agent": map[string]any{"class": class}}
	}
	pend, walk := pendulum(t), walkers(t).(*mujoco.Walker)
	p := value(ppo.New(ppo.Options{Spaces: pend.Spaces(), NumEnvs: 4, Models: ppo.MLPs(pend.Spaces(), []int{16, 8},
		"tanh"), Seed: 5}))(t)
	defer p.Close()
	a := value(amp.New(amp.Options{Spaces: walk.Spaces(), NumEnvs: 4, Models: amp.MLPs(walk.Spaces(), []int{16, 8},
		"tanh"), Motions: walk, Seed: 5}))(t)
	defer a.Close()
	for _, x := range []struct {
		class string
		env   envs.Env
		agent agenttest.Agent
	}{{"PPO", pend, p}, {"AMP", walk, a}} {
		got, _ := fromDict(t, short(x.class, map[string]any{"mlp": []any{16, 8}, "activation": "tanh"}), x.env)
		if diff := cmp.Diff(agenttest.Snapshot(t, x.agent).Arrays, got); diff != "" {
			t.Errorf("%s: the models differ (-MLPs +short):\n%.500s", x.class, diff)
		}
	}
}
