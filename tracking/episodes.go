package tracking

import "fmt"

// TagReturn is the tag of the mean return over the last finished episodes, of the environment's own rewards.
// [TagTotalReward], which is skrl's, is of the rewards that the agent is given: reward wrappers change those.
const TagReturn = "Episode / return"

// Tags that skrl's agents and trainers write; those with three forms end in " (mean)", " (min)" and " (max)".
const (
	TagInstantaneousReward = "Reward / Instantaneous reward"
	TagTotalReward         = "Reward / Total reward"
	TagTotalTimesteps      = "Episode / Total timesteps"

	TagInferenceTime   = "Stats / Inference time (ms)"
	TagEnvSteppingTime = "Stats / Env stepping time (ms)"
	TagUpdateTime      = "Stats / Algorithm update time (ms)"
)

// EpisodeWindow is the number of finished episodes that episode statistics are taken over.
const EpisodeWindow = 100

// Episodes follows the returns and lengths of the episodes in N environments that reset themselves. Statistics are
// taken over the last [EpisodeWindow] finished episodes, each counted once (skrl counts an episode again at every step
// until the next write, and resets the wrong environment's sums). It is used by one goroutine at a time.
type Episodes struct {
	returns []float64 // of the running episodes, (N)
	lengths []int     // likewise

	window   [EpisodeWindow]episode // the last finished episodes, a ring
	finished int64                  // episodes so far
	drained  int64                  // episodes at the last Drain
	reward   tally                  // of single steps since the last Drain
}

type episode struct{ total, length float64 }

// NewEpisodes follows numEnvs environments, whose first steps begin episodes.
func NewEpisodes(numEnvs int) (*Episodes, error) {
	if numEnvs < 1 {
		return nil, fmt.Errorf("tracking: episode statistics of %d environments; want at least 1", numEnvs)
	}
	return &Episodes{returns: make([]float64, numEnvs), lengths: make([]int, numEnvs)}, nil
}

// Record adds one step: rewards, terminated and truncated are (N). An episode ends where either is true. Rows of
// invalid, (N) or nil, are no step of an episode (see envs.Step) and not counted unless they end one. On an error
// nothing has changed.
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
			e.window[e.finished%EpisodeWindow] = episode{e.returns[i], float64(e.lengths[i])}
			e.finished++
			e.returns[i], e.lengths[i] = 0, 0
		}
	}
	return nil
}

// Last returns the returns and lengths of the last n finished episodes, oldest first, of at most [EpisodeWindow].
func (e *Episodes) Last(n int64) [][2]float64 {
	n = min(n, e.finished, EpisodeWindow)
	out := make([][2]float64, 0, n)
	for i := e.finished - n; i < e.finished; i++ {
		ep := e.window[i%EpisodeWindow]
		out = append(out, [2]float64{ep.total, ep.length})
	}
	return out
}

// Add counts an episode that another process has seen, by its return and its length.
func (e *Episodes) Add(total, length float64) {
	e.window[e.finished%EpisodeWindow] = episode{total, length}
	e.finished++
}

// Finished returns the number of episodes that have ended since the start or the last Reset.
func (e *Episodes) Finished() int64 { return e.finished }

// Means returns the mean return and length over the last finished episodes; ok is false while there are none.
func (e *Episodes) Means() (total, length float64, ok bool) {
	totals, lengths := e.tallies()
	if totals.count == 0 {
		return 0, 0, false
	}
	return totals.mean(), lengths.mean(), true
}

// Drain calls f with the mean, min and max of each quantity: the rewards of single steps since the last Drain, and,
// if an episode has ended since then, the returns and lengths of the last finished episodes.
func (e *Episodes) Drain(f func(tag string, value float64)) {
	var totals, lengths tally
	if e.finished > e.drained {
		totals, lengths = e.tallies()
		e.drained = e.finished
	}
	reward := e.reward
	e.reward = tally{}
	lengths.report(TagTotalTimesteps, f)
	reward.report(TagInstantaneousReward, f)
	totals.report(TagTotalReward, f)
}

// Emit drains into a sink. It does not flush.
func (e *Episodes) Emit(s Sink, step int64) {
	e.Drain(func(tag string, value float64) { s.Scalar(tag, step, value) })
}

// Reset forgets finished and running episodes, for when the environments were reset from outside or the agent was
// replaced.
func (e *Episodes) Reset() {
	clear(e.returns)
	clear(e.lengths)
	e.finished, e.drained, e.reward = 0, 0, tally{}
}

func (e *Episodes) tallies() (totals, lengths tally) {
	for _, ep := range e.window[:min(e.finished, EpisodeWindow)] {
		totals.add(ep.total)
		lengths.add(ep.length)
	}
	return totals, lengths
}

// report calls f with the three forms of a tag, if there are values.
func (t *tally) report(tag string, f func(string, float64)) {
	if t.count == 0 {
		return
	}
	f(tag+" (max)", t.max)
	f(tag+" (mean)", t.mean())
	f(tag+" (min)", t.min)
}
