package wrappers

import (
	"errors"
	"fmt"
	"image"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
)

// Supports reports whether the environments can be saved, drawn, shaped or asked for reference motion, and whether
// they have a curriculum, see [envs.As]. State, shaping and curricula need every environment. For pictures and
// reference motion only environment 0 is checked, which stands for all.
func (p *Parallel) Supports(iface any) bool {
	ok := true
	switch iface.(type) {
	case *envs.Stateful:
		ok = every[envs.Stateful](p.singles)
	case *envs.RewardShaper:
		ok = every[envs.SingleRewardShaper](p.singles)
	case *envs.Curriculum:
		ok = every[envs.Curriculum](p.singles)
	case *envs.Renderer:
		_, ok = envs.SingleAs[envs.SingleRenderer](p.singles[0])
	case *envs.MotionSource:
		_, ok = envs.SingleAs[envs.MotionSource](p.singles[0])
	}
	return ok
}

// Render draws environment i.
func (p *Parallel) Render(i int) (picture image.Image, err error) {
	if i < 0 || i >= len(p.singles) {
		return nil, fmt.Errorf("wrappers: environment %d is not one of %d", i, len(p.singles))
	}
	r, err := as[envs.SingleRenderer](p.singles, i, "a picture")
	if err != nil {
		return nil, err
	}
	err = p.singles.call(i, func() (err error) { picture, err = r.Render(); return err })
	return picture, err
}

// StepDuration is the duration of a step of environment 0 in seconds, 0 if that is not known.
func (p *Parallel) StepDuration() float64 {
	if timed, ok := envs.SingleAs[envs.Timed](p.singles[0]); ok {
		return timed.StepDuration()
	}
	return 0
}

// CollectReferenceMotions returns n rows, n × M values, from environment 0. All environments show the same motion.
func (p *Parallel) CollectReferenceMotions(n int, rng *rand.Rand) (rows []float32, err error) {
	m, ok := envs.SingleAs[envs.MotionSource](p.singles[0])
	if !ok {
		return nil, fmt.Errorf("wrappers: the environment (%T) shows no reference motion: give it the method "+
			"CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error), see envs.MotionSource (%w)",
			p.singles[0], errors.ErrUnsupported)
	}
	err = p.singles.call(0, func() (err error) { rows, err = m.CollectReferenceMotions(n, rng); return err })
	return rows, err
}
