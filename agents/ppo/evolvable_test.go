package ppo

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

func architecture(t testing.TB, s spaces.Space, encoder []int, latent int, head []int) description.Architecture {
	t.Helper()
	a, err := description.NewArchitecture(s, encoder, latent, head, "tanh")
	must(t, err)
	return a
}

func TestEvolvableRestore(t *testing.T) {
	agenttest.CheckLive(t)
	make := func(policy description.Architecture) *Agent {
		a, err := New(Options{Spaces: plain, Models: Evolvable(plain, policy, architecture(t, plain.Observation, nil, 0, []int{8}), models.DefaultGaussianConfig()), Dict: small(nil), Seed: 1})
		must(t, err)
		agenttest.Close(t, a)
		return a
	}
	narrow, wide := architecture(t, plain.Observation, nil, 0, []int{8}), architecture(t, plain.Observation, nil, 0, []int{12, 8})
	a, b := make(narrow), make(wide)
	snap := agenttest.Through(t, agenttest.Snapshot(t, b))
	if got := a.Architectures(); len(got) != 2 || !got["policy"].Equal(narrow) {
		t.Errorf("%v", got)
	}
	want := "ppo: the checkpoint's policy network is 4→[12 8] tanh, this agent's 4→[8] tanh; make the agent from the checkpoint's architecture"
	if err := a.Restore(snap); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	mlp := newAgent(t, plain, 1, nil)
	agenttest.Close(t, mlp)
	if err := mlp.Restore(snap); err == nil || !strings.Contains(err.Error(), "the checkpoint's policy network is 4→[12 8] tanh, this agent's has no architecture") {
		t.Error(err)
	}
	if len(mlp.Architectures()) != 0 || agenttest.Snapshot(t, mlp).Values["architectures"] != nil {
		t.Errorf("an agent of perceptrons has architectures %v", mlp.Architectures())
	}
	snap.Values["architectures"].(map[string]any)["policy"] = 3
	if err := b.Restore(snap); err == nil || !strings.Contains(err.Error(), "an architecture in a snapshot") {
		t.Error(err)
	}
	delete(snap.Values, "architectures") // of a version that did not record them
	if err := b.Restore(snap); err != nil {
		t.Error(err)
	}
}

func TestEvolvableRefuses(t *testing.T) {
	agenttest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.NewDict(map[string]spaces.Space{"goal": spaces.Unbounded(2), "gripper": spaces.NewDiscrete(3)}), Action: spaces.NewDiscrete(2)}
	good, other := architecture(t, sp.Observation, nil, 4, []int{8}), architecture(t, spaces.Unbounded(4), nil, 0, []int{8})
	for want, c := range map[string]struct {
		policy, value description.Architecture
		scaler        string
	}{
		"policy: description: the architecture 4→[8] tanh reads 4 columns":        {other, good, ""},
		"value network: description: the architecture 4→[8] tanh reads 4 columns": {good, other, ""},
		"at least one part": {description.Architecture{}, good, ""},
		`"observation_preprocessor" scales the choices that the policy network`: {good, good, "RunningStandardScaler"},
	} {
		_, err := New(Options{Spaces: sp, Models: Evolvable(sp, c.policy, c.value, models.DefaultGaussianConfig()), Dict: small(map[string]any{"observation_preprocessor": c.scaler})})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A scaler before indices that a model of YAML's language reads one-hot would make them none of the choices.
func TestScaledChoices(t *testing.T) {
	agenttest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.NewDiscrete(5), Action: spaces.NewDiscrete(2)}
	for want, inputs := range map[string][2]string{
		"scales the choices that the policy network reads": {"one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)", "OBSERVATIONS"},
		"scales the choices that the value network reads":  {"OBSERVATIONS", "one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS[:, 0:1])"},
		"": {"OBSERVATIONS", "OBSERVATIONS"},
	} {
		spec := func(class, input string) models.Spec {
			return models.Spec{Class: class, Network: []models.Container{{Name: "net", Input: input}}, Output: map[string]string{"Categorical": "ACTIONS", "Deterministic": "ONE"}[class]}
		}
		policy, err := spec("Categorical", inputs[0]).BuildPolicy(sp, 1)
		must(t, err)
		value, err := spec("Deterministic", inputs[1]).BuildNetwork(sp, 2)
		must(t, err)
		a, err := New(Options{Spaces: sp, Models: Models{Policy: policy, Value: value}, Dict: small(map[string]any{"observation_preprocessor": "RunningStandardScaler"})})
		if want == "" && err == nil {
			agenttest.Close(t, a)
		} else if err == nil || want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
