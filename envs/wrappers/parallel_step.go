package wrappers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/spaces"
)

// Step applies one row of actions to every environment. Actions of the wrong length, NaN or infinite actions, indices
// out of range and choices that the masks forbid are refused before any environment moves.
func (p *Parallel) Step(actions []float32) (*envs.Step, error) {
	if err := p.guard.Enter(&callStep); err != nil {
		return nil, err
	}
	defer p.guard.Leave()
	if !p.ready {
		return nil, errors.New("wrappers: call Reset before Step: the environments have not been reset, or an " +
			"error stopped them")
	}
	err := p.set.Action.Check(actions, len(p.singles))
	if err == nil {
		err = p.set.CheckAllowed(actions, p.all.ActionMasks)
	}
	if err != nil {
		return nil, fmt.Errorf("wrappers: actions: %w", err)
	}
	// As in Reset: after an error only a Reset can help.
	p.ready = false
	if err := p.advance(actions); err != nil {
		return nil, err
	}
	p.ready = true
	p.collectEnds()
	return &p.step, nil
}

// advance steps every environment, or resets it if actions is nil, and checks the masks that they wrote.
func (p *Parallel) advance(actions []float32) error {
	if err := p.each(actions); err != nil {
		return err
	}
	masks := p.all.ActionMasks
	err := cmp.Or(p.set.CheckMasks(masks, len(p.singles)), p.set.CheckSeats(masks, p.all.Seats.Active))
	if err != nil {
		return fmt.Errorf("wrappers: %T: %w", p.singles[0], err)
	}
	return nil
}

// collectEnds makes p.step of all, with the episodes that ended in this step, and the final observations if any did. It
// then starts their counts from 0.
func (p *Parallel) collectEnds() {
	p.episodes = p.episodes[:0]
	for i := range p.singles {
		if !p.all.Ended(i) {
			continue
		}
		p.episodes = append(p.episodes,
			envs.Episode{Env: i, Return: p.returns[i], Length: p.lengths[i], Metrics: p.metrics[i]})
		// The environment was reset in this step, so its next episode has begun.
		p.returns[i], p.lengths[i], p.metrics[i] = 0, 0, nil
	}
	p.step = p.all
	if len(p.episodes) > 0 {
		p.step.Episodes = p.episodes
	} else {
		p.step.FinalObservations, p.step.FinalStates = nil, nil
	}
}

// chunk is a run of neighbouring environments, from from to to (exclusive), that one goroutine steps.
type chunk struct {
	from, to int
	// at is the environment being worked on. After a panic it says which one it was.
	at int
	// work brings the batch's actions (N, A), nil for a reset. The first chunk has none: it runs on the caller's
	// goroutine.
	work chan []float32
	// err is the first error of this step in the chunk.
	err error
	// scratch (M) takes the AMP observation that a reset may write. The row in the batch must keep that of the step.
	scratch []float32
}

// startWorkers splits the environments evenly into chunks and starts a goroutine for each but the first. The
// goroutines end when Close closes their channels.
func (p *Parallel) startWorkers(workers int) {
	n := len(p.singles)
	for w := range workers {
		c := &chunk{from: w * n / workers, to: (w + 1) * n / workers, scratch: p.set.AMPObservation.Rows(1)}
		p.chunks = append(p.chunks, c)
		if w == 0 {
			continue
		}
		c.work = make(chan []float32)
		go func() {
			for actions := range c.work {
				p.run(c, actions)
				p.wg.Done()
			}
		}()
	}
}

