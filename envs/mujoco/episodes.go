package mujoco

import (
	"math"

	"github.com/gorl-dev/gorl/envs"
)

// ledger holds what is known of the running episodes of a batch, and of those that have just ended. Workers write to
// the rows of their environments; collect adds up in the order of the environments, so that no sum depends on the order
// in which workers end.
type ledger struct {
	length  int       // the time limit in control steps; 0 is none
	limit   []int     // (N), the control step that truncates the running episode; 0 never does
	returns []float64 // (N), of the running episodes
	ended   []episodeEnd

	task       MetricTask // nil if the task has no metrics
	names      []string
	batchNames []string  // the names with the task's name before them
	metrics    []float64 // (N, names), of this step
	sums       []float64 // (N, names), over the running episodes

	whole      EpisodeTask // nil if the task has no figures of whole episodes
	wholeNames []string
	ofWhole    []float64 // (N, wholeNames), of the episodes that have ended
	seen       []bool    // (N), the task has seen the running episode from its beginning
}

// episodeEnd is what a worker notes of an episode until collect lists it.
type episodeEnd struct {
	ended  bool
	whole  bool // the task has seen all of its steps
	length int
	ret    float64
}

func newLedger(task Task, name string, n, length int) ledger {
	l := ledger{length: length, limit: make([]int, n), returns: make([]float64, n), ended: make([]episodeEnd, n)}
	if t, ok := task.(MetricTask); ok {
		l.task, l.names = t, t.MetricNames()
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

// begin starts the episode of environment i.
func (l *ledger) begin(i int) {
	l.returns[i], l.limit[i] = 0, l.length
	if l.whole != nil {
		l.seen[i] = true
	}
}

// step adds a control step. It reports whether the time limit truncates the episode, and whether it has ended at all.
func (l *ledger) step(s *State, reward float64, terminated bool) (truncated, ended bool) {
	i, k := s.Env, len(l.names)
	truncated = !terminated && l.limit[i] > 0 && s.Steps >= l.limit[i]
	l.returns[i] += reward
	if l.task != nil {
		m := row(l.metrics, i, k)
		l.task.Metrics(s, m)
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

// collect writes the metrics of the step and the episodes that have ended into out.
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
				if !math.IsNaN(v) {
					episode.Metrics[l.wholeNames[j]] = v
				}
			}
		}
		out.Episodes = append(out.Episodes, episode)
	}
}
