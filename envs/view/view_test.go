package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
)

// zero acts by zeros.
func zero(env envs.Env) func(*envs.Step) ([]float32, error) {
	actions := make([]float32, env.Spaces().Action.Width())
	return func(*envs.Step) ([]float32, error) { return actions, nil }
}

func walker(t testing.TB) *mujoco.Walker {
	t.Helper()
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close() })
	return env
}

// humanoid tracks the built-in walk, or walks by command.
func humanoid(t testing.TB, task mujoco.CharacterTask) *mujoco.Character {
	t.Helper()
	env, err := mujoco.NewHumanoid(mujoco.CharacterConfig{Task: task, Residual: true,
		Command: mujoco.CommandConfig{MinSpeed: 1, MaxSpeed: 2, Seconds: 0.05}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close() })
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
}

// open runs a viewer whose steps are due when the test says so.
func open(t *testing.T, cfg Config) *shown {
	t.Helper()
	v, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
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
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		s.server.Close()
	})
	page := &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {s.server.URL}}}
	if s.conn, _, err = websocket.Dial(s.ctx, s.server.URL+"/socket", page); err != nil { //nolint:bodyclose // Dial reads it to its end
		t.Fatal(err)
	}
	s.conn.SetReadLimit(1 << 20)
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
	s := open(t, Config{Env: env, Act: zero(env), Title: "a title", Seed: 3,
		Figures: func(*envs.Step) (map[string]float64, error) {
			return map[string]float64{"style reward": 0.25, "unknown": math.NaN()}, nil
		}})
	scene := s.message().Scene
	shapes, err := twin.Shapes()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(scene), fmt.Sprint(&Scene{"a title", shapes, twin.State(0).TimeStep, twin.Model().Mass(), nil}); got != want {
		t.Errorf("the scene is\n%s, want\n%s", got, want)
	}
	if _, err := twin.Reset(3); err != nil {
		t.Fatal(err)
	}
	f, sum, contacts := s.frame(), 0.0, 0
	for k := range 5 {
		poses, err := twin.Poses(0, nil)
		if err != nil {
			t.Fatal(err)
		}
		ghost, ok, err := twin.ReferencePoses(0, nil)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if !slices.Equal(f.Poses, poses) || !slices.Equal(f.Ghost, ghost) || len(poses) != 7*len(shapes) {
			t.Errorf("frame %d has the poses %v, want %v", k, f.Poses, poses)
		}
		touching, err := twin.Contacts(0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if contacts += len(touching); !slices.Equal(f.Contacts, touching) || f.Clip != nil {
			t.Errorf("frame %d has contacts at %v, want %v, and the clip %v", k, f.Contacts, touching, f.Clip)
		}
		if x := twin.State(0).XPos[3:6]; !slices.Equal(f.Root[:], x) {
			t.Errorf("frame %d has the root at %v, want %v", k, f.Root, x)
		}
		f = s.step()
		step, err := twin.Step(make([]float32, 28))
		if err != nil {
			t.Fatal(err)
		}
		sum += float64(step.Rewards[0])
		if f.Steps != int64(k+1) || f.Episode != 1 || math.Abs(f.Time-float64(k+1)/30) > 1e-9 ||
			f.Reward != float64(step.Rewards[0]) || math.Abs(f.Return-sum) > 1e-9 {
			t.Errorf("after %d steps: %+v", k+1, f)
		}
		if len(f.Figures) != 3 || f.Figures["humanoid/speed"] != step.Metrics["humanoid/speed"] || f.Figures["style reward"] != 0.25 {
			t.Errorf("the figures are %v", f.Figures)
		}
	}
	if contacts == 0 {
		t.Error("nothing touches the ground")
	}
}

