package trainers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/tracking"
)

// This file keeps figures for programs, which [Trainer.Metrics] and [Trainer.Samples] return and populations compare.
// The same figures are written to files by tracking.Episodes and tracking.Recorder, under skrl's tags. Snapshots have
// them, so that a resumed run and a restored member know how good they were.

// window is the number of measurements kept of each figure. An episode figure is their mean: with a larger window it
// would be steadier, but respond more slowly.
const window = 100

// metrics keeps the latest figures of a run by name: windows has those of episodes, tracked those that the agent or an
// evaluation gave, and steps those of the whole batch at single steps.
type metrics struct {
	windows, tracked, steps map[string]*ring
}

// figures are what a run measures: for programs (metrics), and for files (episodes, recorder).
type figures struct {
	metrics  metrics
	episodes *tracking.Episodes
	recorder tracking.Recorder
	written  int64 // the timestep of the last write of tracked values
	updates  int64 // of the run
}

// ring holds the last measurements of a figure, overwriting the oldest.
type ring struct {
	values  [window]float64 // measurement k is at k % window
	n       int             // measurements so far, of which the last window ones are kept
	written int             // n when the figure was last written to files
}

// add adds a measurement in place of the oldest one.
func (r *ring) add(x float64) {
	r.values[r.n%window] = x
	r.n++
}

// mean returns the mean of the measurements kept.
func (r *ring) mean() float64 {
	return stat.Mean(r.values[:min(r.n, window)], nil)
}

// last returns the newest measurement.
func (r *ring) last() float64 { return r.values[(r.n-1)%window] }

// latest returns up to n of the last measurements, oldest first.
func (r *ring) latest(n int) []float64 {
	n = min(n, r.n, window)
	out := make([]float64, n)
	for i := range out {
		out[i] = r.values[(r.n-n+i)%window]
	}
	return out
}

// push adds a measurement to the ring of a name. It makes the map and the ring if they are missing.
func push(rings *map[string]*ring, name string, x float64) {
	r, ok := (*rings)[name]
	if !ok {
		if *rings == nil {
			*rings = map[string]*ring{}
		}
		r = &ring{}
		(*rings)[name] = r
	}
	r.add(x)
}

// episodeFigure is the prefix of figures of episodes ("episode.return").
const episodeFigure = "episode."

// episode adds the figures of a finished episode. prefix is empty for all environments together, and "agent_0." for an
// agent of a group.
func (m *metrics) episode(prefix string, e envs.Episode) {
	push(&m.windows, prefix+episodeFigure+"return", e.Return)
	push(&m.windows, prefix+episodeFigure+"length", float64(e.Length))
	for name, x := range e.Metrics {
		if name != "length" && name != "return" {
			push(&m.windows, prefix+episodeFigure+name, x)
		}
	}
}

// track adds a value that the agent tracked, by its tag. The style reward also gets the short name that objectives use.
func (m *metrics) track(tag string, x float64) {
	push(&m.tracked, tag, x)
	if tag == "Reward / Style reward (mean)" {
		push(&m.tracked, styleReward, x)
	}
}

// styleReward is the name of AMP's mean style reward among the figures.
const styleReward = "style_reward"

// step adds a figure of the whole batch at one step.
func (m *metrics) step(name string, x float64) { push(&m.steps, name, x) }

// find returns the measurements of a figure, or nil. A figure of steps is found with and without "episode.", but a
// figure of episodes of the same name has precedence.
func (m *metrics) find(figure string) *ring {
	for _, rings := range []map[string]*ring{m.windows, m.tracked, m.steps} {
		if r, ok := rings[figure]; ok {
			return r
		}
	}
	if name, ok := strings.CutPrefix(figure, episodeFigure); ok {
		return m.steps[name]
	}
	return nil
}

// tagOf returns the tag under which an episode figure is written ("Episode / return", "Agent 1 / Episode / success").
// It is "" for the length in all environments, which tracking.Episodes writes under skrl's tag.
func tagOf(name string) string {
	agent, figure, _ := strings.Cut(name, episodeFigure)
	switch { // Cut at the first "episode.": what stands before it is an agent of a group
	case agent != "":
		number := strings.TrimSuffix(strings.TrimPrefix(agent, layout.MemberPrefix), ".")
		return fmt.Sprintf("Agent %s / Episode / %s", number, figure)
	case figure == "length":
		return ""
	}
	return "Episode / " + figure
}

// kinds returns the maps of figures by their names in snapshots.
func (m *metrics) kinds() map[string]*map[string]*ring {
	return map[string]*map[string]*ring{"episodes": &m.windows, "tracked": &m.tracked, "steps": &m.steps}
}

// state returns the figures as plain values for a snapshot. A figure with a number that is not finite is left out,
// because JSON cannot hold it.
func (m *metrics) state() map[string]any {
	out := map[string]any{}
	for kind, rings := range m.kinds() {
		figures := map[string]any{}
		for name, r := range *rings {
			if values := r.values[:min(r.n, window)]; finite(values) {
				figures[name] = map[string]any{"count": r.n, "values": list(values), "written": r.written}
			}
		}
		out[kind] = figures
	}
	return out
}

