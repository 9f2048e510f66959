package classic

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// CartPolePixels and TMaze hold the contract, with states put back in the middle of episodes.
func TestContractOfPixelsAndMaze(t *testing.T) {
	pixels := DefaultCartPolePixels()
	pixels.NumEnvs, pixels.MaxEpisodeSteps, pixels.Width, pixels.Height = 3, 15, 24, 16
	for name, create := range map[string]func() (envs.Env, error){
		"CartPolePixels": func() (envs.Env, error) { return NewCartPolePixels(pixels) },
		"TMaze":          func() (envs.Env, error) { return NewTMaze(TMazeConfig{Config: Config{NumEnvs: 4, Seed: 1}, Length: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			env, err := create()
			if err != nil {
				t.Fatal(err)
			}
			defer env.Close()
			if err := envs.Check(env, 100, 3); err != nil {
				t.Error(err)
			}
		})
	}
}

// The masked CartPole is CartPole, with position and angle shown alone.
func TestMaskedCartPole(t *testing.T) {
	full, masked := &CartPole{}, &MaskedCartPole{}
	all, some := envs.Row{Observation: make([]float32, 4)}, envs.Row{Observation: make([]float32, 2)}
	if err := full.Reset(rand.New(rand.NewPCG(1, 1)), all); err != nil {
		t.Fatal(err)
	}
	if err := masked.Reset(rand.New(rand.NewPCG(1, 1)), some); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if some.Observation[0] != all.Observation[0] || some.Observation[1] != all.Observation[2] {
			t.Fatalf("step %d: %v of %v", i, some.Observation, all.Observation)
		}
		action := []float32{float32(i % 2)}
		r, end, _, err := full.Step(action, all)
		r2, end2, _, err2 := masked.Step(action, some)
		if r != r2 || end != end2 || err != nil || err2 != nil {
			t.Fatalf("step %d: reward %g, %g, terminated %t, %t, %v, %v", i, r, r2, end, end2, err, err2)
		}
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
	if err := c.Reset(rand.New(rand.NewPCG(1, 1)), out); err != nil {
		t.Fatal(err)
	}
	history := [][2]float64{{c.x, c.theta}}
	for step := range 30 {
		if step > 0 {
			if _, _, _, err := c.Step([]float32{float32(step / 3 % 2)}, out); err != nil {
				t.Fatal(err)
			}
			history = append(history, [2]float64{c.x, c.theta})
		}
		if err := c.Spaces().Observation.Check(out.Observation, 1); err != nil {
			t.Fatal(err)
		}
		for frame := range cfg.Frames {
			was := history[max(0, step-(cfg.Frames-1-frame)*cfg.Interval)]
			scale := float64(cfg.Width) / 4.8
			cart, _ := centre(out.Observation, cfg, frame, cfg.Height-3, cfg.Height)
			if x := cart/scale - 2.4; math.Abs(x-was[0]) > 0.01 {
				t.Fatalf("step %d, frame %d: the cart is seen at %g m, is at %g", step, frame, x, was[0])
			}
			// Between heights of 0.35 and 0.8 m above the axle's 0.1 there is only the pole; its mean there is that at 0.575.
			row := func(metres float64) int {
				return int(math.Round(float64(cfg.Height) - (metres+0.2)*float64(cfg.Height)/1.5))
			}
			top, bottom := row(0.9), row(0.45)
			pole, _ := centre(out.Observation, cfg, frame, top, bottom)
			height := (float64(cfg.Height)-float64(top+bottom)/2)*1.5/float64(cfg.Height) - 0.2 - 0.1
			if lean := (pole/scale - 2.4 - was[0]) / height; math.Abs(lean-math.Tan(was[1])) > 0.01 {
				t.Fatalf("step %d, frame %d: the pole is seen to lean %g, leans %g", step, frame, lean, math.Tan(was[1]))
			}
		}
	}
}

// The picture of the environment shows the frames of the observation, each where it belongs.
func TestCartPolePixelsRender(t *testing.T) {
	cfg := DefaultCartPolePixels()
	c := newCartPolePixels(cfg)
	out := envs.Row{Observation: c.Spaces().Observation.Rows(1)}
	if err := c.Reset(rand.New(rand.NewPCG(1, 1)), out); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, _, _, err := c.Step([]float32{1}, out); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := c.Render()
	if err != nil || picture.Bounds().Dx() != 300 || picture.Bounds().Dy() != 243 {
		t.Fatalf("%v, %v", picture.Bounds(), err)
	}
	white := 0
	for i, v := range out.Observation {
		frame, x, y := i%cfg.Frames, i/cfg.Frames%cfg.Width, i/cfg.Frames/cfg.Width
		r, _, _, _ := picture.At(3+99*frame+x, 200+y).RGBA()
		if got := float32(r >> 8); math.Abs(float64(got-v)) > 1 {
			t.Fatalf("frame %d, column %d, row %d is %g in the picture, %g in the observation", frame, x, y, got, v)
		}
		if v == 255 {
			white++
		}
	}
	if white < 60 {
		t.Errorf("only %d pixels are white", white)
	}
}

// A state put back gives the same pictures, earlier frames included, and a broken one changes nothing.
func TestCartPolePixelsState(t *testing.T) {
	cfg := DefaultCartPolePixels()
	a, b := newCartPolePixels(cfg), newCartPolePixels(cfg)
	out, out2 := envs.Row{Observation: a.Spaces().Observation.Rows(1)}, envs.Row{Observation: a.Spaces().Observation.Rows(1)}
	if err := a.Reset(rand.New(rand.NewPCG(1, 1)), out); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if _, _, _, err := a.Step([]float32{1}, out); err != nil {
			t.Fatal(err)
		}
	}
	state, err := a.MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.RestoreState(state[:len(state)-8]); err == nil || !strings.HasPrefix(err.Error(), "classic: not a valid gorl ") {
		t.Errorf("a short state: %v", err)
	}
	other := cfg
	other.Frames = 2
	if err := newCartPolePixels(other).RestoreState(state); err == nil {
		t.Error("a state of three frames is that of two")
	}
	if err := b.RestoreState(state); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if _, _, _, err := a.Step([]float32{float32(i % 2)}, out); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := b.Step([]float32{float32(i % 2)}, out2); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out.Observation, out2.Observation) {
			t.Fatalf("step %d after restoring looks different", i)
		}
	}
	if _, _, _, err := a.Step([]float32{2}, out); err == nil || !slices.Equal(out.Observation, out2.Observation) {
		t.Errorf("a refused action changed the picture, or is not refused: %v", err)
	}
	var img image.Image
	if img, err = a.Render(); err != nil || img.Bounds().Dx() != 300 {
		t.Errorf("%v, %v", img, err)
	}
}

