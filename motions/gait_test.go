package motions

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// The gait is the one that NumPy computes (FFT, interp and gradient over two cycles); see testdata/README.md.
func TestGaitMatchesReference(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/gait.json"))(t)
	var cases map[string]struct {
		Speed                 float64
		Positions, Velocities [][]float64
	}
	must.Do(t, json.Unmarshal(data, &cases))
	want, c := cases["default"], Gait()
	if n := len(want.Positions) / 2; c.NumFrames() != n || math.Abs(c.frameVelocity(0)[0]-want.Speed) > 1e-9 {
		t.Fatalf("%d frames, want %d; %g m/s, want %g", c.NumFrames(), n, c.frameVelocity(0)[0], want.Speed)
	}
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
	about := func(angle float64, axis int) []float64 {
		q := []float64{math.Cos(angle / 2), 0, 0, 0}
		q[1+axis] = math.Sin(angle / 2)
		return q
	}
	var frames [][]float64
	var durations []float64
	for k := range gait.NumFrames() {
		g := gait.Frame(k)
		root := rotation.Of(about(heading, 1)).Mul(rotation.Of(about(-pitch, 2)))
		f := []float64{3 + g[0]*math.Cos(heading), 0.8 + g[1], -g[0] * math.Sin(heading), root[0], root[1], root[2],
			root[3]}
		f = append(append(f, 1, 0, 0, 0), 1, 0, 0, 0)
		for leg := range 2 {
			f = append(f, about(g[3+3*leg]+pitch, 2)...)
			f = append(f, -g[4+3*leg])
			f = append(f, about(g[5+3*leg], 2)...)
			f = append(f, 1, 0, 0, 0, 0.3)
		}
		frames, durations = append(frames, f), append(durations, gait.frameDuration(k))
	}
	c := must.Get(NewClip(ClipConfig{Name: "human", Loop: LoopWrap, Frames: frames, Durations: durations,
		Description: deepMimicHumanoid()}))(t)
	return c
}

// The gait comes back from a humanoid that walks it, whichever way it goes and however it leans.
func TestPlanar(t *testing.T) {
	gait := Gait()
	for _, x := range []struct{ heading, pitch float64 }{
		{}, {heading: 2.5}, {heading: -math.Pi / 2, pitch: 0.2}, {pitch: -0.1},
	} {
		c := must.Get(Planar(humanoidOf(t, gait, x.heading, x.pitch)))(t)
		must.Not(t, c.Loop() != LoopWrap || c.Name() != "human" || math.Abs(c.Duration()-gait.Duration()) > 1e-9,
			"%v: %v, %s, %g s", x, c.Loop(), c.Name(), c.Duration())
		lift := c.Frame(0)[1] - gait.Frame(0)[1]
		if math.Abs(lift) > 0.02 { // the gait's own feet are smoothed to about that
			t.Errorf("%v: the pelvis is %g m higher", x, lift)
		}
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

// At any speed feet that stand do not slide and none is under the floor. TestPhases of package metrics has the legs'
// phases.
func TestTrot(t *testing.T) {
	for _, speed := range []float64{-0.5, 0, 0.3, 0.8, 1.5, 2} {
		c := must.Get(Trot(speed))(t)
		if r := Check(c); len(r.Faults) > 0 || math.Abs(r.FeetLowest) > 1e-3 || r.Sliding > 0.1 {
			t.Errorf("%g m/s: %+v, lowest %g, sliding %g", speed, r.Faults, r.FeetLowest, r.Sliding)
		}
		must.Near(t, c.LoopTravel()[0]/c.Duration(), speed, 1e-9, "m/s")
	}
	for _, speed := range []float64{3, math.NaN()} {
		must.Refused(Trot(speed))(t, "motions: trot: ", "the fastest foot must move at most at 2 m/s")
	}
}

// Sideways and in turning, feet that stand do not slide either, and a loop begins where the last one ended.
func TestTrotAnywhere(t *testing.T) {
	s := QuadrupedSkeleton()
	stand := s.zero()
	stand[2] = 0.27
	for i := range 4 {
		stand[8+3*i], stand[9+3*i] = 0.9, -1.8
	}
	cfg := TrotConfig{Stand: stand, Feet: []string{"RL_foot", "FR_foot", "FL_foot", "RR_foot"}}
	for _, v := range [][3]float64{{0, 0.4, 0}, {0.5, -0.3, 0}, {0, 0, 1}, {0.6, 0.1, -0.8}} {
		cfg.Forward, cfg.Left, cfg.Turn = v[0], v[1], v[2]
		c := must.Get(s.Trot(cfg))(t)
		if r := Check(c); len(r.Faults) > 0 || r.Sliding > 0.1 {
			t.Errorf("%g: %+v, sliding %g", v, r.Faults, r.Sliding)
		}
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
			if math.Abs(d) > 1e-4 { // frames are joined by straight lines
				t.Errorf("%g: after a second, coordinate %d of the root is off by %g", v, i, d)
			}
		}
	}
	cfg.Feet[0] = "RL_calf"
	cfg.Forward = 2.5
	must.Refused(s.Trot(cfg))(t, "motions: trot: ", "2 m/s")
	cfg.Feet = []string{"FR_foot", "FL_foot", "RR_foot", "RR_calf"}
	must.Refused(s.Trot(cfg))(t, "motions: trot: ", "one quarter")
}
