package mujoco

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

// marching is a clip for a body: it moves forward at 0.5 m/s, and every hinge swings by 0.1 rad about a standing pose.
func marching(t testing.TB, b CharacterBody) *motions.Clip {
	t.Helper()
	m := must.Get(ParseModel(b.XML))(t)
	defer m.Close() // some tests count models
	d := &motions.Description{Columns: []motions.Column{{Name: "root_x", Kind: motions.Travel},
		{Name: "root_y", Kind: motions.Travel}, {Name: "root_z", Kind: motions.Linear},
		{Name: "root", Kind: motions.Rotation}}}
	height := 0.89
	if b.Name == "quadruped" {
		height = 0.29
	}
	var stand []float64
	for _, name := range m.Names(Joint)[1:] {
		d.Columns = append(d.Columns, motions.Column{Name: name, Kind: motions.Hinge})
		stand = append(stand, map[string]float64{"_thigh": 0.8,
			"_calf": -1.6}[name[max(0, strings.LastIndex(name, "_")):]])
	}
	const n = 30
	cfg := motions.ClipConfig{Name: "marching", Loop: motions.LoopWrap, Description: d}
	for k := range n {
		yaw := 0.1 * math.Sin(2*math.Pi*float64(k)/n)
		frame := []float64{0.5 * float64(k) / n, 0, height, math.Cos(yaw / 2), 0, 0, math.Sin(yaw / 2)}
		for i, q := range stand {
			frame = append(frame, q+0.1*math.Sin(2*math.Pi*float64(k)/n+float64(i)))
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, frame), append(cfg.Durations, 1.0/n)
	}
	return must.Get(motions.NewClip(cfg))(t)
}

var bodies = map[string]func() CharacterBody{"humanoid": HumanoidBody, "quadruped": QuadrupedBody}

func characterOf(t testing.TB, cfg CharacterConfig) *Character {
	t.Helper()
	if cfg.Motions == nil {
		cfg.Motions = []*motions.Clip{marching(t, cfg.Body)}
	}
	return must.Open(NewCharacter(cfg))(t)
}

// begun is a character after a Reset with the seed 1.
func begun(t testing.TB, cfg CharacterConfig) *Character {
	t.Helper()
	e := characterOf(t, cfg)
	envtest.Reset(t, e, 1)
	return e
}

// TestCharacterReset: episodes begin in the clip, and the AMP history is the clip's.
func TestCharacterReset(t *testing.T) {
	characterReset(t, false, characterLift)
	characterReset(t, true, 0)
}

func characterReset(t *testing.T, hide bool, lift float64) {
	const n = 50
	e := characterOf(t, CharacterConfig{Body: HumanoidBody(), NumEnvs: n, History: 3, HideRoot: hide})
	s := envtest.Reset(t, e, 5)
	task := e.task
	width, r := task.style(), &task.refs[0]
	var first []float32
	for i := range n {
		first = append(first, s.Observations[(i+1)*task.features()-width:(i+1)*task.features()]...)
	}
	rows := map[int]bool{}
	for i := range n {
		o := first[i*width : (i+1)*width]
		found := -1
		for row := range r.rows {
			f := r.features[row*r.width+2*width : (row+1)*r.width]
			if math.Abs(float64(o[0]-f[0])-lift) < 1e-5 && farthest32(o[1:], f[1:]) < 1e-5 {
				found = row
			}
		}
		must.Not(t, found < 0, "character %d does not begin in the clip", i)
		rows[found] = true
	}
	must.Not(t, len(rows) < 30, "%d characters began in %d places", n, len(rows))
	s = envtest.Step(t, e, make([]float32, n*28))
	for i := range n {
		amp := s.AMPObservations[3*width*i : 3*width*(i+1)]
		must.Same(t, amp[width:2*width], first[i*width:(i+1)*width], "character %d: the middle of the AMP history", i)
		d := farthest32(amp[:width], amp[width:2*width])
		must.Not(t, d > 0.5 || d == 0, "character %d: the moment before the first one is %g away", i, d)
	}
}

// noise fills actions with normally distributed numbers.
func noise(actions []float32, scale float32, rng *rand.Rand) {
	for i := range actions {
		actions[i] = scale * float32(rng.NormFloat64())
	}
}

func farthest32(a, b []float32) float64 {
	d := 0.0
	for i := range a {
		d = max(d, math.Abs(float64(a[i]-b[i])))
	}
	return d
}

