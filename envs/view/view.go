// Package view shows an environment in the browser while it runs. [New] makes a viewer of an environment and of what
// acts in it. [Viewer.Serve] runs a local web server with the page, which needs no network. Of a character of package
// mujoco the page gets poses over a WebSocket and draws them with three.js; of another environment it gets pictures.
// The page can pause, slow down and reset; push and command a character, and begin in another clip.
//
// [Scene], [Frame] and [Request] are the messages, each as one JSON object. The server sends {"scene": ...} once, and
// then {"frame": ...} after every control step and after every request.
package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/loopback"
)

// character is an environment that is drawn by poses: a [mujoco.Env], or a type that embeds one.
type character interface{ MuJoCo() *mujoco.Env }

// Config says what is viewed.
type Config struct {
	// Env is one environment (NumEnvs 1), as its wrappers made it: a [mujoco.Env], or an [envs.Renderer]. The viewer
	// steps and resets it from [Viewer.Run] and does not close it.
	Env envs.Env
	// Act returns the actions (A) for the step that Reset or Step returned last. Its Rewards are nil after a Reset.
	Act func(step *envs.Step) ([]float32, error)
	// Figures returns additional numbers about a step by name, which the page shows. May be nil.
	Figures func(step *envs.Step) (map[string]float64, error)
	// Title is written into the page, for instance the name of the policy.
	Title string
	// Seed seeds the first reset; it must not be negative.
	Seed int64
}

// Viewer steps an environment in real time and shows it to the pages that are open. While no page is open, time
// stands still.
type Viewer struct {
	cfg Config
	// character is the environment in cfg without its wrappers; nil if renderer draws pictures of the environment.
	character *mujoco.Env
	renderer  envs.Renderer
	// step is the duration of a control step in seconds.
	step float64
	// scene is the message with the Scene, encoded once.
	scene []byte
	// requests, joins and leaves bring what pages do to the goroutine of Run. They have no buffer, so senders of
	// requests and joins also wait for ending.
	requests chan Request
	joins    chan client
	leaves   chan client
	// ending is closed when Run ends.
	ending chan struct{}
	// commands is true if the task has commands.
	commands bool
	// clips chooses clips, which have these names; nil if there are fewer than two.
	clips *mujoco.Character
	names []string
	// ticker returns a channel that receives when a step is due, and functions that change the time between steps and
	// stop it. Tests replace it.
	ticker func(time.Duration) (due <-chan time.Time, change func(time.Duration), stop func())
}

// untimed is the duration in seconds of a step of an environment that knows none, such as a board game.
const untimed = 0.25

// New makes a viewer. It is an error if Act is missing, or if the environment is a batch of several or cannot be drawn.
func New(cfg Config) (*Viewer, error) {
	switch {
	case cfg.Env == nil || cfg.Act == nil:
		return nil, errors.New("view: Env and Act must be given")
	case cfg.Seed < 0:
		return nil, fmt.Errorf("view: Seed is %d; it must not be negative", cfg.Seed)
	case cfg.Env.NumEnvs() != 1:
		return nil, fmt.Errorf("view: the environment is a batch of %d; a viewer shows one (num_envs: 1)",
			cfg.Env.NumEnvs())
	}
	v := &Viewer{cfg: cfg, requests: make(chan Request), joins: make(chan client), leaves: make(chan client),
		ending: make(chan struct{}), ticker: realTime}
	scene, err := v.draw()
	if err != nil {
		return nil, err
	}
	v.scene, err = encode(message{Scene: scene})
	return v, err
}

// draw chooses how the environment is drawn, and returns the scene.
func (v *Viewer) draw() (*Scene, error) {
	found, ok := envs.As[character](v.cfg.Env)
	if !ok {
		if v.renderer, ok = envs.As[envs.Renderer](v.cfg.Env); !ok {
			return nil, errors.New("view: the environment is no character of package mujoco, such as Walker or " +
				"Humanoid, and draws no pictures of itself (envs.Renderer)")
		}
		v.step = cmp.Or(envs.StepDuration(v.cfg.Env), untimed)
		return &Scene{Title: v.cfg.Title, Shapes: []Shape{}, Pictures: true, Step: v.step}, nil
	}
	c := found.MuJoCo()
	v.character, v.step = c, c.StepDuration()
	_, v.commands = c.Commanded(0)
	if m, ok := envs.As[*mujoco.Character](v.cfg.Env); ok && len(m.Motions()) > 1 {
		v.clips = m
		for _, clip := range m.Motions() {
			v.names = append(v.names, clip.Name())
		}
	}
	shapes, err := c.Shapes()
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	s := &Scene{Title: v.cfg.Title, Step: v.step, Mass: c.Model().Mass(), Clips: v.names}
	s.Shapes, s.Meshes = shared(shapes)
	return s, nil
}

// realTime is the ticker of the clock. Ticks that come while a step takes too long are dropped, so the character
// slows down instead of jumping.
func realTime(d time.Duration) (due <-chan time.Time, change func(time.Duration), stop func()) {
	t := time.NewTicker(d)
	return t.C, t.Reset, t.Stop
}

// Handler serves the page at / and the WebSocket at /socket, for browsers on this machine. It refuses requests that
// name another host, WebSockets that the server's own page did not open (by their Origin), and methods other than GET
// and HEAD. Without these checks any web page in the same browser could drive the character. The page shows what
// [Viewer.Run] does.
func (v *Viewer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", Page())
	mux.HandleFunc("/socket", v.socket)
	return loopback.Only(mux)
}

// Serve runs the viewer and its web server on l until the context ends, which returns nil, or something fails. Open
// pages learn that it has ended, and l is closed.
func (v *Viewer) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: v.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(l)
		cancel()
	}()
	err := v.Run(ctx)
	err = errors.Join(err, server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("view: %w", e))
	}
	return err
}
