package mujoco

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

var hilly = TerrainConfig{Slope: 0.4, Steps: 0.1, Rough: 0.08, Levels: 3, Size: 6}

// TestTerrainField: patches are flat in the middle and at the edge, the first level is flat, and heights grow with the
// level to what is configured.
func TestTerrainField(t *testing.T) {
	f := newTerrain(hilly)
	for level := range 3 {
		for kind, highest := range []float64{0.4, 0.1 * 4, 0.08} { // the ridge is 1 m from the middle's edge
			x, y := f.middle(level, kind)
			top := 0.0
			for i := range 121 {
				for k := range 121 {
					dx, dy := float64(i-60)/20, float64(k-60)/20
					h, r := f.height(x+dx, y+dy), max(math.Abs(dx), math.Abs(dy))
					if top = max(top, h); h < 0 || (r <= 1 || r == 3) && math.Abs(h) > 1e-6 {
						t.Fatalf("level %d, kind %d: %g m at %g %g from the middle", level, kind, h, dx, dy)
					}
				}
			}
			must.Near(t, top, highest*float64(level)/2, 0.03*highest, "level %d, kind %d: up", level, kind)
		}
	}
	must.Is(t, f.height(100, 0), -terrainSunk, "beside the field the ground")
}

// TestTerrainContacts lets bodies fall on the field: they rest where it says that the ground is.
func TestTerrainContacts(t *testing.T) {
	b := QuadrupedBody()
	b.Feet, b.MinHeight, b.MaxTilt = nil, -1, math.Pi
	e := begun(t, CharacterConfig{Body: b, NumEnvs: 12, Randomize: RandomizeConfig{Terrain: hilly}})
	f := e.random.terrain
	for i := range 12 {
		x, y := f.middle(2, i%3)
		sin, cos := math.Sincos(float64(i))
		q := e.batch.QPos(i)
		q[0], q[1] = x+2*cos, y+2*sin
		q[2] += f.height(q[0], q[1]) + 0.15 // feet that begin in the ground stay there
		must.Do(t, e.batch.Reset(i))
	}
	must.Do(t, e.batch.Step(150))
	number := 0
	for i := range 12 {
		h := e.task.above(e.State(i))
		must.Not(t, h < 0 || h > 1.2, "the root rests %g m above the ground", h)
		for _, c := range contacts(e.batch.data[i]) {
			number++
			x, y, z := float64(c.pos[0]), float64(c.pos[1]), float64(c.pos[2])
			// The ground nearby: a step is steep, and cells of the field are triangles.
			low, high := math.Inf(1), math.Inf(-1)
			for k := range 9 {
				h := f.height(x+0.06*float64(k%3-1), y+0.06*float64(k/3-1))
				low, high = min(low, h), max(high, h)
			}
			must.Not(t, z < low-0.03 || z > high+0.03, "a contact at %g; the ground is from %g to %g", z, low, high)
		}
	}
	must.Not(t, number < 24, "12 bodies have %d contacts", number)
}

