package amp

import (
	"runtime"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// In two frames of three features, of which the second is masked, the discriminator's verdict, its reward and its
// gradient penalty do not depend on that feature of either frame, and depend on all others.
func TestMaskedFeatures(t *testing.T) {
	agenttest.CheckLive(t)
	sp := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.Unbounded(2), AMPObservation: spaces.Unbounded(6)}
	a := newAgent(t, sp, 1, map[string]any{"amp_observation_frames": 2, "discriminator_masked_features": "1",
		"amp_observation_preprocessor": nil})
	s := withGrad(t, a.learner.Device)
	rows := tensortest.Float32s(t, s, s.Randn(a.learner.Gen, 4, 6))
	judge := func(rows []float32) (logits []float32, penalty float32) {
		x := tensor.From(s, rows, 4, 6)
		_, p := a.learner.gradientPenalty(s, x, x)
		return tensortest.Float32s(t, s, a.learner.logits(s, x)), tensortest.Float32s(t, s, p)[0]
	}
	logits, penalty := judge(rows)
	for j := range 6 {
		moved := slices.Clone(rows)
		for i := range 4 {
			moved[6*i+j] += 0.5
		}
		l, p := judge(moved)
		if same := slices.Equal(l, logits) && p == penalty; same != (j == 1 || j == 4) {
			t.Errorf("another value of feature %d changes nothing: %v", j, same)
		}
	}
	// The penalty is that of the features that are seen: of the rows, times the masks, of a network of these alone.
	x := tensor.From(s, rows, 4, 6)
	masked := s.Mul(x, tensor.From(s, []float32{1, 0, 1, 1, 0, 1}))
	at := s.RequireGrad(s.Detach(masked))
	slopes := tensortest.Float32s(t, s,
		s.Grad(s.Sum(a.learner.discriminator.Forward(s, models.Inputs{Observations: at})), false, at)[0])
	want := 0.0
	for i, g := range slopes {
		if j := i % 6; j != 1 && j != 4 {
			want += float64(g) * float64(g) / 4
		}
	}
	near(t, "penalty", float64(penalty), want, 1e-5)
}

// A graph with operations of the engine and of libtorch adds gradients up in one order, however many nodes either made
// before: equal agents stay equal, bit for bit.
func TestMaskedUpdatesRepeat(t *testing.T) {
	runtime.LockOSThread() // libtorch counts nodes by thread
	defer runtime.UnlockOSThread()
	updated := func(settings map[string]any) *checkpoint.Snapshot {
		a := newAgent(t, plain, 2, settings)
		defer a.Close()
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 4)...), 2)
		return agenttest.Snapshot(t, a)
	}
	masked := map[string]any{"discriminator_masked_features": "1"}
	want := updated(masked)
	for name, others := range map[string]func(){
		"the engine's": func() {
			for range 20 {
				updated(nil)
			}
		},
		"libtorch's": func() {
			s := tensor.NewScope()
			defer s.Close()
			for range 20_000 {
				x := s.RequireGrad(s.Ones(2))
				s.Grad(s.Sum(s.Softplus(x)), true, x)
				s.Reset()
			}
		},
	} {
		others()
		if d := agenttest.Differences(want, updated(masked)); len(d) > 0 {
			t.Errorf("after nodes of %s, %q differ", name, d)
		}
	}
}
