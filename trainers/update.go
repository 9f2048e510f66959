package trainers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/tracking"
)

// update lets the agent learn from its complete rollout. Then it collects the figures that the agent tracked, exchanges
// episodes with the other ranks, and calls OnUpdate. With agents.Overlapping the update may still be running.
func (l *loop) update(ctx context.Context) error {
	start := time.Now()
	l.files.saved = false // the newest checkpoint is of the weights before
	if err := l.agent.Update(ctx); err != nil {
		l.trackAgent() // of several agents, some may have learned
		l.rank.diverged(err)
		return fmt.Errorf("trainers: update at timestep %d: %w", l.timestep, err)
	}
	l.figures.recorder.Track(tracking.TagUpdateTime, ms(time.Since(start)))
	l.figures.updates++
	l.trackAgent()
	if err := l.exchange(); err != nil {
		return err
	}
	// Most of this time is waiting for the slowest rank.
	if l.rank.Several() {
		l.figures.recorder.Track("Stats / Waiting for other ranks (ms)", ms(l.rank.Spent()-l.rank.spent))
		l.rank.spent = l.rank.Spent()
	}
	return l.calls.notify(func(c Callback, t *Trainer) error { return c.OnUpdate(t) })
}

// learned waits for an update that continues after the agent's Update has returned (agents.Overlapping), and collects
// its figures. It ignores cancellation, because a state with half an update cannot be saved. Savers call it first.
func (l *loop) learned() error {
	o, ok := agents.As[agents.Overlapping](l.agent)
	if !ok {
		return nil
	}
	if err := o.Wait(context.Background()); err != nil {
		return fmt.Errorf("trainers: update before timestep %d: %w", l.timestep, err)
	}
	l.trackAgent()
	return nil
}

// trackAgent collects the values that the agent has tracked since the last call: the recorder keeps them for files,
// metrics for programs. It also keeps the agent's notes (agents.Noter) for Notes and reports them as warnings.
func (l *loop) trackAgent() {
	if tracker, ok := agents.As[agents.Tracker](l.agent); ok {
		tracker.Tracked(func(tag string, value float64) {
			l.figures.recorder.Track(tag, value)
			l.figures.metrics.track(tag, value)
		})
	}
	if noter, ok := agents.As[agents.Noter](l.agent); ok {
		noter.Noted(func(note string) {
			l.agentNotes = append(l.agentNotes, note)
			l.files.warn(errors.New(note))
		})
	}
}
