package mujoco

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Episodes begin on the floor as often as Share says, at rest, with a history of this pose. They end when the time to
// get up is over, and the return is that of lying.
func TestFloorStarts(t *testing.T) {
	const n = 400
	e := characterOf(t, CharacterConfig{Body: HumanoidBody(), NumEnvs: n, Measure: true,
		Recovery: RecoveryConfig{Seconds: 0.5, Share: 0.25}})
	envtest.Reset(t, e, 1)
	lying, low := 0, make([]bool, n)
	for i := range n {
		s := e.State(i)
		if low[i] = s.QPos[2] < 0.6; !low[i] {
			continue
		}
		lying++
		history := s.Memory[:e.task.style()]
		if math.Abs(history[0]-s.QPos[2]) > 1e-6 || s.QVel[2] != 0 || s.QPos[0] != 0 {
			t.Fatalf("environment %d lies at %g with the velocity %g; its history is of a root at %g", i, s.QPos[:3],
				s.QVel[:3], history[0])
		}
	}
	if want, sigma := 0.25*n, math.Sqrt(n*0.25*0.75); math.Abs(float64(lying)-want) > 5*sigma {
		t.Errorf("%d of %d begin on the floor, want about %g", lying, n, want)
	}
	limit := int(math.Round(0.5/e.StepDuration())) + 1
	for range limit {
		step := envtest.Step(t, e, make([]float32, n*28))
		for _, ep := range step.Episodes {
			if !low[ep.Env] {
				continue // it may fall later
			}
			if ep.Length != limit || ep.Return <= 0 || ep.Return > 0.5*float64(limit) || ep.Metrics["recovered"] != 0 ||
				ep.Metrics["falls"] != 1 {
				t.Errorf("an episode on the floor ended after %d steps, not %d, with the return %g and %v", ep.Length,
					limit, ep.Return, ep.Metrics)
			}
			low[ep.Env] = false
			lying--
		}
	}
	must.Is(t, lying, 0, "characters still lie after their time")
}

// A character that gets up in time goes on, and its metrics say so.
func TestRecovering(t *testing.T) {
	e := characterOf(t, CharacterConfig{Body: HumanoidBody(), Recovery: RecoveryConfig{Seconds: 0.1}})
	envtest.Reset(t, e, 1)
	s, task := e.State(0), e.task
	// Three steps are 0.1 s. The character falls twice, gets up after two steps, then does not.
	for i, step := range []struct{ fallen, up, over bool }{
		{}, {true, true, false}, {true, true, false}, {}, {}, {true, true, false}, {true, true, false},
		{true, true, false}, {true, true, true},
	} {
		if up, over := task.recovering(s, step.fallen); up != step.up || over != step.over {
			t.Errorf("step %d: up %t, over %t, want %t and %t", i, up, over, step.up, step.over)
		}
	}
	for name, want := range map[string]float64{"falls": 2, "recovered": 0.5, "recovery_time": 2 * task.dt} {
		must.Near(t, task.recovery(s, true, name), want, 1e-9, "%s", name)
	}
	must.Is(t, task.recovery(s, false, "recovered"), 1, "if the time limit interrupts the second fall, recovered")
}