// TestTerrainEpisodes: an episode begins in the middle of a patch, and heights are relative to the ground.
func TestTerrainEpisodes(t *testing.T) {
	const n = 90
	e := characterOf(t, CharacterConfig{Body: QuadrupedBody(), NumEnvs: n, Randomize: RandomizeConfig{Terrain: hilly}})
	step := envtest.Reset(t, e, 1)
	count := map[[2]float64]int{}
	for i := range n {
		q := e.State(i).QPos
		count[[2]float64{math.Round(q[0]*1e6) / 1e6, math.Round(q[1]*1e6) / 1e6}]++
		if x, y := e.random.patch(i); math.Abs(q[0]-x) > 1e-9 || math.Abs(q[1]-y) > 1e-9 {
			t.Errorf("environment %d begins at %g, its patch is at %g %g", i, q[:2], x, y)
		}
	}
	must.Is(t, len(count), 9, "patches on which episodes begin")
	// Standing on the ridge of the slope, the dog is as high as on the floor, and has not fallen.
	x, y := e.random.terrain.middle(2, 0)
	q := e.batch.QPos(0)
	h := q[2]
	q[0], q[1], q[2] = x+2, y, h+e.random.terrain.height(x+2, y)
	must.Do(t, e.batch.Reset(0))
	e.observe(e.State(0), e.spec.row(0, e.observation, e.state, nil))
	if got := float64(step.Observations[0]); math.Abs(got-h) > 1e-6 || q[2]-h < 0.35 {
		t.Errorf("on a ridge of %g m the observed height is %g, want %g", q[2]-h, got, h)
	}
	must.Get(e.Render(0))(t)
	q[2] -= 0.2
	must.Do(t, e.batch.Reset(0))
	_, fallen := e.task.Reward(e.State(0))
	must.Not(t, !fallen || q[2] < 0.3, "at %g m, below the ground, the dog has not fallen", q[2])
	step = envtest.Step(t, e, make([]float32, 12*n))
	must.Near(t, step.Metrics["quadruped/terrain_level"], 1, 0.5, "the mean level")
}

// TestTerrainCurriculum: levels follow success, and go with the curriculum's state.
func TestTerrainCurriculum(t *testing.T) {
	cfg := CharacterConfig{Body: QuadrupedBody(), Task: Command, NumEnvs: 4, EpisodeLength: 60,
		Command: CommandConfig{MinSpeed: 1, MaxSpeed: 1}, Randomize: RandomizeConfig{Terrain: hilly}}
	cfg.Randomize.Terrain.Curriculum = true
	e := characterOf(t, cfg)
	envtest.Reset(t, e, 1)
	r := e.random
	must.Near(t, e.task.commandedDistance(e.State(0)), 2, 1e-9, "2 s at 1 m/s")
	// go ends an episode of every environment that has come so far.
	walk := func(far ...float64) []int {
		for i, d := range far {
			x, y := r.patch(i)
			e.State(i).QPos[0], e.State(i).QPos[1] = x, y-d
			e.ledger.ended[i].ended = true
			r.finish(e.State(i), e.rng[i])
		}
		return r.levels()
	}
	must.Same(t, walk(4, 2, 0, 4), []int{1, 0, 0, 1}, "the levels")
	must.Same(t, walk(4, 4, 2, 0), []int{2, 1, 0, 0}, "the levels")
	state := must.Get(e.CurriculumState())(t)
	cfg.NumEnvs = 8
	other := characterOf(t, cfg)
	must.Do(t, other.SetCurriculumState(state))
	envtest.Reset(t, other, 1)
	must.Same(t, other.random.levels(), []int{2, 2, 1, 1, 0, 0, 0, 0}, "eight environments have the levels")
	must.Refuse(t, other.SetCurriculumState([]byte(`{"steps": 1, "levels": [0, 3]}`)), "")
	// A Reset that abandons episodes, and one that follows ends, leave the levels.
	envtest.Reset(t, other, 2)
	must.Same(t, other.random.levels(), []int{2, 2, 1, 1, 0, 0, 0, 0}, "after a Reset the levels")
	if got := walk(4, 4, 4, 4); got[0] > 2 || got[1] != 2 {
		t.Errorf("above the last level they are %d", got)
	}
}

// TestTerrainConform: with curricula, which go on through a Reset, all but the seed's rule holds.
func TestTerrainConform(t *testing.T) {
	clip := marching(t, QuadrupedBody())
	envtest.ConformLearning(t, func(seed int64, workers int) (envs.Env, error) {
		r := RandomizeConfig{Terrain: hilly, Friction: [2]float64{0.5, 1}, Curriculum: 20}
		r.Terrain.Curriculum = true
		return NewCharacter(CharacterConfig{Body: QuadrupedBody(), Motions: []*motions.Clip{clip}, NumEnvs: 5,
			Seed: seed, Workers: workers, EpisodeLength: 20, Randomize: r})
	})
}