// each steps every environment, or resets it if actions is nil, and waits for all. It returns the error of the lowest
// index, so that the error does not depend on the number of workers.
func (p *Parallel) each(actions []float32) error {
	// The first chunk runs here: one goroutine less to wake, and a batch with one worker wakes none.
	p.wg.Add(len(p.chunks) - 1)
	for _, c := range p.chunks[1:] {
		c.work <- actions
	}
	p.run(p.chunks[0], actions)
	p.wg.Wait()
	// Chunks are in the order of environments, and each stops at its first error.
	for _, c := range p.chunks {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// run works through one chunk up to its first error or panic. The environments after it keep the rows of the step
// before, which is why the batch needs a Reset.
func (p *Parallel) run(c *chunk, actions []float32) {
	c.err = nil
	// One Catch around the loop costs nothing per environment; at says which one panicked.
	if v := panics.Catch(func() {
		for c.at = c.from; c.at < c.to && c.err == nil; c.at++ {
			var err error
			if actions == nil {
				p.returns[c.at], p.lengths[c.at], p.metrics[c.at] = 0, 0, nil
				err = p.resetOne(c.at, c.scratch)
			} else {
				err = p.stepOne(c.at, row(actions, c.at, p.width.action), c.scratch)
			}
			c.err = p.singles.of(c.at, err)
		}
	}); v != nil {
		c.err = p.singles.panicked(c.at, v)
	}
}

// stepOne steps environment i with action (A), checks what it wrote, and resets it if its episode ended. The final
// observation is copied before the reset overwrites the row.
func (p *Parallel) stepOne(i int, action, scratch []float32) error {
	out := p.row(i)
	reward, terminated, truncated, err := p.singles[i].Step(action, out)
	if err != nil {
		return fmt.Errorf("step %d of the episode: %w", p.lengths[i]+1, err)
	}
	p.returns[i] += reward
	p.lengths[i]++
	p.all.Rewards[i], p.all.Terminated[i], p.all.Truncated[i] = float32(reward), terminated, truncated
	// The sum that matters is float32: a large float64 may become an infinity.
	if r := p.all.Rewards[i]; r-r != 0 {
		return fmt.Errorf("step %d of the episode: the reward is %g; it must be finite", p.lengths[i], reward)
	}
	if err := cmp.Or(finite(out), out.Seats.Check(1, len(p.set.Seats))); err != nil {
		return fmt.Errorf("step %d of the episode: %w", p.lengths[i], err)
	}
	if !terminated && !truncated {
		return nil
	}
	if m := p.meters[i]; m != nil {
		// The environment may reuse its map, and the reset below may change it.
		p.metrics[i] = maps.Clone(m.EpisodeMetrics())
	}
	copy(row(p.all.FinalObservations, i, p.width.observation), out.Observation)
	copy(row(p.all.FinalStates, i, p.width.state), out.State)
	return p.resetOne(i, scratch)
}

// row is where environment i writes.
func (p *Parallel) row(i int) envs.Row {
	return envs.Row{
		Observation:    row(p.all.Observations, i, p.width.observation),
		State:          row(p.all.States, i, p.width.state),
		AMPObservation: row(p.all.AMPObservations, i, p.width.amp),
		ActionMask:     row(p.all.ActionMasks, i, p.width.mask),
		Seats:          p.all.Seats.Row(i, len(p.set.Seats)),
	}
}

// resetOne starts environment i's next episode. scratch takes an AMP observation, which a reset has no use for.
func (p *Parallel) resetOne(i int, scratch []float32) error {
	out := p.row(i)
	out.AMPObservation = scratch
	// The rest of the seats' rows is of the step that ended the episode.
	out.Seats = spaces.SeatStep{Active: out.Seats.Active}
	if err := p.singles[i].Reset(p.rngs[i], out); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	// A reset has no AMP observation, so what was written there is not checked.
	out.AMPObservation = nil
	if err := finite(out); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return nil
}

// finite returns an error that names the first NaN or infinite value of a row: its part and its dimension.
func finite(r envs.Row) error {
	for k, part := range [...][]float32{r.Observation, r.State, r.AMPObservation} {
		if i := number.FirstNonFinite(part); i >= 0 {
			name := [...]string{"observation", "state", "AMP observation"}[k]
			return fmt.Errorf("%s, dimension %d is %g; it must be finite", name, i, part[i])
		}
	}
	return nil
}

// row returns row i of a batch with rows of width w, or nil if w is 0. Its capacity ends with the row, so an append
// cannot run over into the next one.
func row(batch []float32, i, w int) []float32 {
	if w == 0 {
		return nil
	}
	return batch[i*w : (i+1)*w : (i+1)*w]
}