// TestReferenceVelocities: the velocities that the simulation is given move it as the clip moves.
func TestReferenceVelocities(t *testing.T) {
	for name, body := range bodies {
		e := characterOf(t, CharacterConfig{Body: body()})
		r, m := &e.task.refs[0], e.Model()
		state := func(at float64) moment {
			s := moment{make([]float64, m.NQ()), make([]float64, m.NV())}
			r.at(at, s)
			return s
		}
		const h = 1e-4
		a, b := state(0.1-h), state(0.1+h)
		got := state(0.1).qvel
		// Between frames a clip's velocities are interpolated differences: equal to about a tenth of the largest.
		for i := range 3 {
			must.Near(t, (b.qpos[i]-a.qpos[i])/(2*h), got[i], 0.02, "%s: velocity %d", name, i)
		}
		must.Near(t, math.Remainder(heading(b.qpos)-heading(a.qpos), 2*math.Pi)/(2*h), got[5], 0.03, "%s: turn", name)
		for i := rootVelocities; i < m.NV(); i++ {
			must.Near(t, (b.qpos[i+1]-a.qpos[i+1])/(2*h), got[i], 0.03, "%s: hinge %d moves", name, i)
		}
	}
}

// TestHeadingFrame: turning and moving a character over the ground changes no feature.
func TestHeadingFrame(t *testing.T) {
	e := characterOf(t, CharacterConfig{Body: HumanoidBody()})
	pose := must.Open(NewBatch(e.Model(), 1, 1))(t)
	rng := rand.New(rand.NewPCG(1, 1))
	features := func(q, v []float64) []float32 {
		copy(pose.QPos(0), q)
		copy(pose.QVel(0), v)
		must.Do(t, pose.forward(0, 0, 1))
		out := make([]float32, e.task.features())
		e.task.writeFeatures(q, v, floats(pose.data[0].xpos, 3*e.Model().NumBodies()), out)
		return out
	}
	q, v := make([]float64, 35), make([]float64, 34)
	for i := range v {
		q[1+i], v[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	root := rotation.Exp(q[4:7])
	copy(q[3:], root[:])
	a := features(q, v)
	const angle = 2.1
	sin, cos := math.Sincos(angle)
	q[0], q[1] = 5, -3
	v[0], v[1] = cos*v[0]-sin*v[1], sin*v[0]+cos*v[1]
	turned := rotation.Exp([]float64{0, 0, angle}).Mul(rotation.Of(q[3:]))
	copy(q[3:], turned[:])
	must.Near(t, farthest32(a, features(q, v)), 0, 1e-5, "a feature changes by")
}

// TestFallEndsTheEpisode: characters that thrash about fall, and an episode ends where a body that is no foot touches
// the floor.
func TestFallEndsTheEpisode(t *testing.T) {
	for name, body := range bodies {
		b := body()
		b.MinHeight, b.MaxTilt = -10, math.Pi
		e := begun(t, CharacterConfig{Body: b, NumEnvs: 4, EpisodeLength: 500})
		actions, ended := make([]float32, 4*e.Model().NU()), 0
		rng := rand.New(rand.NewPCG(1, 1))
		for range 200 {
			noise(actions, 5, rng)
			s := envtest.Step(t, e, actions)
			must.Not(t, slices.Contains(s.Truncated, true), "%s: an episode is truncated", name)
			ended += len(s.Episodes)
			for i := range 4 {
				touch := e.State(i).Touch
				for id, bodyName := range e.Model().Names(Body) {
					must.Not(t, id > 0 && touch[id] != 0 && !slices.Contains(b.Feet, bodyName),
						"%s: %s touches the floor, and the episode goes on", name, bodyName)
				}
			}
		}
		must.Not(t, ended == 0, "%s: no character fell", name)
	}
}

// Of a pair of reference rows the second begins with what the first ends with: the walker's one control step later, a
// character's of four steps one to three later.
func TestOverlappingMotions(t *testing.T) {
	w := must.Open(NewWalker(WalkerConfig{NumEnvs: 1}))(t)
	overlaps(t, w, 2, 1e-4)
	for _, body := range bodies {
		overlaps(t, characterOf(t, CharacterConfig{Body: body(), History: 4}), 4, 0.1)
	}
	short := characterOf(t, CharacterConfig{Body: HumanoidBody(), History: 1})
	must.Refused(short.CollectOverlappingMotions(1, rand.New(rand.NewPCG(1, 2))))(t, "History")
}

// overlaps checks pairs of rows of so many moments, which the tables of rows hold up to a tolerance.
func overlaps(t *testing.T, e envs.Env, moments int, tolerance float64) {
	t.Helper()
	source, _ := envs.As[envs.OverlappingMotionSource](e)
	const n = 100
	rows := must.Get(source.CollectOverlappingMotions(n, rand.New(rand.NewPCG(1, 2))))(t)
	m := e.Spaces().AMPObservation.Width()
	seen, width := map[int]int{}, m/moments
	for i := range n {
		first, second := rows[2*m*i:][:m], rows[2*m*i+m:][:m]
		best, at := 1e9, 0
		for later := 1; later < moments; later++ {
			if d := farthest32(first[later*width:], second[:m-later*width]); d < best {
				best, at = d, later
			}
		}
		must.Not(t, best > tolerance, "%T: pair %d overlaps nowhere: %g apart at %d steps later", e, i, best, at)
		seen[at]++
	}
	must.Is(t, len(seen), moments-1, "%T: the second row was this many steps behind the first: %v", e, seen)
}
