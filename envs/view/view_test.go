package view

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// zero acts by zeros.
func zero(env envs.Env) func(*envs.Step) ([]float32, error) {
	actions := make([]float32, env.Spaces().Action.Width())
	return func(*envs.Step) ([]float32, error) { return actions, nil }
}

func walker(t testing.TB) *mujoco.Walker {
	t.Helper()
	return must.Open(mujoco.NewWalker(mujoco.WalkerConfig{}))(t)
}

// humanoid tracks the built-in walk, or walks by command.
func humanoid(t testing.TB, task mujoco.CharacterTask) *mujoco.Character {
	t.Helper()
	env := must.Open(mujoco.NewHumanoid(mujoco.CharacterConfig{Task: task, Residual: true,
		Command: mujoco.CommandConfig{MinSpeed: 1, MaxSpeed: 2, Seconds: 0.05}}))(t)
	return env
}

// shown is a viewer that runs, with a page that is open.
type shown struct {
	*testing.T
	v      *Viewer
	server *httptest.Server
	due    chan time.Time
	conn   *websocket.Conn
	stop   func() error // ends Run and returns its error
	ctx    context.Context
	scene  *Scene
	first  *Frame
}

// open runs a viewer whose steps are due when the test says so.
func open(t *testing.T, env envs.Env) *shown {
	t.Helper()
	return openConfig(t, Config{Env: env, Act: zero(env)})
}

func openConfig(t *testing.T, cfg Config) *shown {
	t.Helper()
	v, err := New(cfg)
	must.Do(t, err)
	s := &shown{T: t, v: v, due: make(chan time.Time), ctx: t.Context()}
	v.ticker = func(time.Duration) (<-chan time.Time, func(time.Duration), func()) {
		return s.due, func(time.Duration) {}, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	s.stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	s.server = httptest.NewServer(v.Handler())
	t.Cleanup(func() {
		if s.conn != nil {
			s.conn.CloseNow()
		}
		must.Do(t, s.stop())
		s.server.Close()
	})
	page := &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {s.server.URL}}}
	s.conn, _, err = websocket.Dial(s.ctx, s.server.URL+"/socket", page) //nolint:bodyclose // Dial reads it to its end
	must.Do(t, err)
	s.conn.SetReadLimit(1 << 20)
	s.scene, s.first = s.message().Scene, s.frame()
	return s
}

func (s *shown) message() message {
	s.Helper()
	var m message
	if err := wsjson.Read(s.ctx, s.conn, &m); err != nil {
		s.Fatal(err)
	}
	return m
}

func (s *shown) frame() *Frame {
	s.Helper()
	f := s.message().Frame
	if f == nil {
		s.Fatal("the message is no frame")
	}
	return f
}

// ask sends a request and returns the frame that answers it.
func (s *shown) ask(r Request) *Frame {
	s.Helper()
	if err := wsjson.Write(s.ctx, s.conn, r); err != nil {
		s.Fatal(err)
	}
	return s.frame()
}

// step lets a control step be due.
func (s *shown) step() *Frame {
	s.Helper()
	s.due <- time.Time{}
	return s.frame()
}

