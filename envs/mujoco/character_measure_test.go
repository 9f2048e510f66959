package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/motions/metrics"
)

// follows puts a character where a clip of its is for a number of steps from a time on, its root moved by (x, y) m each
// second and its hinges by so many radians, and returns the figures of the episode.
func follows(t *testing.T, c *Character, clip, steps int, start, x, hinges float64) map[string]float64 {
	t.Helper()
	s, task := c.State(0), c.task
	mem := task.memory(s)
	task.refs[clip].at(start, moment{s.QPos, s.QVel})
	mem[memoryClip], mem[memoryTime], mem[memoryX], mem[memoryY] = float64(clip), start, s.QPos[0], s.QPos[1]
	for k := 1; k <= steps; k++ {
		now := start + float64(k)*task.dt
		if task.cfg.Clock {
			mem[memoryTime] = now
		}
		task.refs[clip].at(now, moment{s.QPos, s.QVel})
		s.QPos[0] += x*float64(k)*task.dt - mem[memoryX]
		s.QPos[1] -= mem[memoryY]
		for i := rootPositions; i < len(s.QPos); i++ {
			s.QPos[i] += hinges
		}
		must.Do(t, c.batch.forward(0, 0, 1))
		s.Steps = k
		c.ledger.whole.Follow(s)
	}
	names := c.ledger.wholeNames
	out, figures := make([]float64, len(names)), map[string]float64{}
	c.ledger.whole.EpisodeMetrics(s, false, out)
	for i, name := range names {
		figures[name] = out[i]
	}
	return figures
}

// A character that moves as its clip has no error, and one that does not has the error that was put in.
func TestCharacterMeasure(t *testing.T) {
	walk := must.Get(motions.Builtin("humanoid_walk"))(t)
	const steps = 150
	for _, start := range []float64{0, 0.4} {
		c := characterOf(t, CharacterConfig{Body: HumanoidBody(), Motions: []*motions.Clip{walk}, Task: Track,
			Measure: true})
		got := follows(t, c, 0, steps, start, 0, 0)
		must.Not(t, !(got["pose_error"] < 0.002) || got["success"] != 1 || !(got["root_velocity_error"] < 1e-6) ||
			!(got["phase_error"] < 0.005), "from %g s: the clip itself has the figures %v", start, got)
		must.Not(t, len(got) != 6 || got["survived"] != 1 || !(got["foot_sliding"] < 0.3), "figures %v", got)
		s := c.State(0)
		s.Steps = 1
		must.Is(t, testing.AllocsPerRun(20, func() { c.ledger.whole.Follow(s) }), 0, "allocations of a later episode")
		got = follows(t, c, 0, steps, start, 0.25, 0)
		if d := got["root_velocity_error"]; math.Abs(d-0.25) > 1e-6 || !(got["pose_error"] < 0.002) ||
			got["success"] != 0 {
			t.Errorf("a character that is 0.25 m/s too fast for five seconds has the figures %v", got)
		}
		got = follows(t, c, 0, steps, start, 0, 0.2)
		var rows [][]float64
		for k := range steps {
			row := make([]float64, walk.Width())
			walk.At(start+float64(k+1)*c.task.dt, row, nil)
			for i := rootPositions; i < len(row); i++ {
				row[i] += 0.2
			}
			rows = append(rows, row)
		}
		bent := must.Get(metrics.NewTrack(walk.Skeleton(), rows))(t)
		reference := must.Get(metrics.ClipTrack(walk, start+c.task.dt, c.task.dt, steps))(t)
		want := must.Get(metrics.PoseError(reference, bent, true))(t)
		if d := got["pose_error"]; math.Abs(d-want) > 0.003 || want < 0.02 {
			t.Errorf("hinges bent by 0.2 rad have a pose error of %g m, by the skeleton %g", d, want)
		}
	}
}

// Of several clips the nearest one counts, wherever the episode began.
func TestCharacterMeasureClips(t *testing.T) {
	c := must.Open(NewQuadruped(CharacterConfig{Measure: true, Task: Command}))(t)
	got := follows(t, c, 2, 150, 0.1, 0, 0)
	must.Not(t, !(got["pose_error"] < 0.002) || !(got["phase_error"] < 0.01) || got["coverage"] < 1.0/3-1e-9,
		"the third clip has the figures %v", got)
}

// Figures of whole episodes are there where Step ends one, and not for one that was restored in its middle.
func TestCharacterMeasureEpisodes(t *testing.T) {
	c := begun(t, CharacterConfig{Body: QuadrupedBody(), NumEnvs: 3, Task: Track, Residual: true,
		EpisodeLength: 20, Deviation: 9,
		Measure: true, Workers: 2})
	rng := rand.New(rand.NewPCG(1, 2))
	actions := make([]float32, 3*c.Spaces().Action.Width())
	ended := func() (with, without int) {
		for range 20 {
			noise(actions, 0.1, rng)
			for _, e := range envtest.Step(t, c, actions).Episodes {
				if _, has := e.Metrics["pose_error"]; has {
					with++
				} else {
					without++
				}
			}
		}
		return with, without
	}
	envtest.Step(t, c, actions)
	state := envtest.State(t, c)
	with, without := ended()
	must.Not(t, with < 3 || without != 0, "%d episodes with a pose error, %d without", with, without)
	must.Do(t, c.RestoreState(state))
	_, without = ended()
	must.Is(t, without, 3, "restored episodes without a pose error")
}
