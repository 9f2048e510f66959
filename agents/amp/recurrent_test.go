package amp

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// TestSequences: what policy and both critics compute of the sequences of an epoch is what they computed while
// acting, and AMP's own fields are of the same rows.
func TestSequences(t *testing.T) {
	agenttest.CheckLive(t)
	const envs = 3
	a := open(t, Options{Spaces: plain, NumEnvs: envs, Models: Recurrent(plain, models.LSTM(5), []int{8}, "tanh"),
		Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Dict: small(map[string]any{"sequence_length": 4,
			"separate_critics": true}), Seed: 1})
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, envs)...)
	agenttest.Learn(t, a, w, 2)
	agenttest.Fill(t, a, w)
	s := noGrad(t, a.learner.Device)
	r := a.learner.Rollout
	motion := map[float32][]float32{} // AMP observations by their row's log-probability
	recorded, rows := tensortest.Float32s(t, s, r.Rows("log_prob")), tensortest.Float32s(t, s,
		r.Rows("amp_observations"))
	for i, p := range recorded {
		motion[p] = rows[3*i : 3*i+3]
	}
	near := func(what string, got, want tensor.Tensor) {
		t.Helper()
		x, y := tensortest.Float32s(t, s, got), tensortest.Float32s(t, s, want)
		for i := range y {
			if d := math.Abs(float64(x[i] - y[i])); !(d < 1e-4) {
				t.Errorf("%s of row %d is %g, while acting it was %g", what, i, x[i], y[i])
				return
			}
		}
	}
	count := 0
	for b := range a.learner.Epoch(s, 0) {
		e, v := models.EvaluateBoth(s, a.learner.Policy, a.learner.Value, b.Of(layout.Policy), b.Of(layout.Value),
			b.Actions)
		near("the log-probability", e.LogProb, b.LogProb)
		near("the value", a.learner.VScaler.Inverse(s, v), b.Values)
		near("the style value", a.learner.styleValue.Forward(s, b.Of(layout.StyleValue)), b.Fields["style_values"])
		shown := tensortest.Float32s(t, s, b.Fields["amp_observations"])
		for i, p := range tensortest.Float32s(t, s, b.LogProb) {
			for j, x := range motion[p] {
				if shown[3*i+j] != x {
					t.Errorf("the AMP observation of row %d is another row's", i)
				}
			}
			count++
		}
	}
	if count != 8*envs {
		t.Errorf("%d rows, want %d", count, 8*envs)
	}
}

// TestDiscriminatorWithoutMemory: a discriminator that keeps a state from row to row is refused.
func TestDiscriminatorWithoutMemory(t *testing.T) {
	agenttest.CheckLive(t)
	m, err := MLPs(plain, []int{8}, "tanh").Make(1)
	must(t, err)
	m.Discriminator.Close()
	m.Discriminator, err = models.NewMLP(models.MLPConfig{Inputs: 3, Outputs: 1, Recurrent: models.GRU(4)}, 1)
	must(t, err)
	_, err = New(Options{Spaces: plain, Models: m, Motions: &agenttest.Motion{Width: 3}, Dict: small(nil)})
	const want = `amp: the discriminator network keeps a state from row to row, and is shown rows in any order; give its recurrent layers "frames"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}