// A clip that is chosen is the one that this episode and coming ones begin in, until it is any again.
func TestChooseClip(t *testing.T) {
	env := quadruped(t)
	clips := env.Motions()
	s := open(t, Config{Env: env, Act: zero(env)})
	if scene := s.message().Scene; !slices.Equal(scene.Clips, []string{clips[0].Name(), clips[1].Name(), clips[2].Name()}) {
		t.Errorf("the clips are %q", scene.Clips)
	}
	if f := s.frame(); f.Clip == nil || f.Clip.Chosen != -1 {
		t.Errorf("at first the clip is %v", f.Clip)
	}
	for k, chosen := range []int{2, 0, 1} {
		f := s.ask(Request{Do: "clip", Clip: chosen})
		if *f.Clip != (Clip{chosen, chosen}) || f.Time != 0 || f.Episode != 2+7*k || f.Last == nil {
			t.Errorf("chosen %d: episode %d, %g s after its beginning, in %v", chosen, f.Episode, f.Time, *f.Clip)
		}
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
	if len(seen) != 3 || f.Clip.Chosen != -1 {
		t.Errorf("any clip is %v, the chosen one %d", seen, f.Clip.Chosen)
	}
}

// An impulse changes what follows exactly as it does in the environment.
func TestPush(t *testing.T) {
	env, twin, left := walker(t), walker(t), walker(t)
	s := open(t, Config{Env: env, Act: zero(env)})
	s.message()
	s.frame()
	for _, e := range []*mujoco.Walker{twin, left} {
		if _, err := e.Reset(0); err != nil {
			t.Fatal(err)
		}
	}
	p := [3]float64{40, 0, 0}
	s.ask(Request{Do: "push", Impulse: p})
	if err := twin.Push(0, 1, p); err != nil {
		t.Fatal(err)
	}
	f := s.step()
	for _, e := range []*mujoco.Walker{twin, left} {
		if _, err := e.Step(make([]float32, 6)); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := twin.Poses(0, nil)
	without, _ := left.Poses(0, nil)
	if !slices.Equal(f.Poses, want) || slices.Equal(f.Poses, without) {
		t.Errorf("after the push the poses are %v, want %v", f.Poses, want)
	}
	if f.Root[0] < left.State(0).XPos[3]+0.005 {
		t.Errorf("the push moved the root from %g to %g m", left.State(0).XPos[3], f.Root[0])
	}
}

// While it is paused no step is taken, but those that are asked for.
func TestPauseHolds(t *testing.T) {
	env := walker(t)
	s := open(t, Config{Env: env, Act: zero(env)})
	s.message()
	s.frame()
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
	for _, rate := range []float64{0.25, 2} {
		f := s.ask(Request{Do: "rate", Rate: rate})
		if f.Steps != 1 || f.Rate != rate || !slices.Equal(f.Poses, before.Poses) {
			t.Errorf("while it is paused: %+v", f)
		}
	}
	if f := s.ask(Request{Do: "step"}); f.Steps != 2 || !f.Paused || slices.Equal(f.Poses, before.Poses) {
		t.Errorf("one step: %+v", f)
	}
	for f := s.ask(Request{Do: "go"}); f.Steps < 3; f = s.frame() { // a frame may be passed over for a newer one
		if f.Paused {
			t.Errorf("it does not go on: %+v", f)
		}
	}
}

// The time between steps is the control step divided by the rate.
func TestRate(t *testing.T) {
	env := walker(t)
	v, err := New(Config{Env: env, Act: zero(env)})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Viewer: v, frame: Frame{Rate: 1}}
	for rate, want := range map[float64]time.Duration{1: 20 * time.Millisecond, 0.1: 200 * time.Millisecond, 2: 10 * time.Millisecond} {
		s.frame.Rate = rate
		if got := s.interval().Round(time.Microsecond); got != want {
			t.Errorf("at the rate %g a step takes %v, want %v", rate, got, want)
		}
	}
}

// A reset begins another episode, and an end does; the last one's figures stay to be seen.
func TestEpisodes(t *testing.T) {
	env := walker(t)
	s := open(t, Config{Env: env, Act: zero(env)})
	s.message()
	s.frame()
	s.step()
	f := s.ask(Request{Do: "reset"})
	if f.Episode != 2 || f.Time != 0 || f.Last == nil || f.Last.Terminated || f.Last.Time != 0.02 {
		t.Errorf("after the reset: %+v, %+v", f, f.Last)
	}
	s.ask(Request{Do: "push", Impulse: [3]float64{-80, 0, 0}}) // it falls
	for f.Episode == 2 && f.Time < 6 {
		f = s.step()
	}
	if f.Episode != 3 || !f.Last.Terminated || !(f.Last.Time > 0.02 && f.Last.Time < 6) || !(f.Last.Return > 0) {
		t.Errorf("after the fall: %+v, %+v", f, f.Last)
	}
}

// A command of the page holds, in coming episodes too, until the task's own are asked for.
func TestCommand(t *testing.T) {
	env := humanoid(t, mujoco.Command)
	s := open(t, Config{Env: env, Act: zero(env)})
	s.message()
	if c := s.frame().Command; c == nil || c.MinSpeed != 1 || c.MaxSpeed != 2 || c.Speed < 1 || c.Speed > 2 {
		t.Fatalf("the command is %+v", c)
	}
	check := func(f *Frame, want bool) {
		t.Helper()
		if held := f.Command.Direction == 0.5 && f.Command.Speed == 3; held != want {
			t.Errorf("the command is %+v", f.Command)
		}
	}
	check(s.ask(Request{Do: "command", Direction: 0.5, Speed: 3}), true)
	for range 10 { // the task would give another one every two steps
		check(s.step(), true)
	}
	check(s.ask(Request{Do: "reset"}), true)
	s.ask(Request{Do: "task"})
	check(s.ask(Request{Do: "reset"}), false)
}

// What makes no sense ends the connection, and says why.
func TestRefusedRequests(t *testing.T) {
	for _, x := range []struct {
		text, words string
	}{
		{`{"do": "fly"}`, `there is no request`},
		{`{"do": "rate", "rate": 0}`, "the rate is 0"},
		{`{"do": "push", "impulse": [1e6, 0, 0]}`, "at most 10000"},
		{`{"do": "command", "speed": 1}`, "no commands"},
		{`{"do": "clip", "clip": 0}`, "no clips"},
		{`{"do": "clip", "clip": -1}`, "no clips"},
		{`{"do": 1}`, ""},
		{`{`, ""},
	} {
		env := walker(t)
		s := open(t, Config{Env: env, Act: zero(env)})
		s.message()
		s.frame()
		if err := s.conn.Write(s.ctx, websocket.MessageText, []byte(x.text)); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.conn.Read(s.ctx)
		if err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: the connection ends with %v", x.text, err)
		}
	}
	commanded := Request{Do: "command", Speed: 21}
	if err := commanded.check(true, 0); err == nil {
		t.Error("a speed of 21 m/s is accepted")
	}
}