// restore reads the figures of a snapshot. Figures that are missing or invalid are skipped, because a run can go on
// without them.
func (m *metrics) restore(snap *checkpoint.Snapshot) {
	for kind, rings := range m.kinds() {
		v, _ := snap.Value(layout.Trainer, kind)
		figures, _ := v.(map[string]any)
		for name := range figures {
			count, _ := snap.Int(layout.Trainer, kind, name, "count")
			values := numbers(snap, kind, name, "values")
			// A ring is restored completely or not at all. If values were missing, its mean would be another figure.
			if count < 1 || len(values) != int(min(count, window)) {
				continue
			}
			for _, x := range values {
				push(rings, name, x)
			}
			r := (*rings)[name]
			written, _ := snap.Int(layout.Trainer, kind, name, "written")
			r.n, r.written = int(count), int(written)
		}
	}
}

// Metrics returns the latest known figures by name. "episode.return", "episode.length" and the environment's own
// "episode.<name>" are means over the last 100 episodes. "evaluation.return" and so on are those of the last evaluation
// by Config.EvaluationInterval. Values that updates tracked have their tag ("Loss / Policy loss"). AMP's style reward
// is also "style_reward". Figures of single steps (see [envs.Step.Metrics]) have their name and "episode.<name>". A
// figure that is not known yet is absent. "Stats / Updates" counts the updates.
func (t *Trainer) Metrics() map[string]float64 {
	out := t.figures.metrics.latest()
	out[tracking.TagUpdates] = float64(t.figures.updates)
	return out
}

// latest returns all figures by name.
func (m *metrics) latest() map[string]float64 {
	out := map[string]float64{}
	// Later maps override earlier ones: an episode figure replaces a figure of steps with the same name.
	for name, r := range m.steps {
		out[name], out[episodeFigure+name] = r.last(), r.last()
	}
	for name, r := range m.tracked {
		out[name] = r.last()
	}
	for name, r := range m.windows {
		out[name] = r.mean()
	}
	return out
}

// Samples returns up to n of the last 100 measurements behind a figure of Metrics, oldest first: one per episode, one
// per update for tracked values, one per timestep for figures of steps. A figure without measurements has none.
func (t *Trainer) Samples(figure string, n int) []float64 {
	r := t.figures.metrics.find(figure)
	if r == nil || n <= 0 {
		return nil
	}
	return r.latest(n)
}

// Episodes returns the number of finished episodes behind the figures of Metrics, including those before a resumed
// checkpoint.
func (t *Trainer) Episodes() int {
	if r, ok := t.figures.metrics.windows[episodeFigure+"return"]; ok {
		return r.n
	}
	return 0
}

// write writes the values tracked since the last write to the run's files. Without files the values are dropped.
func (f *figures) write(run *tracking.Run, timestep int64) error {
	if run == nil {
		f.recorder.Drain(func(string, float64) {})
		return nil
	}
	// Tracked values are means since the last write. Episode figures are written only if episodes have ended since.
	if timestep > f.written { // the end of a run may write twice
		run.Scalar(tracking.TagTimesteps, timestep, float64(timestep))
		run.Scalar(tracking.TagUpdates, timestep, float64(f.updates))
	}
	f.written = timestep
	f.recorder.Emit(run, timestep)
	f.episodes.Emit(run, timestep)
	if r := f.metrics.tracked[resetsFigure]; r != nil {
		run.Scalar(resetsFigure, timestep, r.last())
	}
	for _, name := range slices.Sorted(maps.Keys(f.metrics.windows)) {
		r := f.metrics.windows[name]
		if tag := tagOf(name); tag != "" && r.written != r.n {
			run.Scalar(tag, timestep, r.mean())
			r.written = r.n
		}
	}
	return run.Flush()
}

// text returns the figures that the progress bar shows.
func (f *figures) text() string {
	var parts []string
	if r, ok := f.metrics.windows["episode.return"]; ok {
		parts = append(parts, fmt.Sprintf("return %.1f  length %.0f", r.mean(),
			f.metrics.windows["episode.length"].mean()))
	}
	if r, ok := f.metrics.tracked[evaluationFigure+"return"]; ok {
		parts = append(parts, fmt.Sprintf("evaluation %.1f", r.last()))
	}
	if r, ok := f.metrics.tracked[styleReward]; ok {
		parts = append(parts, fmt.Sprintf("style %.2f", r.last()))
	}
	return strings.Join(parts, "  ")
}

// note counts the figures of a step: those of finished episodes, for all environments together and for each agent of a
// group, and those of the batch. Afterwards counted has the episodes for OnEpisode. An episode that began under other
// weights is not counted, because it says little about the present ones.
func (l *loop) note(s *envs.Step) error {
	if err := l.figures.episodes.Record(s.Rewards, s.Terminated, s.Truncated, s.Invalid); err != nil {
		return fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	}
	// Figures of finished episodes, except those that began under other weights (running.go).
	l.counted = l.counted[:0]
	for _, e := range s.Episodes {
		if l.world.running.mixed[e.Env] {
			continue
		}
		l.counted = append(l.counted, e)
		if l.rank.Several() { // all ranks count it behind the next update
			l.rank.episodes = append(l.rank.episodes, e)
			continue
		}
		l.figures.metrics.episode("", e)
		if c, ok := agents.As[agents.Composite](l.agent); ok {
			l.figures.metrics.episode(layout.Member(c.AgentOf(e.Env))+".", e)
		}
	}
	// Figures of the whole batch at this step.
	for name, x := range s.Metrics {
		l.figures.recorder.Track(infoTag(name), x)
		l.figures.metrics.step(name, x)
	}
	l.world.running.stepped(s)
	return nil
}

// infoTag returns the tag of a figure of the batch. A name with a group, such as a simulator's "Episode_Reward/speed",
// is a tag itself: dashboards look for it under this name.
func infoTag(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "Info / " + name
}