func TestPixelsAndMazeRefuse(t *testing.T) {
	for want, change := range map[string]func(*CartPolePixelsConfig){
		"Width is 8":     func(c *CartPolePixelsConfig) { c.Width = 8 },
		"Height is 1000": func(c *CartPolePixelsConfig) { c.Height = 1000 },
		"Frames is 0":    func(c *CartPolePixelsConfig) { c.Frames = 0 },
		"Interval is 0":  func(c *CartPolePixelsConfig) { c.Interval = 0 },
		"number of":      func(c *CartPolePixelsConfig) { c.NumEnvs = -1 },
	} {
		cfg := DefaultCartPolePixels()
		change(&cfg)
		if _, err := NewCartPolePixels(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := NewTMaze(TMazeConfig{Length: -1}); err == nil || !strings.Contains(err.Error(), "Length is -1") {
		t.Error(err)
	}
}

// The maze is Bakker's: what is seen, what is paid, and where it ends.
func TestTMaze(t *testing.T) {
	const length = 3
	signs := map[bool]int{}
	for seed := range uint64(40) {
		m := &TMaze{length: length}
		out := envs.Row{Observation: make([]float32, 3)}
		if err := m.Reset(rand.New(rand.NewPCG(seed, 1)), out); err != nil {
			t.Fatal(err)
		}
		start := slices.Clone(out.Observation)
		north := slices.Equal(start, []float32{0, 1, 1})
		if !north && !slices.Equal(start, []float32{1, 1, 0}) {
			t.Fatalf("the start looks like %v", start)
		}
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
			{3, -0.1, start, false}, {0, -0.1, start, false}, {1, 0, corridor, false}, {2, -0.1, corridor, false}, {3, 0, start, false},
			{1, 0, corridor, false}, {1, 0, corridor, false}, {1, 0, junction, false}, {1, -0.1, junction, false}, {3, 0, corridor, false},
			{1, 0, junction, false}, {turn, pay, junction, true},
		} {
			reward, terminated, truncated, err := m.Step([]float32{s.action}, out)
			if err != nil || reward != s.reward || terminated != s.end || truncated || !slices.Equal(out.Observation, s.see) {
				t.Fatalf("step %d: reward %g, terminated %t, sees %v, %v; want %+v", i, reward, terminated, out.Observation, err, s)
			}
			state, err := m.MarshalState()
			if err != nil {
				t.Fatal(err)
			}
			again := &TMaze{length: length}
			if err := again.RestoreState(state); err != nil || again.position != m.position || again.north != m.north || again.success != m.success {
				t.Fatalf("%+v, want %+v, %v", again, m, err)
			}
			if err := (&TMaze{length: 1}).RestoreState(state); m.position > 1 && (err == nil || !strings.HasPrefix(err.Error(), "classic: not a valid gorl ")) {
				t.Fatalf("position %d in a corridor of 1: %v", m.position, err)
			}
		}
		if got := m.EpisodeMetrics()["success"]; got != success {
			t.Errorf("success is %g, want %g", got, success)
		}
		if _, _, _, err := m.Step([]float32{4}, out); err == nil {
			t.Error("there are five directions")
		}
		if img, err := m.Render(); err != nil || img.Bounds().Dy() != 80 {
			t.Errorf("%v, %v", img, err)
		}
	}
	if signs[true] < 8 || signs[false] < 8 {
		t.Errorf("signs %v", signs)
	}
	env, err := NewTMaze(TMazeConfig{Length: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(1); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 30; i++ {
		s, err := env.Step([]float32{3})
		if err != nil || s.Truncated[0] != (i == 30) {
			t.Fatalf("step %d: truncated %t, %v", i, s.Truncated[0], err)
		}
	}
	if o := env.Spaces().Observation; !o.Equal(spaces.NewBox(0, 1, 3)) {
		t.Errorf("observations %v", o)
	}
}
