package trainers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/agents"
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
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close() })
	return env
}

// untrained are the agent's first weights and its settings.
func untrained(t testing.TB, dict map[string]any, env envs.Env) (map[string]checkpoint.Array, any) {
	t.Helper()
	tr, err := trainers.FromDict(dict, env)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Agent().Close()
	snap, err := tr.Agent().(agenttest.Agent).Snapshot(agents.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	switch a := tr.Agent().(type) {
	case *ppo.Agent:
		return snap.Arrays, a.Settings()
	case *amp.Agent:
		return snap.Arrays, a.Settings()
	}
	t.Fatalf("an agent of type %T", tr.Agent())
	return nil, nil
}

// completed is the dictionary of the trainer that is made of one.
func completed(t testing.TB, dict map[string]any, env envs.Env) map[string]any {
	t.Helper()
	tr, err := trainers.FromDict(dict, env)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Agent().Close()
	return tr.Dict()
}

// What Dict returns, written as YAML and read again, makes the agent that the original makes.
func TestDict(t *testing.T) {
	checkLiveTensors(t)
	for _, x := range []struct {
		name, text string
		env        envs.Env
	}{
		{"ppo", ppoYAML, pendulum(t)},
		{"amp", strings.Replace(ampYAML, "SEPARATE", "true", 1), walkers(t)},
		{"short", "{seed: 3, models: {mlp: [8]}, agent: {class: PPO}, trainer: {class: SequentialTrainer}}", pendulum(t)},
		{"without the trainer's class", "{seed: 3, models: {mlp: [8]}, agent: {class: PPO}, trainer: {timesteps: 8}}", pendulum(t)},
		{"without a trainer", "{seed: 3, models: {mlp: [8]}, agent: {class: PPO}, trainer: null}", pendulum(t)},
	} {
		t.Run(x.name, func(t *testing.T) {
			dict, err := config.FromYAML([]byte(x.text))
			if err != nil {
				t.Fatal(err)
			}
			full := completed(t, dict, x.env)
			written, err := yaml.Marshal(full)
			if err != nil {
				t.Fatal(err)
			}
			read, err := config.FromYAML(written)
			if err != nil {
				t.Fatal(err)
			}
			weights, settings := untrained(t, dict, x.env)
			for name, d := range map[string]map[string]any{"Go": full, "YAML": read} {
				again, their := untrained(t, d, x.env)
				if diff := cmp.Diff(weights, again); diff != "" {
					t.Errorf("%s: the first weights differ:\n%.500s", name, diff)
				}
				if diff := cmp.Diff(settings, their, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: the settings differ (-given +complete):\n%s\n%s", name, diff, written)
				}
			}
			if second, err := yaml.Marshal(completed(t, read, x.env)); err != nil || string(second) != string(written) {
				t.Errorf("completed again it is (%v)\n%s\nafter\n%s", err, second, written)
			}
		})
	}
}

// A seed that nobody gave is drawn, and told.
func TestDictHasTheDrawnSeed(t *testing.T) {
	dict := map[string]any{"models": map[string]any{"mlp": []any{8}}, "agent": map[string]any{"class": "PPO"}, "trainer": map[string]any{"class": "SequentialTrainer"}}
	env, seeds := pendulum(t), map[any]bool{}
	for range 3 {
		full := completed(t, dict, env)
		seeds[full["seed"]] = true
		if _, twice := full["trainer"].(map[string]any)["seed"]; twice {
			t.Error("the trainer's seed stands beside the run's")
		}
	}
	if len(seeds) != 3 {
		t.Errorf("three runs have the seeds %v", seeds)
	}
	if _, err := trainers.FromDict(map[string]any{"model": nil}, env); err == nil || !strings.Contains(err.Error(), `did you mean "models"`) {
		t.Errorf("an unknown section gave %v", err)
	}
}

// The models in short are those of ppo.MLPs and amp.MLPs.
func TestModelsInShort(t *testing.T) {
	checkLiveTensors(t)
	short := func(class string) map[string]any {
		return map[string]any{"seed": 5, "models": map[string]any{"mlp": []any{16, 8}, "activation": "tanh"}, "agent": map[string]any{"class": class}, "trainer": map[string]any{"class": "SequentialTrainer"}}
	}
	pend, walk := pendulum(t), walkers(t).(*mujoco.Walker)
	p, err := ppo.New(ppo.Options{Spaces: pend.Spaces(), NumEnvs: 4, Models: ppo.MLPs(pend.Spaces(), []int{16, 8}, "tanh"), Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a, err := amp.New(amp.Options{Spaces: walk.Spaces(), NumEnvs: 4, Models: amp.MLPs(walk.Spaces(), []int{16, 8}, "tanh"), Motions: walk, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, x := range []struct {
		class string
		env   envs.Env
		agent agenttest.Agent
	}{{"PPO", pend, p}, {"AMP", walk, a}} {
		want, err := x.agent.Snapshot(agents.SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := untrained(t, short(x.class), x.env)
		if diff := cmp.Diff(want.Arrays, got); diff != "" {
			t.Errorf("%s: the models differ (-MLPs +short):\n%.500s", x.class, diff)
		}
	}
	for _, x := range []struct {
		models map[string]any
		want   string
	}{
		{nil, "models: {mlp: [64, 64], activation: elu}"},
		{map[string]any{"mlp": []any{}}, `"mlp" is []`},
		{map[string]any{"mlp": []any{8, 0}}, `"mlp[1]" is 0`},
		{map[string]any{"mlp": []any{8}, "policy": map[string]any{}}, `unknown key "policy"`},
		{map[string]any{"mlp": []any{8}, "activations": "elu"}, `did you mean "activation"`},
		{map[string]any{"mlp": []any{8}, "activation": "elo"}, "elo"},
	} {
		dict := short("PPO")
		dict["models"] = x.models
		tr, err := trainers.FromDict(dict, pend)
		if err == nil {
			tr.Agent().Close()
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("models %v: the error lacks %q: %v", x.models, x.want, err)
		}
	}
}

// The figures of an evaluation are the means of its episodes.
func TestEvaluationHasItsEpisodes(t *testing.T) {
	env := walkers(t)
	tr, err := trainers.FromDict(map[string]any{"seed": 5, "models": map[string]any{"mlp": []any{8}}, "agent": map[string]any{"class": "AMP"},
		"trainer": map[string]any{"class": "SequentialTrainer"}}, env)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Agent().Close()
	e, err := trainers.Evaluate(context.Background(), env, tr.Agent(), trainers.EvaluateOptions{Episodes: 8, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var total, length, speed float64
	count := map[int]int{}
	for _, x := range e.Each {
		total, length, speed = total+x.Return, length+float64(x.Length), speed+x.Metrics["speed"]
		count[x.Env]++
	}
	if len(e.Each) != 8 || e.Episodes != 8 || total/8 != e.Return || length/8 != e.Length || speed/8 != e.Metrics["speed"] {
		t.Errorf("%d episodes have the mean return %g, length %g and speed %g; the evaluation says %+v", len(e.Each), total/8, length/8, speed/8, e)
	}
	if !cmp.Equal(count, map[int]int{0: 2, 1: 2, 2: 2, 3: 2}) {
		t.Errorf("episodes of each environment: %v", count)
	}
}
