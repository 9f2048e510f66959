package mujoco

import (
	"math"

	"github.com/gorl-dev/gorl/envs"
)

// ledger keeps returns, time limits and metrics of the running episodes, and the results of those that have just ended.
// Workers write only the rows of their own environments. collect adds the rows up in the order of the environments, so
// no sum depends on the order in which workers finish.
type ledger struct {
	// length is the time limit in control steps. 0 means none.
	length int
	// limit (N) is the control step that truncates the running episode. It is below length if Stagger shortened the
	// episode, and 0 without a time limit.
	limit []int
	// returns (N) are the sums of rewards of the running episodes.
	returns []float64
	// ended (N) describes the episodes that end in the current step.
	ended []episodeEnd

	// task is nil if the task has no metrics.
	task MetricTask
	// names are the task's metrics, and random's behind them.
	names  []string
	random *randomizer
	// batchNames are the keys of envs.Step.Metrics: "task/metric".
	batchNames []string
	// metrics (N, names) are the values of the current step.
	metrics []float64
	// sums (N, names) add up metrics over the running episodes.
	sums []float64

	// whole is nil if the task has no metrics of whole episodes.
	whole      EpisodeTask
	wholeNames []string
	// ofWhole (N, wholeNames) are the metrics of the episodes that have just ended.
	ofWhole []float64
	// seen (N) is true if the task has followed the running episode from its first step. RestoreState clears it.
	seen []bool
}

// episodeEnd holds the results of an episode until collect lists it. begin has then reset the row of the ledger for the
// next episode.
type episodeEnd struct {
	ended bool
	// whole is true if the task has followed every step, so that its row of ofWhole is valid.
	whole bool
	// length is the number of control steps.
	length int
	// ret is the sum of rewards.
	ret float64
}

// newLedger allocates the ledger of n environments. name is the prefix of batch metrics, length the time limit. random
// may be nil.
func newLedger(task Task, name string, n, length int, random *randomizer) ledger {
	l := ledger{length: length, random: random, limit: make([]int, n), returns: make([]float64, n),
		ended: make([]episodeEnd, n)}
	if t, ok := task.(MetricTask); ok {
		l.task, l.names = t, t.MetricNames()
		if random != nil {
			l.names = append(l.names, random.names...)
		}
		l.metrics, l.sums = make([]float64, n*len(l.names)), make([]float64, n*len(l.names))
		for _, metric := range l.names {
			l.batchNames = append(l.batchNames, name+"/"+metric)
		}
	}
	if t, ok := task.(EpisodeTask); ok {
		if names := t.EpisodeMetricNames(); len(names) > 0 {
			l.whole, l.wholeNames = t, names
			l.ofWhole, l.seen = make([]float64, n*len(names)), make([]bool, n)
		}
	}
	return l
}

// begin starts the episode of environment i. It keeps sums, which collect has yet to read if an episode has just ended.
func (l *ledger) begin(i int) {
	l.returns[i], l.limit[i] = 0, l.length
	if l.whole != nil {
		l.seen[i] = true
	}
}

// step adds a control step to the episode of s. truncated reports whether the time limit ends the episode; ended is
// true for any end. A termination takes precedence over the time limit.
func (l *ledger) step(s *State, reward float64, terminated bool) (truncated, ended bool) {
	i, k := s.Env, len(l.names)
	truncated = !terminated && l.limit[i] > 0 && s.Steps >= l.limit[i]
	l.returns[i] += reward
	if l.task != nil {
		m := row(l.metrics, i, k)
		if l.random == nil {
			l.task.Metrics(s, m)
		} else {
			own := k - copy(m[k-len(l.random.names):], l.random.metrics(i))
			l.task.Metrics(s, m[:own:own])
		}
		for j, v := range m {
			l.sums[i*k+j] += v
		}
	}
	if l.whole != nil {
		l.whole.Follow(s)
	}
	end := &l.ended[i]
	if end.ended = terminated || truncated; !end.ended {
		return false, false
	}
	end.length, end.ret = s.Steps, l.returns[i]
	if end.whole = l.whole != nil && l.seen[i]; end.whole {
		l.whole.EpisodeMetrics(s, terminated, row(l.ofWhole, i, len(l.wholeNames)))
	}
	return truncated, true
}

// collect writes the batch means of the step's metrics and the episodes that have ended into out. Step calls it once,
// after all workers have finished.
func (l *ledger) collect(out *envs.Step) {
	n, k := len(l.ended), len(l.names)
	for j, name := range l.batchNames {
		sum := 0.0
		for i := range n {
			sum += l.metrics[i*k+j]
		}
		out.Metrics[name] = sum / float64(n)
	}
	out.Episodes = out.Episodes[:0]
	for i, end := range l.ended {
		if !end.ended {
			continue
		}
		episode := envs.Episode{Env: i, Return: end.ret, Length: end.length}
		if k > 0 || end.whole {
			episode.Metrics = make(map[string]float64, k+len(l.wholeNames)+1)
			episode.Metrics["length"] = float64(end.length)
		}
		for j, name := range l.names {
			episode.Metrics[name] = l.sums[i*k+j] / float64(end.length)
			l.sums[i*k+j] = 0
		}
		if end.whole {
			for j, v := range row(l.ofWhole, i, len(l.wholeNames)) {
				// NaN is the task's mark of a metric that this episode does not have.
				if !math.IsNaN(v) {
					episode.Metrics[l.wholeNames[j]] = v
				}
			}
		}
		out.Episodes = append(out.Episodes, episode)
	}
}
