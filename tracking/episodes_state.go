package tracking

import (
	"fmt"
	"math"
)

// EpisodesState is what [Episodes] knows of episodes, for checkpoints: restored, statistics go on as if there had
// been no break.
type EpisodesState struct {
	// Returns and Lengths are those of the running episodes, (N) each. SetState leaves running episodes as they are
	// where these are nil.
	Returns []float64
	Lengths []int64
	// Totals and Durations are the returns and lengths of the last finished episodes, oldest first, at most
	// [EpisodeWindow].
	Totals, Durations []float64
	// Finished episodes so far, and how many of them the last Drain had seen.
	Finished, Drained int64
	// Rewards are those of single steps since the last Drain.
	Rewards Tally
}

// State returns a copy of what is known.
func (e *Episodes) State() EpisodesState {
	n := min(e.finished, EpisodeWindow)
	s := EpisodesState{
		Returns: append([]float64{}, e.returns...), Lengths: make([]int64, len(e.lengths)),
		Totals: make([]float64, n), Durations: make([]float64, n),
		Finished: e.finished, Drained: e.drained, Rewards: e.reward.state(),
	}
	for i, length := range e.lengths {
		s.Lengths[i] = int64(length)
	}
	for i := range n {
		ep := e.window[(e.finished-n+i)%EpisodeWindow]
		s.Totals[i], s.Durations[i] = ep.total, ep.length
	}
	return s
}

// SetState restores what State returned. An error says what does not fit; nothing has changed then.
func (e *Episodes) SetState(s EpisodesState) error {
	n := min(s.Finished, EpisodeWindow)
	switch {
	case s.Finished < 0 || s.Drained < 0 || s.Drained > s.Finished:
		return fmt.Errorf("tracking: %d episodes have finished and %d of them been seen; want 0 <= seen <= finished",
			s.Finished, s.Drained)
	case int64(len(s.Totals)) != n || int64(len(s.Durations)) != n:
		return fmt.Errorf("tracking: %d returns and %d lengths of finished episodes, of %d there are %d", len(s.Totals),
			len(s.Durations), s.Finished, n)
	case len(s.Returns) != len(s.Lengths):
		return fmt.Errorf("tracking: %d returns and %d lengths of running episodes; want as many", len(s.Returns),
			len(s.Lengths))
	case s.Returns != nil && len(s.Returns) != len(e.returns):
		return fmt.Errorf("tracking: episodes of %d environments, here are %d", len(s.Returns), len(e.returns))
	}
	for i, length := range s.Lengths {
		if length < 0 || length > math.MaxInt {
			return fmt.Errorf("tracking: the episode of environment %d has %d steps", i, length)
		}
	}
	copy(e.returns, s.Returns)
	for i, length := range s.Lengths {
		e.lengths[i] = int(length)
	}
	e.finished, e.drained, e.reward = s.Finished, s.Drained, *s.Rewards.tally()
	for i := range n {
		e.window[(e.finished-n+i)%EpisodeWindow] = episode{s.Totals[i], s.Durations[i]}
	}
	return nil
}
