package trainers

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/checkpoint"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
)

// Figures for programs: what [Trainer.Metrics] and [Trainer.Samples] answer, and what populations compare members by.
// The same figures are written to files by tracking.Episodes and tracking.Recorder, under skrl's tags. Snapshots have
// them, so that a resumed run and a restored member know how good they were.

// window is how many of the last measurements of a figure are kept. An episode figure is their mean: a larger window
// would be steadier and later to show a change.
const window = 100

// metrics keeps the latest known figures of a run, by name: those of episodes (windows), those that the agent tracked,
// and those that the environment gave with single steps.
type metrics struct {
	windows, tracked, steps map[string]*ring
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

// latest are up to n of the last values, oldest first.
func (r *ring) latest(n int) []float64 {
	n = min(n, r.n, window)
	out := make([]float64, n)
	for i := range out {
		out[i] = r.values[(r.n-n+i)%window]
	}
	return out
}

// push adds a measurement to the ring of a name, and makes the map and the ring where there are none.
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

// episodeFigure begins the names of figures of episodes ("episode.return").
const episodeFigure = "episode."

// episode adds the figures of a finished episode under a prefix: empty for all environments together, "agent_0." for an
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

// track adds a value that the agent tracked, by its tag, and the style reward under the short name that objectives use.
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

// find returns the measurements of a figure, nil where there are none. A figure of steps is found with and without
// "episode."; a figure of episodes of the same name wins.
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

// tagOf returns the tag that an episode figure is written under ("Episode / return", "Agent 1 / Episode / success"), or
// "" for the length in all environments, which tracking.Episodes writes under skrl's tag.
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

// kinds returns the maps of figures by the names that a snapshot has for them.
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
			values := make([]any, 0, window)
			for _, x := range r.values[:min(r.n, window)] {
				if !math.IsNaN(x) && !math.IsInf(x, 0) {
					values = append(values, x)
				}
			}
			if len(values) == min(r.n, window) {
				figures[name] = map[string]any{"count": r.n, "values": values, "written": r.written}
			}
		}
		out[kind] = figures
	}
	return out
}

// restore reads the figures of a snapshot. Those that are missing or make no sense are skipped: a run can go on without
// them.
func (m *metrics) restore(snap *checkpoint.Snapshot) {
	for kind, rings := range m.kinds() {
		v, err := snap.Value(layout.Trainer, kind)
		figures, ok := v.(map[string]any)
		if err != nil || !ok {
			continue
		}
		for name := range figures {
			count, _ := snap.Int(layout.Trainer, kind, name, "count")
			v, _ := snap.Value(layout.Trainer, kind, name, "values")
			values, _ := v.([]any)
			// A ring is whole or not taken: with some of its values missing its mean would be another figure.
			if count < 1 || len(values) != int(min(count, window)) {
				continue
			}
			for _, x := range values {
				push(rings, name, number(x))
			}
			r := (*rings)[name]
			written, err := snap.Int(layout.Trainer, kind, name, "written")
			if err != nil { // of an older snapshot
				written = count
			}
			r.n, r.written = int(count), int(written)
		}
	}
}

// number returns a float64 that JSON may have read as an integer, and NaN for anything else.
func number(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	}
	return math.NaN()
}

// Metrics returns the latest known figures: "episode.return", "episode.length" and the environment's own episode
// figures ("episode.<name>") as means over the last 100 episodes, the same of the last evaluation by
// Config.EvaluationInterval ("evaluation.return"), "style_reward", what the agent's updates tracked by its tag ("Loss /
// Policy loss"), and the figures that the environment gives with single steps (see [envs.Step.Metrics]) by name and as
// "episode.<name>". A figure that is not known yet is absent.
func (t *Trainer) Metrics() map[string]float64 {
	out := map[string]float64{}
	// From the least telling to the most telling: an episode figure replaces a step's of the same name.
	for name, r := range t.metrics.steps {
		out[name], out[episodeFigure+name] = r.last(), r.last()
	}
	for name, r := range t.metrics.tracked {
		out[name] = r.last()
	}
	for name, r := range t.metrics.windows {
		out[name] = r.mean()
	}
	return out
}

// Samples returns up to n of the last 100 measurements behind a figure of Metrics, oldest first: one per episode, one
// per update for tracked values, one per timestep for figures of steps. A figure without measurements has none.
func (t *Trainer) Samples(figure string, n int) []float64 {
	r := t.metrics.find(figure)
	if r == nil || n <= 0 {
		return nil
	}
	return r.latest(n)
}

// Episodes returns the number of finished episodes behind the figures of Metrics. A resumed run counts those before its
// checkpoint.
func (t *Trainer) Episodes() int {
	if r, ok := t.metrics.windows[episodeFigure+"return"]; ok {
		return r.n
	}
	return 0
}

// startBar shows the progress bar, once, where Config.Progress asks for one.
func (t *Trainer) startBar() {
	if t.cfg.Progress == nil || t.cfg.DisableProgressbar || t.bar != nil {
		return
	}
	name := t.barName
	if name == "" {
		name = t.agent.Name()
	}
	t.bar = t.cfg.Progress.Bar(name, int64(t.cfg.Timesteps)*t.batch())
	t.bar.Set(t.Steps(), "")
}

// barText returns the figures shown beside the bar.
func (t *Trainer) barText() string {
	var parts []string
	if r, ok := t.metrics.windows["episode.return"]; ok {
		parts = append(parts, fmt.Sprintf("return %.1f  length %.0f", r.mean(), t.metrics.windows["episode.length"].mean()))
	}
	if r, ok := t.metrics.tracked[evaluationFigure+"return"]; ok {
		parts = append(parts, fmt.Sprintf("evaluation %.1f", r.last()))
	}
	if r, ok := t.metrics.tracked[styleReward]; ok {
		parts = append(parts, fmt.Sprintf("style %.2f", r.last()))
	}
	return strings.Join(parts, "  ")
}
