package motions

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestCut(t *testing.T) {
	c := stroll(t, 31) // 1 s
	cut := must.Get(c.Cut(0.3, 0.7))(t)
	must.Not(t, cut.NumFrames() != 13 || math.Abs(cut.Duration()-0.4) > 1e-9 || cut.Loop() != LoopNone,
		"%d frames, %g s", cut.NumFrames(), cut.Duration())
	near(t, "first", cut.Frame(0), c.Frame(9)...)
	near(t, "last", cut.Frame(12), c.Frame(21)...)
	must.Refused(c.Cut(0.31, 0.32))(t, "motions: stroll: ", "fewer than two of its frames")
}

// A cycle that is cut out of many, and closed, is the cycle.
func TestBestLoop(t *testing.T) {
	trot := must.Get(Trot(1))(t) // 0.4 s
	cfg := ClipConfig{Name: "long", Skeleton: trot.Skeleton()}
	for k := range 150 {
		row, _ := sampleAt(trot, float64(k)/60)
		row[0] += 5
		row[2] += 1e-4 * float64(k) // drifts up a little
		for i := 7; i < len(row); i++ {
			row[i] += 0.2 * math.Exp(-float64(k)/8) // comes to its pace only after a while
		}
		cfg.Frames, cfg.Durations = append(cfg.Frames, row), append(cfg.Durations, 1./60)
	}
	c := must.Get(NewClip(cfg))(t)
	loop, gap, err := c.BestLoop(0.3, 0.6)
	must.Do(t, err)
	must.Not(t, math.Abs(loop.Duration()-trot.Duration()) > 1e-9 || gap > 0.002 || loop.Loop() != LoopWrap,
		"%g s, gap %g; the trot has %g s", loop.Duration(), gap, trot.Duration())
	first, last := loop.Frame(0), loop.Frame(loop.NumFrames()-1)
	near(t, "the last frame is the first", last[1:], first[1:]...)
	must.Near(t, loop.LoopTravel()[0], 0.4, 1e-9, "travel")
	_, _, err = c.BestLoop(5, 6)
	must.Refuse(t, err, "motions: long: ", "no part between 5 and 6 s")
}

func TestClosed(t *testing.T) {
	c := spin(t, LoopNone) // turns by 1.5 rad about an oblique axis
	must.Refused(c.Closed())(t, "motions: spin: ", "turned by 86°")
	s := stroll(t, 31)
	closed := must.Get(s.Closed())(t)
	near(t, "closed", closed.Frame(30)[2:], closed.Frame(0)[2:]...)
	for k := range 31 { // the middle stays, and nothing moves by more than half of the gap
		for i, x := range closed.Frame(k) {
			d, gap := math.Abs(x-s.Frame(k)[i]), math.Abs(s.Frame(30)[i]-s.Frame(0)[i])
			must.Not(t, i >= 7 && d > gap*math.Abs(float64(k)/30-0.5)+1e-9, "frame %d, value %d moved by %g of %g", k,
				i, d, gap)
		}
	}
}

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
	for _, x := range []struct {
		loop   Loop
		rising float64
	}{{LoopNone, 0}, {LoopWrap, 0}, {LoopNone, 0.04}} {
		sunk := clip(x.loop, func(at float64) float64 { return jump(at) - 0.1 + x.rising*at })
		heights, _ := bodyHeights(must.Get(sunk.OnFloor())(t))
		for k, h := range heights {
			want := jump(float64(k) / 30)
			must.Not(t, h < -1e-9 || math.Abs(h-want) > 0.012, "%+v: frame %d is %.4f m high, want %.4f", x, k, h, want)
		}
	}
	must.Refused(spin(t, LoopNone).OnFloor())(t, "motions: spin: ", "no feet")
}
