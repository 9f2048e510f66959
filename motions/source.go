package motions

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Features turns one moment of a clip into what an AMP discriminator sees of it.
type Features struct {
	// Width is the number of values of one moment, F.
	Width int
	// Write fills out (F values) from positions and velocities as [Clip.At] gives them. It may be called by
	// several goroutines at once.
	Write func(pos, vel []float64, out []float32)
}

// StateFeatures are all positions but the travelled distance, then all velocities.
func StateFeatures(c *Clip) Features {
	var keep []int
	for at, col := range c.description.all {
		for i := range col.Kind.Width() {
			if col.Kind != Travel {
				keep = append(keep, at+i)
			}
		}
	}
	return Features{Width: len(keep) + c.v, Write: func(pos, vel []float64, out []float32) {
		for i, at := range keep {
			out[i] = float32(pos[at])
		}
		for i, x := range vel {
			out[len(keep)+i] = float32(x)
		}
	}}
}

// SourceConfig says what a [Source] draws.
type SourceConfig struct {
	// History is the number of moments of a row, at least 1; AMP usually sees 2.
	History int
	// TimeStep is the time between them in seconds: that of the environment's control.
	TimeStep float64
	Features Features
}

// Source draws rows of reference AMP observations from a library. Goroutines may share it if each has its own
// generator.
type Source struct {
	library *Library
	cfg     SourceConfig
}

// Source makes a source of reference motions. It fails on a configuration that makes no rows.
func (l *Library) Source(cfg SourceConfig) (*Source, error) {
	switch {
	case cfg.History < 1:
		return nil, fmt.Errorf("motions: History must be at least 1, and is %d", cfg.History)
	case !(cfg.TimeStep > 0) || !finite(cfg.TimeStep):
		return nil, fmt.Errorf("motions: TimeStep must be positive and finite, and is %g", cfg.TimeStep)
	case cfg.Features.Width < 1 || cfg.Features.Write == nil:
		return nil, errors.New("motions: Features need a positive Width and a Write function")
	}
	return &Source{library: l, cfg: cfg}, nil
}

// Width is the number of values of a row, M = History · Features.Width.
func (s *Source) Width() int { return s.cfg.History * s.cfg.Features.Width }

// CollectReferenceMotions draws n rows, n × M values; see [Library.Batch]. The same generator state gives the
// same rows.
func (s *Source) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	if n < 0 {
		return nil, fmt.Errorf("motions: cannot draw %d rows", n)
	}
	out := make([]float32, n*s.Width())
	s.Fill(out, rng)
	return out, nil
}

// Fill draws as many rows as fit into out, whose length must be a multiple of M; it panics otherwise.
func (s *Source) Fill(out []float32, rng *rand.Rand) {
	m := s.Width()
	if len(out)%m != 0 {
		panic(fmt.Sprintf("motions: Source.Fill: %d values are no multiple of a row's %d", len(out), m))
	}
	pos, vel := s.state()
	for ; len(out) > 0; out = out[m:] {
		c, t := s.draw(float64(s.cfg.History-1)*s.cfg.TimeStep, rng)
		s.window(c, t, pos, vel, out[:m])
	}
}

// CollectOverlappingMotions draws n pairs of rows of a clip, n × 2M values, of which the second begins 1 to History − 1 time
// steps behind the first, so that they overlap. Rows of one moment overlap with none, which is an error.
func (s *Source) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	if n < 0 {
		return nil, fmt.Errorf("motions: cannot draw %d pairs of rows", n)
	}
	if s.cfg.History < 2 {
		return nil, fmt.Errorf("motions: rows of History %d have one moment, and overlap with no other; give History 2 at least", s.cfg.History)
	}
	m := s.Width()
	out := make([]float32, 2*m*n)
	pos, vel := s.state()
	for i := range n {
		later := 1 + rng.IntN(s.cfg.History-1)
		c, t := s.draw(float64(s.cfg.History-1+later)*s.cfg.TimeStep, rng)
		pair := out[2*m*i:][:2*m]
		s.window(c, t, pos, vel, pair[:m])
		s.window(c, t+float64(later)*s.cfg.TimeStep, pos, vel, pair[m:])
	}
	return out, nil
}

// state makes room for positions and velocities of a moment.
func (s *Source) state() (pos, vel []float64) {
	first := s.library.clips[0]
	return make([]float64, first.w), make([]float64, first.v)
}

// draw returns a clip, drawn by weight, and a time in it from which it goes on for the given span in seconds, or wraps.
func (s *Source) draw(span float64, rng *rand.Rand) (c *Clip, t float64) {
	c = s.library.Draw(rng)
	begin, length := 0.0, c.Duration()
	if c.loop == LoopWrap {
		begin = -span // the window may reach over the seam
	} else {
		length = max(length-span, 0)
	}
	return c, begin + rng.Float64()*length
}

// window writes the row of a clip that begins at a time.
func (s *Source) window(c *Clip, t float64, pos, vel []float64, out []float32) {
	f := s.cfg.Features.Width
	for h := range s.cfg.History {
		c.At(t+float64(h)*s.cfg.TimeStep, pos, vel)
		s.cfg.Features.Write(pos, vel, out[h*f:(h+1)*f])
	}
}
