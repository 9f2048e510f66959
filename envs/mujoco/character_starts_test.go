package mujoco

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

// began is the clip in which character i began its episode, and the part of it by its time, computed anew.
func began(e *Character, i int) (clip, part int) {
	mem := e.task.memory(&e.states[i])
	clip = int(mem[memoryClip])
	span, history := e.Motions()[clip].Duration(), float64(e.task.cfg.History-1)*e.task.dt
	t := math.Mod(mem[memoryTime]-history+1e-9+span, span)
	bins := max(8, int(math.Ceil(span)))
	return clip, int(t / span * float64(bins))
}

// Episodes begin where others have terminated, in proportion, as often as FailureStarts says.
func TestFailureStarts(t *testing.T) {
	march := marching(t, HumanoidBody()) // wraps after a second
	clips := []*motions.Clip{march, march}
	for _, share := range []float64{0, 0.25, 1} {
		const rows, resets, n = 400, 10, 4000
		e := characterOf(t, CharacterConfig{Body: HumanoidBody(), NumEnvs: rows, Motions: clips, FailureStarts: share})
		if share > 0 {
			e.task.starts.counts[3], e.task.starts.counts[8+6] = 3, 1
		}
		var got [2][8]float64
		for range resets {
			envtest.Reset(t, e, -1)
			for i := range rows {
				clip, part := began(e, i)
				got[clip][part]++
			}
		}
		for clip := range got {
			for part, count := range got[clip] {
				p := (1-share)/16 + share*map[[2]int]float64{{0, 3}: 0.75, {1, 6}: 0.25}[[2]int{clip, part}]
				if sigma := math.Sqrt(n * p * (1 - p)); math.Abs(count-n*p) > 5*sigma {
					t.Errorf("share %g: %g in part %d of clip %d, want %g ± %g", share, count, part, clip, n*p, sigma)
				}
			}
		}
	}
}

// Terminations are counted where the clip was, shrink, and are forgotten by a seeded Reset.
func TestFailureCounts(t *testing.T) {
	e := characterOf(t, CharacterConfig{Body: HumanoidBody(), NumEnvs: 20, Task: Track, EpisodeLength: 25,
		FailureStarts: 0.5})
	counts := func() []float64 { return e.task.starts.counts }
	envtest.Reset(t, e, 7)
	want, ended := make([]float64, 8), 0
	rng := rand.New(rand.NewPCG(1, 1))
	actions, where := make([]float32, 20*28), make([]int, 20)
	for range 60 {
		noise(actions, 1, rng)
		for i := range where { // the clip after the step
			mem := e.task.memory(&e.states[i])
			where[i] = int(8 * math.Mod(mem[memoryTime]+1e-6, 1))
		}
		s := envtest.Step(t, e, actions)
		for b := range want {
			want[b] *= failureDecay
		}
		for i, terminated := range s.Terminated {
			if terminated {
				want[where[i]]++
				ended++
			}
		}
		must.Not(t, apart(want, counts(), math.Inf(1)) > 1e-9, "the counts are %v, want %v", counts(), want)
	}
	must.Not(t, ended < 10, "only %d episodes terminated", ended)
	before := slices.Clone(counts())
	envtest.Reset(t, e, -1)
	must.Same(t, counts(), before, "a Reset without a seed changes the counts")
	envtest.Reset(t, e, 7)
	must.Is(t, slices.Max(counts()), 0, "after a seeded Reset the counts are %v", counts())
}

// Episodes begin on the floor as often as Share says, at rest, with a history of this pose. They end when the time to
// get up is over, and the return is that of lying.
func TestFloorStarts(t *testing.T) {
	const n = 400
	e := begun(t, CharacterConfig{Body: HumanoidBody(), NumEnvs: n, Measure: true,
		Recovery: RecoveryConfig{Seconds: 0.5, Share: 0.25}})
	lying, low := 0, make([]bool, n)
	for i := range n {
		s := e.State(i)
		if low[i] = s.QPos[2] < 0.6; !low[i] {
			continue
		}
		lying++
		history := s.Memory[:e.task.style()]
		must.Not(t, math.Abs(history[0]-s.QPos[2]) > 1e-6 || s.QVel[2] != 0 || s.QPos[0] != 0,
			"environment %d lies at %g; its history is of a root at %g", i, s.QPos[:3], history[0])
	}
	if want, sigma := 0.25*n, math.Sqrt(n*0.25*0.75); math.Abs(float64(lying)-want) > 5*sigma {
		t.Errorf("%d of %d begin on the floor, want about %g", lying, n, want)
	}
	limit := int(math.Round(0.5/e.StepDuration())) + 1
	for range limit {
		for _, ep := range envtest.Step(t, e, make([]float32, n*28)).Episodes {
			if !low[ep.Env] {
				continue // it may fall later
			}
			must.Not(t, ep.Length != limit || ep.Return <= 0 || ep.Return > 0.5*float64(limit) ||
				ep.Metrics["recovered"] != 0 || ep.Metrics["falls"] != 1, "an episode on the floor ended as %+v", ep)
			low[ep.Env] = false
		}
	}
	must.Not(t, slices.Contains(low, true), "characters still lie after their time")
}

// A character that gets up in time goes on, and its metrics say so.
func TestRecovering(t *testing.T) {
	e := begun(t, CharacterConfig{Body: HumanoidBody(), Recovery: RecoveryConfig{Seconds: 0.1}})
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
