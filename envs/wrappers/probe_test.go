package wrappers_test

import (
	"encoding/binary"
	"errors"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// probe is a Single whose every value can be told in advance. Its observation is (index, steps taken in the episode,
// a random number), its state the episode's number, its AMP observation 10 × steps. Its episodes last as many steps as
// length says.
type probe struct {
	index, length  int
	steps, episode int
	rng            *rand.Rand
	fault          func(p *probe, out envs.Row) error // called in Step
	closed         *int
	badState       bool
	metrics        map[string]float64
	panics         string  // the method that panics: "Spaces", "Reset", "Render" ...
	constant       bool    // the state stays 0
	more           float64 // is added to the reward
}

// enter panics in the method that panics.
func (p *probe) enter(method string) {
	if p.panics == method {
		panic("lost a wheel")
	}
}

func (p *probe) Render() (image.Image, error) {
	p.enter("Render")
	return image.NewGray(image.Rect(0, 0, 1, 1)), nil
}

func (p *probe) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) {
	p.enter("CollectReferenceMotions")
	return make([]float32, n), nil
}

func (p *probe) Spaces() spaces.Set {
	p.enter("Spaces")
	return spaces.Set{Observation: spaces.Unbounded(3), State: spaces.Unbounded(1), Action: spaces.NewBox(-1, 2, 2),
		AMPObservation: spaces.Unbounded(1)}
}

func (p *probe) Reset(rng *rand.Rand, out envs.Row) error {
	p.enter("Reset")
	p.rng, p.steps = rng, 0
	if !p.constant {
		p.episode++
	}
	p.write(out)
	out.AMPObservation[0] = -1
	return nil
}

func (p *probe) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	p.steps++
	p.write(out)
	if p.fault != nil {
		if err := p.fault(p, out); err != nil {
			return 0, false, false, err
		}
	}
	return float64(action[0]) + p.more, p.steps == p.length, false, nil
}

func (p *probe) write(out envs.Row) {
	out.Observation[0], out.Observation[1], out.Observation[2] = float32(p.index), float32(p.steps), p.rng.Float32()
	out.State[0] = float32(p.episode)
	out.AMPObservation[0] = float32(10 * p.steps)
}

func (p *probe) EpisodeMetrics() map[string]float64 {
	if p.metrics == nil {
		p.metrics = map[string]float64{}
	}
	p.metrics["episode"] = float64(p.episode)
	return p.metrics
}

func (p *probe) MarshalState() ([]byte, error) {
	p.enter("MarshalState")
	b := binary.LittleEndian.AppendUint32(nil, uint32(p.steps))
	return binary.LittleEndian.AppendUint32(b, uint32(p.episode)), nil
}

func (p *probe) RestoreState(b []byte) error {
	p.enter("RestoreState")
	if len(b) != 8 || p.badState {
		return errors.New("probe: bad state")
	}
	p.steps, p.episode = int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	return nil
}

func (p *probe) Close() error {
	p.enter("Close")
	if p.closed != nil {
		*p.closed++
	}
	return nil
}

// probes is a batch of n probes; the episodes of probe i last 2+i steps.
func probes(t testing.TB, n int, opts wrappers.ParallelOptions, change func(i int, p *probe)) *wrappers.Parallel {
	t.Helper()
	env := must.Get(wrappers.NewParallel(n, func(i int) (envs.Single, error) {
		p := &probe{index: i, length: 2 + i}
		if change != nil {
			change(i, p)
		}
		return p, nil
	}, opts))(t)
	t.Cleanup(func() { must.Do(t, env.Close()) })
	return env
}

var nan, inf = float32(math.NaN()), float32(math.Inf(1))
