package mujoco

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// With Fade a character that is told of its clip becomes one that is not: as one of the task Imitate it is not rewarded
// for tracking, not ended far from its clip, and its targets move about the middles.
func TestCharacterFade(t *testing.T) {
	cfg := CharacterConfig{Body: HumanoidBody(), NumEnvs: 2, Task: Track, Residual: true, Fade: 8, EpisodeLength: 100}
	e := characterOf(t, cfg)
	plain := cfg
	plain.Fade = 0
	tracking := characterOf(t, plain)
	plain.Task, plain.Residual = Imitate, false
	imitating := characterOf(t, plain)
	curriculum, faded := envs.As[envs.Curriculum](e)
	_, unfaded := envs.As[envs.Curriculum](tracking)
	must.Not(t, !faded || unfaded, "is a curriculum with Fade: %t, without: %t", faded, unfaded)
	width, actions := e.task.features(), make([]float32, 2*28)
	// step begins the same episodes in all three, and takes one step.
	step := func(e *Character) (*envs.Step, []float64) {
		envtest.Reset(t, e, 3)
		s := envtest.Step(t, e, actions)
		return s, slices.Clone(e.State(0).Ctrl)
	}
	track, ofTrack := step(tracking)
	_, ofImitate := step(imitating)
	clip := func(s *envs.Step) []float32 { return s.Observations[width:widthOf(e.task.whole())] }
	for _, steps := range []float64{0, 2, 6, 8, 20} {
		must.Do(t, curriculum.SetCurriculumState(fmt.Appendf(nil, `{"steps":%g}`, steps)))
		told := max(0, 1-steps/8)
		got, ctrl := step(e)
		for i := range ctrl {
			must.Near(t, ctrl[i], told*ofTrack[i]+(1-told)*ofImitate[i], 1e-9, "after %g steps target %d", steps, i)
		}
		for i, v := range clip(got) {
			must.Not(t, steps == 0 && math.Abs(float64(v-clip(track)[i])) > 1e-6 || told == 0 && v != 0,
				"after %g of 8 steps number %d of the clip's part is %g", steps, i, v)
		}
		must.Not(t, told == 0 && (got.Rewards[0] != 1 || got.Terminated[0]), "faded, the reward is %g, terminated %t",
			got.Rewards[0], got.Terminated[0])
	}
	must.Refuse(t, curriculum.SetCurriculumState([]byte(`{"steps":-1}`)), "")
	must.Is(t, string(must.Get(curriculum.CurriculumState())(t)), `{"steps":21}`, "the curriculum")
}

// The targets of a residual character are the clip's pose Lead seconds later.
func TestCharacterLead(t *testing.T) {
	e := begun(t, CharacterConfig{Body: QuadrupedBody(), Residual: true, Lead: 0.1})
	before := e.task.memory(e.State(0))[memoryTime]
	envtest.Step(t, e, make([]float32, 12))
	pose := make([]float64, e.task.nq)
	e.Motions()[0].At(before+e.task.dt+0.1, pose, nil)
	for i, v := range e.State(0).Ctrl {
		must.Near(t, v, pose[rootPositions+i], 1e-9, "target %d", i)
	}
}
