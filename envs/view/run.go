package view

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"maps"
	"time"

	"github.com/gorl-dev/gorl/envs"
)

// Run steps the environment in real time until the context ends, which returns nil, or something fails. It must be
// called once only. All pages and requests meet in its loop, so the environment is used by one goroutine.
func (v *Viewer) Run(ctx context.Context) (err error) {
	s := &session{Viewer: v, clients: map[client]bool{}, frame: Frame{Rate: 1}, clip: -1}
	// Pages learn that the viewer has ended, and their goroutines are waited for, before the program goes on.
	defer func() {
		close(v.ending)
		for len(s.clients) > 0 {
			delete(s.clients, <-v.leaves)
		}
	}()
	due, change, stop := v.ticker(s.interval())
	defer stop()
	if err := s.reset(v.cfg.Seed); err != nil {
		return err
	}
	for {
		tick := due
		if s.frame.Paused || len(s.clients) == 0 {
			tick = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case c := <-v.joins:
			s.clients[c] = true
		case c := <-v.leaves:
			delete(s.clients, c)
			continue
		case r := <-v.requests:
			if err := s.serve(&r); err != nil {
				return err
			}
			if r.Do == "rate" {
				change(s.interval())
			}
		case <-tick:
			if err := s.advance(); err != nil {
				return err
			}
		}
		if err := s.show(); err != nil {
			return err
		}
	}
}

// session is the state of Run. Only Run's goroutine uses it.
type session struct {
	*Viewer
	// clients are the pages that are open.
	clients map[client]bool
	// now is what Reset or Step returned last: what Act acts on.
	now *envs.Step
	// frame is the part of the next frame that is kept from step to step; show adds poses and the like.
	frame Frame
	// command is the last one that a page has given, also for later episodes; nil if the task gives them.
	command *Request
	// clip is the one that a page has chosen, or -1.
	clip int
	// drawn is when the last picture was made.
	drawn time.Time
}

// interval is the time between two control steps at the present rate.
func (s *session) interval() time.Duration {
	return time.Duration(s.step / s.frame.Rate * float64(time.Second))
}

// reset starts an episode. A negative seed goes on with the environment's random numbers.
func (s *session) reset(seed int64) (err error) {
	if s.now, err = s.cfg.Env.Reset(seed); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	return s.begin()
}

// begin counts an episode that has just begun, and gives the page's command again: the reset has replaced it by one
// of the task.
func (s *session) begin() error {
	f := &s.frame
	f.Episode++
	f.Time, f.Reward, f.Return, f.Figures = 0, 0, 0, nil
	if s.command == nil {
		return nil
	}
	return s.character.SetCommand(0, s.command.Direction, s.command.Speed)
}

// advance takes one control step and updates the frame. If the episode ended, the environment already shows the next
// one.
func (s *session) advance() error {
	actions, err := s.cfg.Act(s.now)
	if err != nil {
		return err
	}
	if s.now, err = s.cfg.Env.Step(actions); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	f := &s.frame
	f.Steps++
	f.Time += s.step
	f.Reward = float64(s.now.Raw()[0])
	f.Return += f.Reward
	f.Figures = map[string]float64{}
	maps.Copy(f.Figures, s.now.Metrics)
	if s.cfg.Figures != nil {
		more, err := s.cfg.Figures(s.now)
		if err != nil {
			return err
		}
		maps.Copy(f.Figures, more)
	}
	// JSON has no NaN and no infinities.
	maps.DeleteFunc(f.Figures, func(_ string, x float64) bool { return x-x != 0 })
	if s.now.Ended(0) {
		f.Last = &Ended{f.Return, f.Time, s.now.Terminated[0]}
		return s.begin()
	}
	return nil
}

// serve does what a page asks for. The request has passed check.
func (s *session) serve(r *Request) error {
	switch r.Do {
	case "pause":
		s.frame.Paused = true
	case "go":
		s.frame.Paused = false
	case "step":
		s.frame.Paused = true
		return s.advance()
	case "reset":
		s.frame.Last = &Ended{s.frame.Return, s.frame.Time, false}
		return s.reset(-1)
	case "rate":
		s.frame.Rate = r.Rate
	case "push":
		return s.character.Push(0, 1, r.Impulse)
	case "command":
		s.command = r
		return s.character.SetCommand(0, r.Direction, r.Speed)
	case "task":
		s.command = nil
	case "clip":
		if err := s.clips.SetClip(r.Clip); err != nil {
			return fmt.Errorf("view: %w", err)
		}
		s.clip = r.Clip
		return s.serve(&Request{Do: "reset"})
	}
	return nil
}

// show sends the present state to all pages. It runs after every step and request, and for a page that has just
// joined.
func (s *session) show() (err error) {
	f := s.frame
	if s.character == nil {
		err = s.picture(&f)
	} else {
		err = s.poses(&f)
	}
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	text, err := encode(message{Frame: &f})
	if err != nil {
		return err
	}
	for c := range s.clients {
		c.put(text)
	}
	return nil
}

// picture adds a picture to a frame, at most 30 of them a second while time passes.
func (s *session) picture(f *Frame) error {
	if !f.Paused && time.Since(s.drawn) <= time.Second/30 {
		return nil
	}
	s.drawn = time.Now()
	img, err := s.renderer.Render(0)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&text, img)
	f.Picture = text.Bytes()
	return err
}

// poses adds the character's state to a frame.
func (s *session) poses(f *Frame) (err error) {
	look, err := s.character.Look(0)
	if err != nil { // a closed environment has no State
		return err
	}
	f.Poses, f.Ghost, f.Contacts = look.Poses, look.Reference, look.Contacts
	if s.clips != nil {
		f.Clip = &Clip{Chosen: s.clip}
		f.Clip.Now, err = s.clips.Clip(0)
	}
	f.Root = [3]float64(s.character.State(0).XPos[3:6])
	if c, ok := s.character.Commanded(0); ok {
		f.Command = &c
	}
	return err
}
