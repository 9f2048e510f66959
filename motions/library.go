package motions

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
)

// Library is a set of clips of one layout, drawn by weight. It does not change after it was made, so
// goroutines may share it.
type Library struct {
	clips      []*Clip
	cumulative []float64 // running sums of the weights
}

// NewLibrary makes a library. It fails where there are no clips, or where their columns differ.
func NewLibrary(clips ...*Clip) (*Library, error) {
	if len(clips) == 0 {
		return nil, errors.New("motions: a library needs at least one clip")
	}
	l := &Library{clips: append([]*Clip(nil), clips...)}
	total := 0.0
	for i, c := range clips {
		if c == nil {
			return nil, fmt.Errorf("motions: clip %d is nil", i)
		}
		if err := sameLayout(clips[0], c); err != nil {
			return nil, fmt.Errorf("motions: %s and %s cannot share a library: %w", nameOr(clips[0].name), nameOr(c.name), err)
		}
		total += c.weight
		l.cumulative = append(l.cumulative, total)
	}
	if !finite(total) {
		return nil, errors.New("motions: the weights add up to more than can be represented")
	}
	return l, nil
}

// LoadLibrary reads clips with [Load] and makes a library of them.
func LoadLibrary(paths ...string) (*Library, error) {
	clips := make([]*Clip, len(paths))
	for i, path := range paths {
		c, err := Load(path)
		if err != nil {
			return nil, err
		}
		clips[i] = c
	}
	return NewLibrary(clips...)
}

func sameLayout(a, b *Clip) error {
	if a.w != b.w {
		return fmt.Errorf("their frames have %d and %d values", a.w, b.w)
	}
	ca, cb := a.description.Columns, b.description.Columns
	for i := range min(len(ca), len(cb)) {
		// A clip that does not go on from loop to loop may stand beside one that does.
		travels := (ca[i].Kind == Travel && cb[i].Kind == Linear) || (ca[i].Kind == Linear && cb[i].Kind == Travel)
		if ca[i].Name != cb[i].Name || (ca[i].Kind != cb[i].Kind && !travels) {
			return fmt.Errorf("column %d is %s (%s) in one and %s (%s) in the other", i, ca[i].Name, ca[i].Kind, cb[i].Name,
				cb[i].Kind)
		}
	}
	if len(ca) != len(cb) {
		return fmt.Errorf("they have %d and %d columns", len(ca), len(cb))
	}
	return nil
}

// Clips returns the clips, in the order given.
func (l *Library) Clips() []*Clip { return append([]*Clip(nil), l.clips...) }

// Draw returns a clip drawn by weight.
func (l *Library) Draw(rng *rand.Rand) *Clip {
	x := rng.Float64() * l.cumulative[len(l.cumulative)-1]
	i := sort.Search(len(l.cumulative), func(i int) bool { return l.cumulative[i] > x })
	return l.clips[min(i, len(l.clips)-1)]
}

// Sample draws a clip by weight and a time in it, uniform over its duration: a state to start an episode in.
func (l *Library) Sample(rng *rand.Rand) (*Clip, float64) {
	c := l.Draw(rng)
	return c, rng.Float64() * c.Duration()
}

// Batch draws n moments and writes, for each, the features at history times dt seconds apart, the oldest
// first: n × (history · features.Width) values. A window lies wholly inside a clip that does not
// wrap, unless the clip is shorter than the window.
func (l *Library) Batch(rng *rand.Rand, n, history int, dt float64, features Features) ([]float32, error) {
	s, err := l.Source(SourceConfig{History: history, TimeStep: dt, Features: features})
	if err != nil {
		return nil, err
	}
	return s.CollectReferenceMotions(n, rng)
}