// The scene has the environment's shapes, and frames its poses, figures and time: those of another one that takes the
// same steps.
func TestFramesAreTheEnvironments(t *testing.T) {
	env, twin := humanoid(t, mujoco.Track), humanoid(t, mujoco.Track)
	s := openConfig(t, Config{Env: env, Act: zero(env), Title: "a title", Seed: 3,
		Figures: func(*envs.Step) (map[string]float64, error) {
			return map[string]float64{"style reward": 0.25, "unknown": math.NaN()}, nil
		}})
	shapes := must.Get(twin.Shapes())(t)
	want := &Scene{Title: "a title", Step: twin.State(0).TimeStep, Mass: twin.Model().Mass()}
	for _, s := range shapes {
		want.Shapes = append(want.Shapes, Shape{Shape: s})
	}
	must.Match(t, want, s.scene, "the scene")
	envtest.Reset(t, twin, 3)
	f, sum, contacts := s.first, 0.0, 0
	for k := range 5 {
		look := must.Get(twin.Look(0))(t)
		must.Not(t, look.Reference == nil || len(look.Poses) != 7*len(shapes), "frame %d is %v", k, look)
		must.Match(t, look, mujoco.Look{Poses: f.Poses, Reference: f.Ghost, Contacts: f.Contacts}, "frame %d", k)
		must.Not(t, f.Clip != nil, "frame %d has the clip %v", k, f.Clip)
		contacts += len(look.Contacts)
		must.Same(t, twin.State(0).XPos[3:6], f.Root[:], "frame %d: the root", k)
		f = s.step()
		step := envtest.Step(t, twin, make([]float32, 28))
		sum += float64(step.Rewards[0])
		must.Not(t, f.Steps != int64(k+1) || f.Episode != 1 || math.Abs(f.Time-float64(k+1)/30) > 1e-9 ||
			f.Reward != float64(step.Rewards[0]) || math.Abs(f.Return-sum) > 1e-9, "after %d steps: %+v", k+1, f)
		must.Not(t, len(f.Figures) != 3 || f.Figures["humanoid/speed"] != step.Metrics["humanoid/speed"] ||
			f.Figures["style reward"] != 0.25, "the figures are %v", f.Figures)
	}
	must.Not(t, contacts == 0, "nothing touches the ground")
}

// A clip that is chosen is the one that this episode and coming ones begin in, until it is any again.
func TestChooseClip(t *testing.T) {
	env := quadruped(t)
	clips := env.Motions()
	s := open(t, env)
	must.Same(t, s.scene.Clips, []string{clips[0].Name(), clips[1].Name(), clips[2].Name()}, "the clips")
	if f := s.first; f.Clip == nil || f.Clip.Chosen != -1 {
		t.Errorf("at first the clip is %v", f.Clip)
	}
	for k, chosen := range []int{2, 0} {
		f := s.ask(Request{Do: "clip", Clip: chosen})
		must.Not(t, *f.Clip != (Clip{chosen, chosen}) || f.Time != 0 || f.Episode != 2+7*k || f.Last == nil,
			"chosen %d: episode %d, %g s after its beginning, in %v", chosen, f.Episode, f.Time, *f.Clip)
		for range 12 {
			if f := s.step(); *f.Clip != (Clip{chosen, chosen}) {
				t.Fatalf("episode %d is in %v, not in %d", f.Episode, *f.Clip, chosen)
			}
		}
	}
	seen := map[int]bool{}
	f := s.ask(Request{Do: "clip", Clip: -1})
	for range 40 {
		seen[f.Clip.Now] = true
		f = s.ask(Request{Do: "reset"})
	}
	must.Not(t, len(seen) != 3 || f.Clip.Chosen != -1, "any clip is %v, the chosen one %d", seen, f.Clip.Chosen)
}

// A push is the environment's. The fall that follows ends the episode, whose figures stay to be seen, as a reset does.
func TestPush(t *testing.T) {
	twin := walker(t)
	s := open(t, walker(t))
	envtest.Reset(t, twin, 0)
	p := [3]float64{-80, 0, 0}
	s.ask(Request{Do: "push", Impulse: p})
	must.Do(t, twin.Push(0, 1, p))
	f := s.step()
	envtest.Step(t, twin, make([]float32, 6))
	must.Same(t, f.Poses, must.Get(twin.Look(0))(t).Poses, "the poses after the push")
	for f.Episode == 1 && f.Time < 6 {
		f = s.step()
	}
	must.Not(t, f.Episode != 2 || !f.Last.Terminated || !(f.Last.Time > 0.02 && f.Last.Time < 6) ||
		!(f.Last.Return > 0), "after the fall: %+v, %+v", f, f.Last)
	s.step()
	f = s.ask(Request{Do: "reset"})
	must.Not(t, f.Episode != 3 || f.Time != 0 || f.Last.Terminated || f.Last.Time < 0.02, "after the reset: %+v", f)
}

