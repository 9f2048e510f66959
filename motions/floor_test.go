package motions

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// OnFloor leaves no foot under the floor, keeps a jump's height, and takes out a drift.
func TestOnFloor(t *testing.T) {
	s := chain()
	clip := func(loop Loop, height func(at float64) float64) *Clip {
		cfg := ClipConfig{Name: "hops", Loop: loop, Skeleton: s}
		for k := range 90 {
			row := []float64{0, 0, 0.72 + height(float64(k)/30), 1, 0, 0, 0, 1, 0, 0, 0, 0, 0} // the sole is 0.72 below
			cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1./30)
		}
		return must.Get(NewClip(cfg))(t)
	}
	jump := func(at float64) float64 { // 0.6 s of flight from 1.2 s on
		if x := at - 1.5; math.Abs(x) < 0.3 {
			return 4.9 * (0.09 - x*x)
		}
		return 0
	}
	for name, f := range map[string]func(float64) float64{
		"in the floor": func(at float64) float64 { return jump(at) - 0.1 },
		"rising":       func(at float64) float64 { return jump(at) - 0.1 + 0.04*at },
	} {
		for _, loop := range []Loop{LoopNone, LoopWrap} {
			if name == "rising" && loop == LoopWrap {
				continue
			}
			c := must.Get(clip(loop, f).OnFloor())(t)
			heights, _ := bodyHeights(c)
			for k, h := range heights {
				want := jump(float64(k) / 30)
				if h < -1e-9 || math.Abs(h-want) > 0.012 {
					t.Errorf("%s, %v: frame %d is %.4f m high, want %.4f", name, loop, k, h, want)
				}
			}
		}
	}
	// Two seconds upside down are no reason to sink: the head stands then.
	cfg := ClipConfig{Name: "headstand", Skeleton: HumanoidSkeleton()}
	for k := range 120 {
		row := make([]float64, 35)
		row[2], row[3] = 0.85, 1
		if k >= 30 && k < 90 {
			row[2], row[3], row[4] = 0.5, 0, 1 // the shoulders are 0.48 from the pelvis, farther than the head's origin
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1./30)
	}
	c := must.Get(NewClip(cfg))(t)
	c = must.Get(c.OnFloor())(t)
	if stands, upside := c.Frame(5)[2], c.Frame(60)[2]; math.Abs(stands-0.8814) > 0.01 ||
		math.Abs(upside-0.5297) > 0.01 {
		t.Errorf("it stands %.3f m high, and on its head %.3f", stands, upside)
	}
	refused(spin(t, LoopNone).OnFloor())(t, "motions: spin: ", "no feet")
}
