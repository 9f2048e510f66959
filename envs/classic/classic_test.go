package classic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
)

// environments is every environment of the package with what its documentation says.
var environments = []struct {
	name   string
	create func(Config) (envs.Env, error)
	single func() envs.Single
	limit  int
	// low and high bound the first observation of an episode.
	low, high []float32
}{
	{"CartPole", NewCartPole, func() envs.Single { return &CartPole{} }, 500,
		[]float32{-.05, -.05, -.05, -.05}, []float32{.05, .05, .05, .05}},
	{"MaskedCartPole", NewMaskedCartPole, func() envs.Single { return &MaskedCartPole{} }, 500,
		[]float32{-.05, -.05}, []float32{.05, .05}},
	{"Pendulum", NewPendulum, func() envs.Single { return &Pendulum{} }, 200,
		[]float32{-1, -1, -1}, []float32{1, 1, 1}},
	{"Acrobot", NewAcrobot, func() envs.Single { return &Acrobot{} }, 500,
		[]float32{.99, -.1, .99, -.1, -.1, -.1}, []float32{1, .1, 1, .1, .1, .1}},
	{"MountainCar", NewMountainCar, func() envs.Single { return &MountainCar{} }, 999,
		[]float32{-.6, 0}, []float32{-.4, 0}},
}

