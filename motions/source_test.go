package motions

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
)

var (
	_ envs.MotionSource            = (*Source)(nil)
	_ envs.OverlappingMotionSource = (*Source)(nil)
)

// ramp is a clip whose only value is offset + time.
func ramp(t *testing.T, name string, offset, duration, weight float64, loop Loop) *Clip {
	t.Helper()
	return must.Get(NewClip(ClipConfig{Name: name, Loop: loop, Weight: weight, Durations: []float64{duration, 0},
		Frames:      [][]float64{{offset}, {offset + duration}},
		Description: &Description{Columns: []Column{{"clock", Travel}}}}))(t)
}

// clock shows the time and its speed.
var clock = Features{Width: 2, Write: func(pos, vel []float64, out []float32) {
	out[0], out[1] = float32(pos[0]), float32(vel[0])
}}

func rowsOf(t *testing.T, cfg SourceConfig, n int, clips ...*Clip) []float32 {
	t.Helper()
	s := must.Get(NewSource(cfg, clips...))(t)
	rows, err := s.CollectReferenceMotions(n, rand.New(rand.NewPCG(3, 3)))
	must.Not(t, err != nil || len(rows) != n*s.Width() || s.Width() != cfg.History*cfg.Features.Width, "%v, %v, %v",
		len(rows), s.Width(), err)
	return rows
}

// Clips are drawn by weight, and moments uniformly.
func TestDrawsByWeight(t *testing.T) {
	const n = 40000
	var second, sum float64
	cfg := SourceConfig{History: 1, TimeStep: 0.1, Features: clock}
	rows := rowsOf(t, cfg, n, ramp(t, "a", 0, 1, 1, LoopNone), ramp(t, "b", 10, 2, 3, LoopNone))
	for i := range n {
		if x := float64(rows[2*i]); x >= 10 {
			second++
			sum += (x - 10) / 2
		} else {
			sum += x
		}
	}
	must.Near(t, second/n, 0.75, 0.01, "frequency of the clip of weight 3 of 4")
	must.Near(t, sum/n, 0.5, 0.01, "mean moment")
}

// A row lies inside of a clip, or over the seam of a clip that wraps.
func TestRowsLieInClips(t *testing.T) {
	for _, loop := range []Loop{LoopNone, LoopWrap} {
		const n, history, dt = 2000, 4, 0.1
		rows := rowsOf(t, SourceConfig{History: history, TimeStep: dt, Features: clock}, n, ramp(t, "a", 0, 1, 1, loop))
		low, high := 10.0, -10.0
		for i := range n {
			row := rows[i*history*2 : (i+1)*history*2]
			for h := 1; h < history; h++ { // oldest first, dt apart, over the seam too
				must.Near(t, float64(row[2*h]-row[2*h-2]), dt, 1e-5, "%v: s between moments", loop)
			}
			low, high = min(low, float64(row[0])), max(high, float64(row[2*history-2]))
		}
		wantLow := 0.0
		if loop == LoopWrap {
			wantLow = -0.3
		}
		must.Not(t, math.Abs(low-wantLow) > 0.01 || math.Abs(high-1) > 0.01 || low < wantLow-1e-6 || high > 1+1e-6,
			"%v: rows reach from %v to %v", loop, low, high)
	}
	cfg := SourceConfig{History: 3, TimeStep: 0.1, Features: clock}
	row := rowsOf(t, cfg, 1, ramp(t, "short", 0, 0.1, 1, LoopNone))
	must.Not(t, row[0] != 0 || math.Abs(float64(row[4])-0.1) > 1e-6, "a row longer than its clip: %v", row)
}

// Equal generators give equal rows, from goroutines that share a source, too.
func TestSourceIsDeterministicAndShared(t *testing.T) {
	gait := Gait()
	f := StateFeatures(gait)
	s := must.Get(NewSource(SourceConfig{History: 2, TimeStep: 0.02, Features: f}, gait))(t)
	must.Not(t, f.Width != 8+9 || s.Width() != 34, "widths %d, %d", f.Width, s.Width())
	results := make([][]float32, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i], _ = s.CollectReferenceMotions(100, rand.New(rand.NewPCG(7, 7))) })
	}
	wg.Wait()
	other, _ := s.CollectReferenceMotions(100, rand.New(rand.NewPCG(7, 8)))
	for _, r := range results {
		must.Not(t, len(r) != 3400 || !slices.Equal(r, results[0]) || slices.Equal(r, other),
			"the same generator gave other rows, or another the same")
	}
}

// The second row of a pair begins one or two time steps after the first row of three moments. In a clip that does not
// wrap both rows lie inside.
func TestOverlappingMotions(t *testing.T) {
	const step = 0.1
	for _, loop := range []Loop{LoopNone, LoopWrap} {
		s := must.Get(NewSource(SourceConfig{History: 3, TimeStep: step, Features: clock},
			ramp(t, "ramp", 0, 2, 1, loop)))(t)
		rows := must.Get(s.CollectOverlappingMotions(200, rand.New(rand.NewPCG(1, 2))))(t)
		must.Is(t, len(rows), 200*2*6, "values")
		seen := map[int]int{}
		for i := range 200 {
			first, second := rows[12*i:][:6], rows[12*i+6:][:6]
			later := int(math.Round(float64(second[0]-first[0]) / step))
			seen[later]++
			for h := range 3 {
				must.Near(t, float64(second[2*h]-first[0]), step*float64(h+later), 1e-5, "rows %v, %v", first, second)
			}
			must.Not(t, loop == LoopNone && (first[0] < 0 || second[4] > 2+1e-5), "rows %v and %v leave the clip",
				first, second)
		}
		must.Not(t, len(seen) != 2 || seen[1] < 50 || seen[2] < 50,
			"the second row was this many time steps behind the first: %v", seen)
	}
}

func TestSourceRejects(t *testing.T) {
	a := ramp(t, "a", 0, 1, 1, LoopNone)
	raw := must.Get(NewClip(ClipConfig{Name: "raw", Frames: [][]float64{{1, 2}}, Durations: []float64{1}}))(t)
	good := SourceConfig{History: 1, TimeStep: 1, Features: clock}
	must.Refused(NewSource(good))(t, "motions: ", "at least one clip")
	must.Refused(NewSource(good, a, raw))(t, "motions: ", "1 and 2 values")
	must.Refused(NewSource(SourceConfig{History: 1, TimeStep: math.NaN(), Features: clock}, a))(t, "TimeStep")
	must.Refused(must.Get(NewSource(good, a))(t).CollectReferenceMotions(-1, rand.New(rand.NewPCG(7, 8))))(t, "-1")
	must.Refused(a.WithWeight(math.Inf(1)))(t, "motions: a: ", "weight")
	must.Is(t, must.Get(a.WithWeight(5))(t).Weight(), 5, "weight")
}