// Pages are told that the viewer ends, and Serve ends without an error.
func TestEndTellsPages(t *testing.T) {
	env := walker(t)
	s := open(t, Config{Env: env, Act: zero(env)})
	s.message()
	s.frame()
	done := make(chan error, 1)
	go func() { done <- s.stop() }()
	_, _, err := s.conn.Read(s.ctx)
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the page is told %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An error of what acts ends the viewer.
func TestActFails(t *testing.T) {
	env := walker(t)
	v, err := New(Config{Env: env, Act: func(*envs.Step) ([]float32, error) { return nil, io.ErrUnexpectedEOF }})
	if err != nil {
		t.Fatal(err)
	}
	due := make(chan time.Time, 1)
	due <- time.Time{}
	v.ticker = func(time.Duration) (<-chan time.Time, func(time.Duration), func()) { return due, nil, func() {} }
	ended := make(chan error, 1)
	go func() { ended <- v.Run(t.Context()) }()
	c := &client{frames: make(chan []byte, 1)}
	v.joins <- c
	go func() { <-v.ending; v.leaves <- c }()
	if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Run ends with %v", err)
	}
}

// The server is for pages of its own on this machine, and only gives what is embedded.
func TestOnlyLocal(t *testing.T) {
	env := walker(t)
	s := open(t, Config{Env: env, Act: zero(env)})
	host := strings.TrimPrefix(s.server.URL, "http://")
	for _, x := range []struct {
		method, path, host, origin string
		want                       int
	}{
		{"GET", "/", host, "", 200},
		{"HEAD", "/page.js", host, "", 200},
		{"GET", "/three/three.core.min.js", "localhost:80", "", 200},
		{"GET", "/three/LICENSE.txt", "[::1]:80", "", 200},
		{"GET", "/view.go", host, "", 404},
		{"GET", "/none.js", host, "", 404},
		{"POST", "/", host, "", 405},
		{"GET", "/", "evil.example", "", 403},
		{"GET", "/", "192.0.2.1:80", "", 403},
		{"GET", "/socket", "evil.example", "http://evil.example", 403},
		{"GET", "/socket", host, "http://evil.example", 403},
		{"GET", "/socket", host, "http://127.0.0.1:1", 403},
		{"GET", "/socket", host, "", 403},
		{"GET", "/socket", host, "null", 403},
		{"GET", "/socket", host, "http://user@" + host, 403},
		{"GET", "/socket", host, "http://user:password@" + host, 403},
		{"GET", "/socket", host, "https://" + host, 403},
		{"GET", "/socket", host, "http://" + host + "/", 403},
		{"GET", "/socket", host, "http://" + host, 101},
		{"GET", "/", "127.0.0.1:evil.com", "", 403},
		{"GET", "/", "localhost:evil.com", "", 403},
		{"GET", "/", "127.0.0.1:", "", 403},
		{"GET", "/", "127.0.0.1:80:80", "", 403},
		{"GET", "/", "[127.0.0.1]:80", "", 403},
		{"GET", "/", "localhost.evil.com", "", 403},
		{"GET", "/", "127.0.0.1", "", 200},
		{"GET", "/", "[::1]", "", 200},
		{"GET", "/", "localhost", "", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), x.method, s.server.URL+x.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = x.host
		if x.path == "/socket" {
			for key, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Origin": x.origin,
				"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
				r.Header.Set(key, value)
			}
			if x.origin == "" {
				r.Header.Del("Origin")
			}
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != x.want {
			t.Errorf("%s %s at %s from %q: status %d, want %d", x.method, x.path, x.host, x.origin, answer.StatusCode, x.want)
		}
	}
}

