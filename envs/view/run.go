package view

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/gorl-dev/gorl/envs"
)

// Run steps the environment in real time until the context ends, which is no error, or something fails. It is called
// once.
func (v *Viewer) Run(ctx context.Context) (err error) {
	s := &session{Viewer: v, clients: map[*client]bool{}, frame: Frame{Rate: 1}, clip: -1}
	defer func() { // pages are told before the program ends
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

// session is a run in progress.
type session struct {
	*Viewer
	clients map[*client]bool
	now     *envs.Step // what Reset or Step returned last
	frame   Frame
	command *Request // that the page has given, for coming episodes too
	clip    int      // that the page has chosen, or -1
}

// interval is the time between two steps.
func (s *session) interval() time.Duration {
	return time.Duration(s.character.State(0).TimeStep / s.frame.Rate * float64(time.Second))
}

// reset begins an episode.
func (s *session) reset(seed int64) (err error) {
	if s.now, err = s.cfg.Env.Reset(seed); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	return s.begin()
}

// begin counts an episode that begins, and repeats the command of the page.
func (s *session) begin() error {
	f := &s.frame
	f.Episode++
	f.Time, f.Reward, f.Return, f.Figures = 0, 0, 0, nil
	if s.command == nil {
		return nil
	}
	return s.character.SetCommand(0, s.command.Direction, s.command.Speed)
}

// advance takes one control step.
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
	f.Time += s.character.State(0).TimeStep
	f.Reward = float64(s.now.Raw()[0])
	f.Return += f.Reward
	f.Figures = maps.Clone(s.now.Metrics)
	if s.cfg.Figures != nil {
		more, err := s.cfg.Figures(s.now)
		if err != nil {
			return err
		}
		if f.Figures == nil {
			f.Figures = map[string]float64{}
		}
		maps.Copy(f.Figures, more)
	}
	maps.DeleteFunc(f.Figures, func(_ string, x float64) bool { return x-x != 0 }) // JSON has no NaN
	if s.now.Ended(0) {
		f.Last = &Ended{f.Return, f.Time, s.now.Terminated[0]}
		return s.begin()
	}
	return nil
}

// serve does what a page has asked for. The request has been checked.
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

// show sends how things stand to all pages.
func (s *session) show() (err error) {
	f := s.frame
	if f.Poses, err = s.character.Poses(0, nil); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	if f.Ghost, _, err = s.character.ReferencePoses(0, nil); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	if f.Contacts, err = s.character.Contacts(0, nil); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	if s.clips != nil {
		now, err := s.clips.Clip(0)
		if err != nil {
			return fmt.Errorf("view: %w", err)
		}
		f.Clip = &Clip{Now: now, Chosen: s.clip}
	}
	f.Root = [3]float64(s.character.State(0).XPos[3:6])
	if c, ok := s.character.Commanded(0); ok {
		f.Command = &c
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
