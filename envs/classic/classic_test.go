package classic

import (
	"errors"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// environments is every environment of the package with what its documentation says.
var environments = []struct {
	name      string
	create    func(Config) (envs.Env, error)
	low, high []float32 // bounds of the first observation of an episode
}{
	{"CartPole", NewCartPole, []float32{-.05, -.05, -.05, -.05}, []float32{.05, .05, .05, .05}},
	{"MaskedCartPole", NewMaskedCartPole, []float32{-.05, -.05}, []float32{.05, .05}},
	{"Pendulum", NewPendulum, []float32{-1, -1, -1}, []float32{1, 1, 1}},
	{"Acrobot", NewAcrobot, []float32{.99, -.1, .99, -.1, -.1, -.1}, []float32{1, .1, 1, .1, .1, .1}},
	{"MountainCar", NewMountainCar, []float32{-.6, 0}, []float32{-.4, 0}},
}

// rowOf is a row for an environment to write into.
func rowOf(e envs.Single) envs.Row {
	set := e.Spaces()
	return envs.Row{Observation: set.Observation.Rows(1), State: set.State.Rows(1), ActionMask: set.ActionMask.Rows(1),
		Seats: set.MakeSeatStep(1)}
}

// advance takes a step that is neither refused nor truncated.
func advance(t testing.TB, e envs.Single, out envs.Row, action ...float32) (reward float64, terminated bool) {
	t.Helper()
	reward, terminated, truncated, err := e.Step(action, out)
	must.Not(t, err != nil || truncated, "%T: truncated %t, %v", e, truncated, err)
	return reward, terminated
}

func TestConform(t *testing.T) {
	creates := map[string]func(Config) (envs.Env, error){
		"CartPolePixels": func(cfg Config) (envs.Env, error) {
			c := DefaultCartPolePixels()
			c.Config, c.Width, c.Height = cfg, 24, 16
			return NewCartPolePixels(c)
		},
		"ConnectFour": func(cfg Config) (envs.Env, error) { return NewConnectFour(ConnectFourConfig{Config: cfg}) },
		"TMaze":       func(cfg Config) (envs.Env, error) { return NewTMaze(TMazeConfig{Config: cfg, Length: 2}) },
	}
	for _, e := range environments {
		creates[e.name] = e.create
	}
	for name, create := range creates {
		t.Run(name, func(t *testing.T) {
			envtest.Conform(t, 100, func(seed int64, workers int) (envs.Env, error) {
				return create(Config{NumEnvs: 4, Seed: seed, Workers: workers, MaxEpisodeSteps: 25})
			})
		})
	}
}

func TestResetRanges(t *testing.T) {
	for _, e := range environments {
		t.Run(e.name, func(t *testing.T) {
			const n = 4000
			env := must.Open(e.create(Config{NumEnvs: n}))(t)
			s := envtest.Reset(t, env, 5)
			w := len(e.low)
			for d := range w {
				least, most := float32(math.Inf(1)), float32(math.Inf(-1))
				for i := range n {
					least, most = min(least, s.Observations[i*w+d]), max(most, s.Observations[i*w+d])
				}
				span := e.high[d] - e.low[d]
				must.Not(t, least < e.low[d] || most > e.high[d], "dimension %d begins in [%g, %g], want [%g, %g]", d,
					least, most, e.low[d], e.high[d])
				must.Not(t, e.name != "Acrobot" && (least > e.low[d]+.01*span || most < e.high[d]-.01*span),
					"dimension %d begins in [%g, %g] only, want all of [%g, %g]", d, least, most, e.low[d], e.high[d])
			}
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	cfg := DefaultCartPolePixels()
	cfg.Width = 8
	must.Refused(NewCartPolePixels(cfg))(t, `"width" is 8`)
	must.Refused(NewTMaze(TMazeConfig{Length: -1}))(t, `"length" is -1`)
	must.Refused(NewCartPole(Config{NumEnvs: -1}))(t, "CartPole: wrappers: the number of environments is -1")
}

// Games draw each thing in its colour where it is.
func TestRenderGames(t *testing.T) {
	type pixel struct {
		x, y int
		c    color.RGBA
	}
	blue, red := color.RGBA{40, 90, 180, 255}, color.RGBA{200, 60, 50, 255}
	for _, c := range []struct {
		game envs.SingleRenderer
		want []pixel
	}{
		{&TicTacToe{board: [fields]int8{0, 0, 1, 0, -1}, marks: 2}, []pixel{{200, 40, blue}, {120, 97, red},
			{40, 40, color.RGBA{255, 255, 255, 255}}}},
		{&Sumo{at: [2][2]float64{{0.5, 0.5}, {-0.5, -0.5}}}, []pixel{{190, 80, blue}, {70, 180, red}}},
		{&Spread{at: [spreadAgents][2]float64{{0.5, 0.5}, {-1, 0}, {1, -1}},
			landmarks: [spreadAgents][2]float64{{0.5, 0.5}, {-1, 1}, {0, -1}}}, []pixel{{160, 80, color.RGBA{30, 150,
			60, 255}}, {40, 40, color.RGBA{60, 60, 65, 255}}, {40, 120, color.RGBA{120, 140, 225, 255}}}},
	} {
		picture := must.Get(c.game.Render())(t)
		for _, p := range c.want {
			must.Is(t, color.RGBAModel.Convert(picture.At(p.x, p.y)), color.Color(p.c), "%T: pixel %+v", c.game, p)
		}
	}
}

// Shaping adds its terms to the reward and nothing else; the true objective is the return without them.
func TestMountainCarShaping(t *testing.T) {
	plain, shaped := &MountainCar{}, &MountainCar{}
	must.Do(t, shaped.SetRewardShaping(map[string]any{"height": 0.5, "velocity": 2.0}))
	must.Refuse(t, shaped.SetRewardShaping(map[string]any{"height": 9.0, "hight": 1.0}), "")
	must.Match(t, map[string]any{"height": 0.5, "velocity": 2.0}, shaped.RewardShaping(), "parameters")
	a, b := rowOf(plain), rowOf(shaped)
	must.Do(t, errors.Join(plain.Reset(rand.New(rand.NewPCG(1, 1)), a), shaped.Reset(rand.New(rand.NewPCG(1, 1)), b)))
	sum, ended := 0.0, false
	for !ended {
		action := float32(math.Copysign(1, float64(a.Observation[1]))) // rocking reaches the flag
		r1, end1 := advance(t, plain, a, action)
		r2, end2 := advance(t, shaped, b, action)
		must.Not(t, !slices.Equal(a.Observation, b.Observation) || end1 != end2, "shaping has changed what happens")
		height, speed := 0.5+0.5*math.Sin(3*plain.x), math.Abs(plain.v)/0.07
		must.Near(t, r2, r1+0.5*height+2*speed, 1e-12, "reward")
		sum, ended = sum+r1, end1
	}
	must.Near(t, shaped.EpisodeMetrics()["true_objective"], sum, 1e-12, "true objective")
	// The true objective goes with the state, the parameters do not.
	other := &MountainCar{velocity: 7}
	must.Do(t, other.RestoreState(must.Get(shaped.MarshalState())(t)))
	must.Not(t, other.objective != shaped.objective || other.velocity != 7, "restored %+v", other)
}
