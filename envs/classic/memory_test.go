package classic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// The masked CartPole is CartPole, with position and angle shown alone.
func TestMaskedCartPole(t *testing.T) {
	full, masked := &CartPole{}, &MaskedCartPole{}
	all, some := rowOf(full), rowOf(masked)
	must.Do(t, full.Reset(rand.New(rand.NewPCG(1, 1)), all))
	must.Do(t, masked.Reset(rand.New(rand.NewPCG(1, 1)), some))
	for i := range 12 {
		must.Not(t, some.Observation[0] != all.Observation[0] || some.Observation[1] != all.Observation[2],
			"step %d: %v of %v", i, some.Observation, all.Observation)
		action := []float32{float32(i % 2)}
		r, end, _, _ := full.Step(action, all)
		r2, end2, _, _ := masked.Step(action, some)
		must.Not(t, r != r2 || end != end2, "step %d: %g, %g, %t, %t", i, r, r2, end, end2)
	}
}

// centre is the mean column of what is drawn in a part of a frame, and its weight.
func centre(row []float32, cfg CartPolePixelsConfig, frame, top, bottom int) (column, weight float64) {
	for y := top; y < bottom; y++ {
		for x := range cfg.Width {
			v := float64(row[(y*cfg.Width+x)*cfg.Frames+frame])
			column += v * (float64(x) + 0.5)
			weight += v
		}
	}
	return column / weight, weight
}

// Pictures show where the cart is and how the pole leans, to a fraction of a pixel, and earlier frames what was before.
func TestCartPolePixels(t *testing.T) {
	cfg := DefaultCartPolePixels()
	c := newCartPolePixels(cfg)
	out := envs.Row{Observation: c.Spaces().Observation.Rows(1)}
	must.Do(t, c.Reset(rand.New(rand.NewPCG(1, 1)), out))
	history := [][2]float64{{c.x, c.theta}}
	for step := range 30 {
		if step > 0 {
			advance(t, c, out, float32(step/3%2))
			history = append(history, [2]float64{c.x, c.theta})
		}
		must.Do(t, c.Spaces().Observation.Check(out.Observation, 1))
		for frame := range cfg.Frames {
			was := history[max(0, step-(cfg.Frames-1-frame)*cfg.Interval)]
			scale := float64(cfg.Width) / 4.8
			cart, _ := centre(out.Observation, cfg, frame, cfg.Height-3, cfg.Height)
			must.Near(t, cart/scale-2.4, was[0], 0.01, "step %d, frame %d: the cart is seen", step, frame)
			// Between heights of 0.35 and 0.8 m above the axle's 0.1 there is only the pole; its mean is that at 0.575.
			row := func(metres float64) int {
				return int(math.Round(float64(cfg.Height) - (metres+0.2)*float64(cfg.Height)/1.5))
			}
			top, bottom := row(0.9), row(0.45)
			pole, _ := centre(out.Observation, cfg, frame, top, bottom)
			height := (float64(cfg.Height)-float64(top+bottom)/2)*1.5/float64(cfg.Height) - 0.2 - 0.1
			must.Near(t, (pole/scale-2.4-was[0])/height, math.Tan(was[1]), 0.01,
				"step %d, frame %d: the pole is seen to lean", step, frame)
		}
	}
}

// The maze is Bakker's: what is seen, what is paid, and where it ends.
func TestTMaze(t *testing.T) {
	const length = 3
	signs := map[bool]int{}
	for seed := range uint64(40) {
		m := &TMaze{length: length}
		out := envs.Row{Observation: make([]float32, 3)}
		must.Do(t, m.Reset(rand.New(rand.NewPCG(seed, 1)), out))
		start := slices.Clone(out.Observation)
		north := slices.Equal(start, []float32{0, 1, 1})
		must.Not(t, !north && !slices.Equal(start, []float32{1, 1, 0}), "the start looks like %v", start)
		signs[north]++
		right, wrong := float32(0), float32(2)
		if !north {
			right, wrong = wrong, right
		}
		corridor, junction := []float32{1, 0, 1}, []float32{0, 1, 0}
		turn, pay, success := right, 4.0, 1.0
		if seed%2 == 1 {
			turn, pay, success = wrong, -0.1, 0
		}
		for i, s := range []struct {
			action float32
			reward float64
			see    []float32
			end    bool
		}{
			{3, -0.1, start, false}, {0, -0.1, start, false}, {1, 0, corridor, false}, {2, -0.1, corridor, false},
			{3, 0, start, false}, {1, 0, corridor, false}, {1, 0, corridor, false}, {1, 0, junction, false},
			{1, -0.1, junction, false}, {3, 0, corridor, false}, {1, 0, junction, false}, {turn, pay, junction, true},
		} {
			reward, terminated := advance(t, m, out, s.action)
			must.Not(t, reward != s.reward || terminated != s.end || !slices.Equal(out.Observation, s.see),
				"step %d: reward %g, terminated %t, sees %v; want %+v", i, reward, terminated, out.Observation, s)
		}
		must.Is(t, m.EpisodeMetrics()["success"], success, "success")
	}
	must.Not(t, signs[true] < 8 || signs[false] < 8, "signs %v", signs)
	env := must.Open(NewTMaze(TMazeConfig{Length: 2}))(t)
	must.Get(env.Reset(1))(t)
	for i := range 30 {
		must.Is(t, must.Get(env.Step([]float32{3}))(t).Truncated[0], i == 29, "step %d: truncated", i)
	}
}
