package tracking

import (
	"fmt"
	"slices"
)

// TagReturn is the tag of the mean return over the last finished episodes, from the environment's own rewards.
// [TagTotalReward], which is skrl's, is from the rewards that the agent gets after reward wrappers.
const TagReturn = "Episode / return"

// Tags that skrl's agents and trainers write. Tags of statistics end in " (mean)", " (min)" and " (max)".
const (
	TagInstantaneousReward = "Reward / Instantaneous reward"
	TagTotalReward         = "Reward / Total reward"
	TagTotalTimesteps      = "Episode / Total timesteps"

	TagInferenceTime   = "Stats / Inference time (ms)"
	TagEnvSteppingTime = "Stats / Env stepping time (ms)"
	TagUpdateTime      = "Stats / Algorithm update time (ms)"
)

// Tags of counts. Axes of plots are made of them.
const (
	TagTimesteps = "Stats / Timesteps"
	TagUpdates   = "Stats / Updates"
)

// episodeWindow is the number of finished episodes in episode statistics.
const episodeWindow = 100

// Episodes collects the returns and lengths of episodes in N environments that reset themselves. Statistics are over
// the last 100 finished episodes, each counted once. (skrl counts an episode again at every step until the
// next write, and resets the wrong environment's sums.) One goroutine at a time may use it.
type Episodes struct {
	returns []float64 // of the episodes in progress, (N)
	lengths []int64   // of the episodes in progress, (N)

	window   [episodeWindow][2]float64 // returns and lengths of the last finished episodes, a ring
	finished int64                     // number of episodes
	drained  int64                     // number of episodes at the last Drain
	reward   Tally                     // of single steps since the last Drain
}

// NewEpisodes returns the statistics of numEnvs environments. Their first steps begin episodes.
func NewEpisodes(numEnvs int) (*Episodes, error) {
	if numEnvs < 1 {
		return nil, fmt.Errorf("tracking: episode statistics of %d environments; want at least 1", numEnvs)
	}
	return &Episodes{returns: make([]float64, numEnvs), lengths: make([]int64, numEnvs)}, nil
}

// Record adds one step: rewards, terminated and truncated are (N). An episode ends if either flag is true. Rows marked
// in invalid, (N) or nil, are not steps of an episode (see envs.Step). They are not counted unless they end one. After
// an error nothing has changed.
func (e *Episodes) Record(rewards []float32, terminated, truncated, invalid []bool) error {
	if n := len(e.returns); len(rewards) != n || len(terminated) != n || len(truncated) != n {
		return fmt.Errorf("tracking: episode statistics of %d environments got %d rewards, %d terminated, %d truncated",
			n, len(rewards), len(terminated), len(truncated))
	}
	for i, r := range rewards {
		if invalid != nil && invalid[i] && !terminated[i] && !truncated[i] {
			continue
		}
		e.reward.add(float64(r))
		e.returns[i] += float64(r)
		e.lengths[i]++
		if terminated[i] || truncated[i] {
			e.Add(e.returns[i], float64(e.lengths[i]))
			e.returns[i], e.lengths[i] = 0, 0
		}
	}
	return nil
}

// Last returns the returns and lengths of the last n finished episodes, oldest first, at most 100.
func (e *Episodes) Last(n int64) [][2]float64 {
	n = min(n, e.finished, episodeWindow)
	out := make([][2]float64, 0, n)
	for i := e.finished - n; i < e.finished; i++ {
		out = append(out, e.window[i%episodeWindow])
	}
	return out
}

// Add counts a finished episode, for example one of another process.
func (e *Episodes) Add(total, length float64) {
	e.window[e.finished%episodeWindow] = [2]float64{total, length}
	e.finished++
}

// Finished returns the number of episodes that have ended since the start or the last Reset.
func (e *Episodes) Finished() int64 { return e.finished }

