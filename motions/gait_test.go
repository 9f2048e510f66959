package motions

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// The gait is the one that NumPy computes (FFT, interp and gradient over two cycles); see testdata/README.md.
func TestGaitMatchesReference(t *testing.T) {
	var cases map[string]struct {
		Speed                 float64
		Positions, Velocities [][]float64
	}
	must.Do(t, json.Unmarshal(must.Read(t, "testdata/gait.json"), &cases))
	want, c := cases["default"], Gait()
	must.Is(t, c.NumFrames(), len(want.Positions)/2, "frames")
	must.Near(t, c.frameVelocity(0)[0], want.Speed, 1e-9, "m/s")
	for k := range want.Positions { // beyond the clip's own frames too
		pos, vel := sampleAt(c, (float64(k)+1e-9)*gaitTimeStep)
		for i := range pos {
			must.Not(t, math.Abs(pos[i]-want.Positions[k][i]) > 1e-8 || math.Abs(vel[i]-want.Velocities[k][i]) > 1e-6,
				"frame %d, column %d: %v and %v, want %v and %v", k, i, pos[i], vel[i], want.Positions[k][i],
				want.Velocities[k][i])
		}
	}
}

// humanoidOf returns the gait as a clip of DeepMimic's humanoid that walks at an angle from x.
func humanoidOf(t *testing.T, gait *Clip, heading, pitch float64) *Clip {
	t.Helper()
	hinge := func(angle float64) []float64 { return about(0, 0, 1, angle) }
	var frames [][]float64
	var durations []float64
	for k := range gait.NumFrames() {
		g := gait.Frame(k)
		root := rotation.Of(about(0, 1, 0, heading)).Mul(rotation.Of(hinge(-pitch)))
		f := []float64{3 + g[0]*math.Cos(heading), 0.8 + g[1], -g[0] * math.Sin(heading), root[0], root[1], root[2],
			root[3]}
		f = append(append(f, 1, 0, 0, 0), 1, 0, 0, 0)
		for leg := range 2 {
			f = append(f, hinge(g[3+3*leg]+pitch)...)
			f = append(f, -g[4+3*leg])
			f = append(f, hinge(g[5+3*leg])...)
			f = append(f, 1, 0, 0, 0, 0.3)
		}
		frames, durations = append(frames, f), append(durations, gait.frameDuration(k))
	}
	return must.Get(NewClip(ClipConfig{Name: "human", Loop: LoopWrap, Frames: frames, Durations: durations,
		Description: deepMimicHumanoid()}))(t)
}

// The gait comes back from a humanoid that walks it, whichever way it goes and however it leans.
func TestPlanar(t *testing.T) {
	gait := Gait()
	for _, x := range []struct{ heading, pitch float64 }{{}, {2.5, 0}, {-math.Pi / 2, 0.2}} {
		c := must.Get(Planar(humanoidOf(t, gait, x.heading, x.pitch)))(t)
		must.Not(t, c.Loop() != LoopWrap || c.Name() != "human" || math.Abs(c.Duration()-gait.Duration()) > 1e-9,
			"%v: %v, %s, %g s", x, c.Loop(), c.Name(), c.Duration())
		lift := c.Frame(0)[1] - gait.Frame(0)[1]
		must.Near(t, lift, 0, 0.02, "%v: m that the pelvis is higher", x) // the gait's own feet are smoothed so much
		for k := range c.NumFrames() {
			want := append([]float64(nil), gait.Frame(k)...)
			want[1] += lift
			want[2] = x.pitch
			want[3] += x.pitch
			want[6] += x.pitch
			near(t, "frame", c.Frame(k), want...)
		}
	}
	must.Refused(Planar(gait))(t, "motions: gait: ", "DeepMimic's humanoid")
}

// At any speed, sideways and in turning, feet that stand do not slide and none is under the floor, and a loop begins
// where the last one ended. TestPhases of package metrics has the legs' phases.
func TestTrot(t *testing.T) {
	s := QuadrupedSkeleton()
	stand := s.zero()
	stand[2] = 0.2687
	for i := range 4 {
		stand[8+3*i], stand[9+3*i] = 0.9, -1.8
	}
	cfg := TrotConfig{Stand: stand, Feet: []string{"RL_foot", "FR_foot", "FL_foot", "RR_foot"}}
	for _, v := range [][3]float64{{-0.5}, {}, {2}, {0, 0.4}, {0.5, -0.3}, {0, 0, 1}, {0.6, 0.1, -0.8}} {
		cfg.Forward, cfg.Left, cfg.Turn = v[0], v[1], v[2]
		c := must.Get(s.Trot(cfg))(t)
		r := Check(c)
		must.Not(t, len(r.Faults) > 0 || r.Sliding > 0.1 || math.Abs(r.FeetLowest) > 1e-3, "%g: %+v", v, r)
		// After a second of turning, the root has gone along the arc.
		row, _ := sampleAt(c, 1)
		start, _ := sampleAt(c, 0)
		x, y := v[0], v[1]
		if v[2] != 0 {
			sin, cos := math.Sincos(v[2])
			x, y = (v[0]*sin-v[1]*(1-cos))/v[2], (v[0]*(1-cos)+v[1]*sin)/v[2]
		}
		for i, d := range []float64{row[0] - start[0] - x, row[1] - start[1] - y,
			rotation.Of(row[3:]).Heading() - v[2]} {
			must.Near(t, d, 0, 1e-4, "%g: coordinate %d of the root after a second", v, i) // frames are joined by lines
		}
	}
	must.Refused(Trot(3))(t, "motions: trot: ", "the fastest foot must move at most at 2 m/s")
	cfg.Feet = []string{"FR_foot", "FL_foot", "RR_foot", "RR_calf"}
	must.Refused(s.Trot(cfg))(t, "motions: trot: ", "one quarter")
}
