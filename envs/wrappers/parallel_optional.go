package wrappers

import (
	"errors"
	"fmt"
	"image"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
)

// Supports reports whether the environments can be saved, drawn or asked for reference motion, see [envs.As].
func (p *Parallel) Supports(iface any) bool {
	ok := true
	switch iface.(type) {
	case *envs.Stateful:
		for _, s := range p.singles {
			_, has := envs.SingleAs[envs.Stateful](s)
			ok = ok && has
		}
	case *envs.Renderer:
		_, ok = envs.SingleAs[envs.SingleRenderer](p.singles[0])
	case *envs.MotionSource:
		_, ok = envs.SingleAs[envs.MotionSource](p.singles[0])
	}
	return ok
}

// Render draws environment i.
func (p *Parallel) Render(i int) (image.Image, error) {
	if i < 0 || i >= len(p.singles) {
		return nil, fmt.Errorf("wrappers: environment %d is not one of %d", i, len(p.singles))
	}
	r, ok := envs.SingleAs[envs.SingleRenderer](p.singles[i])
	if !ok {
		return nil, fmt.Errorf("wrappers: drawing environment %d (%T): %w", i, p.singles[i], errors.ErrUnsupported)
	}
	return r.Render()
}

// CollectReferenceMotions asks environment 0.
func (p *Parallel) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	m, ok := envs.SingleAs[envs.MotionSource](p.singles[0])
	if !ok {
		return nil, fmt.Errorf("wrappers: reference motion of %T: %w", p.singles[0], errors.ErrUnsupported)
	}
	return m.CollectReferenceMotions(n, rng)
}