// A zone is no part of a loopback address that a browser sends.
func TestLocalRefusesZones(t *testing.T) {
	if local("[::1%25lo]:80") || local("[::1%lo]") || !local("[::1]:80") {
		t.Error("a zone is accepted, or ::1 is not")
	}
}

// What cannot be viewed is refused.
func TestNewRefuses(t *testing.T) {
	two, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	pole, err := classic.NewCartPole(classic.Config{NumEnvs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pole.Close()
	one := walker(t)
	for _, x := range []struct {
		cfg   Config
		words string
	}{
		{Config{}, "must be given"},
		{Config{Env: one}, "must be given"},
		{Config{Env: two, Act: zero(two)}, "a batch of 2"},
		{Config{Env: pole, Act: zero(pole)}, "no character"},
		{Config{Env: one, Act: zero(one), Seed: -1}, "Seed is -1"},
	} {
		if _, err := New(x.cfg); err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("New: %v, want %q", err, x.words)
		}
	}
}

func ExampleNew() {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{})
	if err != nil {
		panic(err)
	}
	defer env.Close()
	actions := make([]float32, env.Spaces().Action.Width()) // in place of a policy
	v, err := New(Config{Env: env, Title: "walker", Act: func(*envs.Step) ([]float32, error) { return actions, nil }})
	if err != nil {
		panic(err)
	}
	// A program would call v.Serve with a listener on 127.0.0.1; this one looks at the first message to a page.
	var first message
	if err := json.Unmarshal(v.scene, &first); err != nil {
		panic(err)
	}
	fmt.Println(first.Scene.Title, len(first.Scene.Shapes), first.Scene.Shapes[1].Kind, first.Scene.Step)
	// Output: walker 8 capsule 0.02
}