func TestContract(t *testing.T) {
	for _, e := range environments {
		t.Run(e.name, func(t *testing.T) {
			env, err := e.create(Config{NumEnvs: 5, Seed: 3, MaxEpisodeSteps: 40})
			if err != nil {
				t.Fatal(err)
			}
			defer env.Close()
			if err := envs.Check(env, 200, 11); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestResetRanges(t *testing.T) {
	for _, e := range environments {
		t.Run(e.name, func(t *testing.T) {
			const n = 4000
			env, err := e.create(Config{NumEnvs: n})
			if err != nil {
				t.Fatal(err)
			}
			defer env.Close()
			s, err := env.Reset(5)
			if err != nil {
				t.Fatal(err)
			}
			w := len(e.low)
			for d := range w {
				least, most := float32(math.Inf(1)), float32(math.Inf(-1))
				for i := range n {
					least, most = min(least, s.Observations[i*w+d]), max(most, s.Observations[i*w+d])
				}
				span := e.high[d] - e.low[d]
				if least < e.low[d] || most > e.high[d] {
					t.Errorf("dimension %d begins in [%g, %g], want [%g, %g]", d, least, most, e.low[d], e.high[d])
				}
				if e.name != "Acrobot" && (least > e.low[d]+.01*span || most < e.high[d]-.01*span) {
					t.Errorf("dimension %d begins in [%g, %g] only, want all of [%g, %g]", d, least, most, e.low[d], e.high[d])
				}
			}
		})
	}
}

func TestPendulumBeginsAtEveryAngle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var p Pendulum
	out := envs.Row{Observation: make([]float32, 3)}
	var counts [8]int
	for range 8000 {
		if err := p.Reset(rng, out); err != nil {
			t.Fatal(err)
		}
		counts[int((p.theta+math.Pi)/(2*math.Pi)*8)]++
	}
	for i, n := range counts {
		if n < 850 || n > 1150 {
			t.Errorf("eighth %d of the circle has %d of 8000 starts", i, n)
		}
	}
}

func TestTimeLimits(t *testing.T) {
	for _, e := range environments {
		for _, limit := range []int{0, 7, -1} {
			t.Run(fmt.Sprint(e.name, limit), func(t *testing.T) {
				env, err := e.create(Config{MaxEpisodeSteps: limit})
				if err != nil {
					t.Fatal(err)
				}
				defer env.Close()
				if _, err := env.Reset(0); err != nil {
					t.Fatal(err)
				}
				want := limit
				if limit == 0 {
					want = e.limit
				}
				for i := 1; i <= 1200; i++ {
					s, err := env.Step(steady(e.name, i))
					if err != nil {
						t.Fatal(err)
					}
					if s.Terminated[0] {
						if limit == 0 && !strings.HasSuffix(e.name, "CartPole") {
							t.Errorf("terminated at step %d", i)
						}
						return
					}
					if s.Truncated[0] {
						if i != want {
							t.Errorf("truncated after %d steps, want %d", i, want)
						}
						return
					}
				}
				if limit >= 0 {
					t.Errorf("not truncated within 1200 steps, want %d", want)
				}
			})
		}
	}
}

// steady is an action that does not end an episode early, except for CartPole's pole.
func steady(name string, step int) []float32 {
	switch name {
	case "CartPole", "MaskedCartPole":
		return []float32{float32(step % 2)}
	case "Acrobot":
		return []float32{1}
	}
	return []float32{0}
}

func TestCartPoleIsTruncatedAt500(t *testing.T) {
	env, err := NewCartPole(Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	s, err := env.Reset(1)
	if err != nil {
		t.Fatal(err)
	}
	// A linear controller balances the pole.
	for i := 1; ; i++ {
		o := s.Observations
		action := float32(0)
		if o[2]+.3*o[3]+.03*o[0]+.1*o[1] > 0 {
			action = 1
		}
		if s, err = env.Step([]float32{action}); err != nil {
			t.Fatal(err)
		}
		if s.Terminated[0] {
			t.Fatalf("the pole fell at step %d: %v", i, s.FinalObservations)
		}
		if s.Truncated[0] {
			if i != 500 || s.Episodes[0].Return != 500 || s.Episodes[0].Length != 500 {
				t.Errorf("truncated at %d with %+v, want 500", i, s.Episodes)
			}
			return
		}
	}
}

func TestBadConfigAndActions(t *testing.T) {
	for _, e := range environments {
		for _, c := range []struct {
			cfg  Config
			want string
		}{
			{Config{NumEnvs: -1}, "number of environments is -1"},
			{Config{Seed: -1}, "seed is -1"},
			{Config{Workers: -2}, "workers is -2"},
		} {
			if _, err := e.create(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), e.name) {
				t.Errorf("%s%+v: error %v, want it to contain %q", e.name, c.cfg, err, c.want)
			}
		}
		single := e.single()
		out := envs.Row{Observation: make([]float32, len(e.low))}
		if err := single.Reset(rand.New(rand.NewPCG(0, 0)), out); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(out.Observation)
		nan := float32(math.NaN())
		bad := [][]float32{nil, {0, 0}, {nan}, {float32(math.Inf(1))}}
		if e.name == "CartPole" || e.name == "Acrobot" {
			bad = append(bad, []float32{-1}, []float32{3}, []float32{.5})
		}
		for _, a := range bad {
			if _, _, _, err := single.Step(a, out); err == nil || !strings.HasPrefix(err.Error(), "classic: ") {
				t.Errorf("%s: action %v gives the error %v", e.name, a, err)
			}
		}
		if !slices.Equal(before, out.Observation) {
			t.Errorf("%s: a refused action changed the observation", e.name)
		}
	}
}

func TestStateOfSingles(t *testing.T) {
	for _, e := range environments {
		a, b := e.single(), e.single()
		rng := rand.New(rand.NewPCG(9, 9))
		w := len(e.low)
		out, out2 := envs.Row{Observation: make([]float32, w)}, envs.Row{Observation: make([]float32, w)}
		if err := a.Reset(rng, out); err != nil {
			t.Fatal(err)
		}
		state, err := a.(envs.Stateful).MarshalState()
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range [][]byte{nil, state[:len(state)-1], append(slices.Clone(state), 0), []byte("something else")} {
			if err := b.(envs.Stateful).RestoreState(bad); err == nil || !strings.HasPrefix(err.Error(), "classic: not a valid gorl ") {
				t.Errorf("%s: a bad state of %d bytes gives the error %v", e.name, len(bad), err)
			}
		}
		if err := b.(envs.Stateful).RestoreState(state); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			action := steady(e.name, i)
			if _, _, _, err := a.Step(action, out); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := b.Step(action, out2); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out.Observation, out2.Observation) {
				t.Fatalf("%s: step %d after restoring: %v, want %v", e.name, i, out2.Observation, out.Observation)
			}
		}
	}
}

func TestRender(t *testing.T) {
	for _, e := range environments {
		single := e.single()
		out := envs.Row{Observation: make([]float32, len(e.low))}
		if err := single.Reset(rand.New(rand.NewPCG(4, 4)), out); err != nil {
			t.Fatal(err)
		}
		img, err := single.(envs.SingleRenderer).Render()
		if err != nil {
			t.Fatal(err)
		}
		inked := 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				if r, g, b, _ := img.At(x, y).RGBA(); r+g+b < 3*0xffff {
					inked++
				}
			}
		}
		if area := img.Bounds().Dx() * img.Bounds().Dy(); inked < area/200 || inked > area/2 {
			t.Errorf("%s: %d of %d pixels are drawn", e.name, inked, area)
		}
	}
}

func FuzzRestoreState(f *testing.F) {
	state, err := (&CartPole{1, 2, 3, 4}).MarshalState()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add(state[:5])
	f.Add([]byte(strings.Repeat("\xff", 60)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := CartPole{5, 6, 7, 8}
		if err := c.RestoreState(b); err != nil {
			if c != (CartPole{5, 6, 7, 8}) {
				t.Errorf("a refused state left %+v", c)
			}
			return
		}
		again, err := c.MarshalState()
		if err != nil || !slices.Equal(again, b) {
			t.Errorf("accepted %x, saves %x, %v", b, again, err)
		}
	})
}