// No step is taken while it is paused, unless the page asks for one. The rate divides the time between steps.
func TestPauseHolds(t *testing.T) {
	s := open(t, walker(t))
	before := s.step()
	if f := s.ask(Request{Do: "pause"}); !f.Paused || f.Steps != 1 {
		t.Errorf("paused: %+v", f)
	}
	go func() { // is due all the while, and taken when it goes on
		select {
		case s.due <- time.Time{}:
		case <-s.ctx.Done():
		}
	}()
	for rate, want := range map[float64]time.Duration{0.1: 200 * time.Millisecond, 2: 10 * time.Millisecond} {
		f := s.ask(Request{Do: "rate", Rate: rate})
		must.Not(t, f.Steps != 1 || f.Rate != rate || !slices.Equal(f.Poses, before.Poses), "while it is paused: %+v",
			f)
		must.Is(t, (&session{Viewer: s.v, frame: *f}).interval().Round(time.Microsecond), want,
			"at the rate %g a step takes", rate)
	}
	if f := s.ask(Request{Do: "step"}); f.Steps != 2 || !f.Paused || slices.Equal(f.Poses, before.Poses) {
		t.Errorf("one step: %+v", f)
	}
	for f := s.ask(Request{Do: "go"}); f.Steps < 3; f = s.frame() { // a frame may be passed over for a newer one
		must.Not(t, f.Paused, "it does not go on: %+v", f)
	}
}

// A command of the page holds, in coming episodes too, until the task's own are asked for.
func TestCommand(t *testing.T) {
	env := humanoid(t, mujoco.Command)
	s := open(t, env)
	if c := s.first.Command; c == nil || c.MinSpeed != 1 || c.MaxSpeed != 2 || c.Speed < 1 || c.Speed > 2 {
		t.Fatalf("the command is %+v", c)
	}
	check := func(f *Frame, want bool) {
		t.Helper()
		must.Is(t, f.Command.Direction == 0.5 && f.Command.Speed == 3, want, "the command is %+v", f.Command)
	}
	check(s.ask(Request{Do: "command", Direction: 0.5, Speed: 3}), true)
	for range 10 { // the task would give another one every two steps
		check(s.step(), true)
	}
	check(s.ask(Request{Do: "reset"}), true)
	s.ask(Request{Do: "task"})
	check(s.ask(Request{Do: "reset"}), false)
}

// A request that makes no sense ends the connection, which says why.
func TestRefusedRequests(t *testing.T) {
	for text, words := range map[string]string{
		`{"do": "fly"}`:                          `there is no request`,
		`{"do": "rate", "rate": 0}`:              "the rate is 0",
		`{"do": "push", "impulse": [1e6, 0, 0]}`: "at most 10000",
		`{"do": "command", "speed": 1}`:          "no commands",
		`{`:                                      "",
	} {
		s := open(t, walker(t))
		must.Do(t, s.conn.Write(s.ctx, websocket.MessageText, []byte(text)))
		if _, _, err := s.conn.Read(s.ctx); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: the connection ends with %v", text, err)
		}
	}
}

// Pages are told that the viewer ends, which is no error.
func TestEndTellsPages(t *testing.T) {
	s := open(t, walker(t))
	done := make(chan error, 1)
	go func() { done <- s.stop() }()
	_, _, err := s.conn.Read(s.ctx)
	must.Is(t, websocket.CloseStatus(err), websocket.StatusGoingAway, "the page is told %v", err)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An error of what acts ends the viewer.
func TestActFails(t *testing.T) {
	env := walker(t)
	v, err := New(Config{Env: env, Act: func(*envs.Step) ([]float32, error) { return nil, io.ErrUnexpectedEOF }})
	must.Do(t, err)
	due := make(chan time.Time, 1)
	due <- time.Time{}
	v.ticker = func(time.Duration) (<-chan time.Time, func(time.Duration), func()) { return due, nil, func() {} }
	ended := make(chan error, 1)
	go func() { ended <- v.Run(t.Context()) }()
	c := make(client, 1)
	v.joins <- c
	go func() { <-v.ending; v.leaves <- c }()
	if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Run ends with %v", err)
	}
}

// What cannot be viewed is refused.
func TestNewRefuses(t *testing.T) {
	one, two := walker(t), must.Open(classic.NewCartPole(classic.Config{NumEnvs: 2}))(t)
	must.Refused(New(Config{Env: one}))(t, "must be given")
	must.Refused(New(Config{Env: two, Act: zero(two)}))(t, "a batch of 2")
	must.Refused(New(Config{Env: one, Act: zero(one), Seed: -1}))(t, "Seed is -1")
}