// Drain calls f with the mean, min and max of the rewards of single steps since the last Drain. If an episode has ended
// since then, it also reports the returns and lengths of the last finished episodes.
func (e *Episodes) Drain(f func(tag string, value float64)) {
	var totals, lengths Tally
	if e.finished > e.drained {
		for _, ep := range e.window[:min(e.finished, episodeWindow)] {
			totals.add(ep[0])
			lengths.add(ep[1])
		}
		e.drained = e.finished
	}
	reward := e.reward
	e.reward = Tally{}
	lengths.report(TagTotalTimesteps, f)
	reward.report(TagInstantaneousReward, f)
	totals.report(TagTotalReward, f)
}

// Emit drains into a sink. It does not flush the sink.
func (e *Episodes) Emit(s Sink, step int64) {
	e.Drain(func(tag string, value float64) { s.Scalar(tag, step, value) })
}

// Reset clears finished episodes and those in progress. Call it after a reset of the environments from outside, or
// after the agent was replaced.
func (e *Episodes) Reset() {
	clear(e.returns)
	clear(e.lengths)
	e.finished, e.drained, e.reward = 0, 0, Tally{}
}

// report calls f with the three forms of a tag, if there are values.
func (t *Tally) report(tag string, f func(string, float64)) {
	if t.Count == 0 {
		return
	}
	f(tag+" (max)", t.Max)
	f(tag+" (mean)", t.mean())
	f(tag+" (min)", t.Min)
}

// EpisodesState is the state of [Episodes] for checkpoints. Restored statistics continue without a break.
type EpisodesState struct {
	// Returns and Lengths are those of the episodes in progress, (N) each. If they are nil, SetState does not change
	// the episodes in progress.
	Returns []float64
	Lengths []int64
	// Totals and Durations are the returns and lengths of the last finished episodes, oldest first, at
	// most 100.
	Totals, Durations []float64
	// Finished is the number of episodes that have ended. Drained is that number at the last Drain.
	Finished, Drained int64
	// Rewards are those of single steps since the last Drain.
	Rewards Tally
}

// State returns a copy of the state.
func (e *Episodes) State() EpisodesState {
	s := EpisodesState{Returns: slices.Clone(e.returns), Lengths: slices.Clone(e.lengths), Totals: []float64{},
		Durations: []float64{}, Finished: e.finished, Drained: e.drained, Rewards: e.reward}
	for _, ep := range e.Last(episodeWindow) {
		s.Totals, s.Durations = append(s.Totals, ep[0]), append(s.Durations, ep[1])
	}
	return s
}

// SetState restores a state. After an error, which says what does not fit, nothing has changed.
func (e *Episodes) SetState(s EpisodesState) error {
	n := min(s.Finished, episodeWindow)
	switch {
	case s.Finished < 0 || s.Drained < 0 || s.Drained > s.Finished:
		return fmt.Errorf("tracking: %d episodes have finished and %d of them are drained; want 0 <= drained <= "+
			"finished", s.Finished, s.Drained)
	case int64(len(s.Totals)) != n || int64(len(s.Durations)) != n:
		return fmt.Errorf("tracking: %d returns and %d lengths of finished episodes; want %d", len(s.Totals),
			len(s.Durations), n)
	case len(s.Returns) != len(s.Lengths):
		return fmt.Errorf("tracking: %d returns and %d lengths of episodes in progress; want equal numbers",
			len(s.Returns), len(s.Lengths))
	case s.Returns != nil && len(s.Returns) != len(e.returns):
		return fmt.Errorf("tracking: episodes of %d environments; want %d", len(s.Returns), len(e.returns))
	}
	if i := slices.IndexFunc(s.Lengths, func(n int64) bool { return n < 0 }); i >= 0 {
		return fmt.Errorf("tracking: the episode of environment %d has %d steps", i, s.Lengths[i])
	}
	copy(e.returns, s.Returns)
	copy(e.lengths, s.Lengths)
	e.finished, e.drained, e.reward = s.Finished, s.Drained, s.Rewards
	for i := range n {
		e.window[(e.finished-n+i)%episodeWindow] = [2]float64{s.Totals[i], s.Durations[i]}
	}
	return nil
}
