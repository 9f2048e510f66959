package motions

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
)

// Features turns one moment of a clip into what an AMP discriminator sees of it.
type Features struct {
	// Width is the number of values of one moment, F.
	Width int
	// Write fills out (F values) from positions and velocities as [Clip.At] gives them. Several goroutines may call it
	// at once.
	Write func(pos, vel []float64, out []float32)
}

// StateFeatures returns all positions except the distance travelled, then all velocities.
func StateFeatures(c *Clip) Features {
	var keep []int
	for at, col := range c.description.each {
		for i := range col.Kind.Width() {
			if col.Kind != Travel {
				keep = append(keep, at.pos+i)
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
	// History is the number of moments of a row, at least 1. AMP usually sees 2.
	History int
	// TimeStep is the time between moments in seconds: the environment's control step.
	TimeStep float64
	Features Features
}

// Source draws rows of reference AMP observations from clips. Goroutines may share a source if each has its own
// generator.
type Source struct {
	clips      []*Clip
	cumulative []float64 // running sums of the clips' weights
	cfg        SourceConfig
}

// NewSource makes a source of clips with the same columns, which are drawn by weight ([Clip.WithWeight]). It fails if
// there are no clips, their columns differ, or a setting is out of range.
func NewSource(cfg SourceConfig, clips ...*Clip) (*Source, error) {
	switch {
	case cfg.History < 1:
		return nil, fmt.Errorf("motions: History must be at least 1, and is %d", cfg.History)
	case !(cfg.TimeStep > 0) || infinite(cfg.TimeStep):
		return nil, fmt.Errorf("motions: TimeStep must be positive and finite, and is %g", cfg.TimeStep)
	case cfg.Features.Width < 1 || cfg.Features.Write == nil:
		return nil, errors.New("motions: Features need a positive Width and a Write function")
	case len(clips) == 0:
		return nil, errors.New("motions: a source needs at least one clip")
	}
	s := &Source{clips: slices.Clone(clips), cfg: cfg}
	total := 0.0
	for i, c := range clips {
		if c == nil {
			return nil, fmt.Errorf("motions: clip %d is nil", i)
		}
		if err := compareColumns(clips[0], c); err != nil {
			return nil, fmt.Errorf("motions: clips 0 (%s) and %d (%s) cannot share a source: %w", clips[0].name, i,
				c.name, err)
		}
		total += c.weight
		s.cumulative = append(s.cumulative, total)
	}
	if infinite(total) {
		return nil, errors.New("motions: the weights add up to more than can be represented")
	}
	return s, nil
}

// compareColumns fails if two clips differ in columns. A clip that starts each loop at the same place may share a
// source with a clip that travels on.
func compareColumns(a, b *Clip) error {
	if a.w != b.w {
		return fmt.Errorf("their frames have %d and %d values", a.w, b.w)
	}
	for i, ca := range a.description.Columns {
		cb := b.description.Columns[min(i, len(b.description.Columns)-1)]
		if ca.Name != cb.Name || (ca.Kind != cb.Kind && ca.Kind+cb.Kind != Linear+Travel) {
			return fmt.Errorf("column %d is %s (%s) in one and %s (%s) in the other", i, ca.Name, ca.Kind, cb.Name,
				cb.Kind)
		}
	}
	return nil
}

// Width returns the number of values of a row, M = History · Features.Width.
func (s *Source) Width() int { return s.cfg.History * s.cfg.Features.Width }

// CollectReferenceMotions draws n rows, n × M values: for each a clip by weight, a moment in it, and the features at
// History times, TimeStep apart, the oldest first. A row lies wholly inside a clip that does not wrap, unless the clip
// is shorter than the row. The same generator state gives the same rows.
func (s *Source) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	if n < 0 {
		return nil, fmt.Errorf("motions: cannot draw %d rows", n)
	}
	return s.collect(n, 1, rng), nil
}

// CollectOverlappingMotions draws n pairs of rows of a clip, n × 2M values. The second row begins 1 to History − 1 time
// steps after the first, so the two overlap. It fails if History is 1, because rows of one moment cannot overlap.
func (s *Source) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	if n < 0 {
		return nil, fmt.Errorf("motions: cannot draw %d pairs of rows", n)
	}
	if s.cfg.History < 2 {
		return nil, fmt.Errorf("motions: rows of History %d have one moment and cannot overlap; set History to at "+
			"least 2", s.cfg.History)
	}
	return s.collect(n, 2, rng), nil
}

// collect draws n rows, or n pairs of rows: for each a clip by weight and a time from which the clip lasts as long as
// the rows, or wraps.
func (s *Source) collect(n, rows int, rng *rand.Rand) []float32 {
	m, f, dt := s.Width(), s.cfg.Features.Width, s.cfg.TimeStep
	pos, vel := make([]float64, s.clips[0].w), make([]float64, s.clips[0].v)
	out := make([]float32, n*rows*m)
	for i := range n {
		later := 0 // time steps from the first row to the second
		if rows > 1 {
			later = 1 + rng.IntN(s.cfg.History-1)
		}
		span := float64(s.cfg.History-1+later) * dt
		x := rng.Float64() * s.cumulative[len(s.cumulative)-1]
		k := sort.Search(len(s.cumulative), func(k int) bool { return s.cumulative[k] > x })
		clip := s.clips[min(k, len(s.clips)-1)]
		begin, length := 0.0, clip.Duration()
		if clip.loop == LoopWrap {
			begin = -span // the row may reach over the seam
		} else {
			length = max(length-span, 0)
		}
		begin += rng.Float64() * length
		for row := range rows {
			t := begin + float64(row*later)*dt
			for h := range s.cfg.History {
				clip.At(t+float64(h)*dt, pos, vel)
				s.cfg.Features.Write(pos, vel, out[(i*rows+row)*m+h*f:][:f])
			}
		}
	}
	return out
}
