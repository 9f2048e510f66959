package trainers

import (
	"fmt"
	"math"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
)

// window is how many of the last measurements of a figure are kept; an episode figure is the mean of them.
const window = 100

// metrics keeps the latest known figures of a run, by name: those of episodes, those that the agent tracked, and those
// that the environment gave with single steps.
type metrics struct {
	windows, tracked, steps map[string]*ring
}

// ring holds the last values of a figure.
type ring struct {
	values  [window]float64
	n       int
	written int // n when it was last written
}

func (r *ring) add(x float64) {
	r.values[r.n%window] = x
	r.n++
}

func (r *ring) mean() float64 {
	return stat.Mean(r.values[:min(r.n, window)], nil)
}

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

// episodeFigure begins the names of an environment's figures.
const episodeFigure = "episode."

// episode notes a finished episode under a prefix, which is empty for those of all environments.
func (m *metrics) episode(prefix string, e envs.Episode) {
	push(&m.windows, prefix+episodeFigure+"return", e.Return)
	push(&m.windows, prefix+episodeFigure+"length", float64(e.Length))
	for name, x := range e.Metrics {
		if name != "length" && name != "return" {
			push(&m.windows, prefix+episodeFigure+name, x)
		}
	}
}

// track notes a value by its tag, and the style reward by the short name that an objective would use.
func (m *metrics) track(tag string, x float64) {
	push(&m.tracked, tag, x)
	if tag == "Reward / Style reward (mean)" {
		push(&m.tracked, styleReward, x)
	}
}

const styleReward = "style_reward"

// step notes a figure of the whole batch at a step.
func (m *metrics) step(name string, x float64) { push(&m.steps, name, x) }

// find is what is known of a figure, nil where nothing is. The figures of steps have two names, of which that with
// "episode." is an episode's where there is one of that name.
func (m *metrics) find(figure string) *ring {
	if r, ok := m.windows[figure]; ok {
		return r
	}
	if r, ok := m.tracked[figure]; ok {
		return r
	}
	if r, ok := m.steps[figure]; ok {
		return r
	}
	if name, ok := strings.CutPrefix(figure, episodeFigure); ok {
		return m.steps[name]
	}
	return nil
}

// tagOf is the tag that a window is written under; "" where the episodes of all environments have skrl's tags already.
func tagOf(name string) string {
	agent, figure, _ := strings.Cut(name, "episode.")
	switch {
	case agent != "":
		return fmt.Sprintf("Agent %s / Episode / %s", strings.Trim(agent, "agent_."), figure)
	case figure == "return" || figure == "length":
		return ""
	}
	return "Episode / " + figure
}

// kinds are the figures by the name that a snapshot has them under.
func (m *metrics) kinds() map[string]*map[string]*ring {
	return map[string]*map[string]*ring{"episodes": &m.windows, "tracked": &m.tracked, "steps": &m.steps}
}

// state is what restore needs, as plain values. A figure with a number that is not finite is left out: there is no JSON
// for it.
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
				figures[name] = map[string]any{"count": r.n, "values": values}
			}
		}
		out[kind] = figures
	}
	return out
}

// restore reads the figures of a snapshot, where it has any; they are no reason to refuse it.
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
			if count < 1 || len(values) != int(min(count, window)) {
				continue
			}
			for _, x := range values {
				push(rings, name, number(x))
			}
			r := (*rings)[name]
			r.n, r.written = int(count), int(count)
		}
	}
}

// number is what JSON made of a float64.
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

// Metrics are the latest known figures: "episode.return", "episode.length" and the environment's own episode figures
// ("episode.<name>") as means over the last 100 episodes, "style_reward", every tracked value by its tag, and what
// the environment says of single steps (see [envs.Step.Metrics]) by its name and as "episode.<name>". A figure that is
// not known yet is absent.
func (t *Trainer) Metrics() map[string]float64 {
	out := map[string]float64{}
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

// Samples returns up to n of the last 100 measurements behind a figure of Metrics, oldest first: one an episode, one an
// update for tracked values, one a step for what the environment says of steps. A figure without measurements has
// none.
func (t *Trainer) Samples(figure string, n int) []float64 {
	r := t.metrics.find(figure)
	if r == nil || n <= 0 {
		return nil
	}
	return r.latest(n)
}

// Episodes is the number of finished episodes behind the figures of Metrics, those before a resumed run's checkpoint
// included.
func (t *Trainer) Episodes() int {
	if r, ok := t.metrics.windows[episodeFigure+"return"]; ok {
		return r.n
	}
	return 0
}

func (t *Trainer) startBar() {
	if t.cfg.Progress == nil || t.cfg.DisableProgressbar || t.bar != nil {
		return
	}
	name := t.barName
	if name == "" {
		name = t.agent.Name()
	}
	t.bar = t.cfg.Progress.Bar(name, int64(t.cfg.Timesteps)*int64(t.env.NumEnvs()))
	t.bar.Set(t.timestep*int64(t.env.NumEnvs()), "")
}

func (t *Trainer) barText() string {
	var parts []string
	if r, ok := t.metrics.windows["episode.return"]; ok {
		parts = append(parts, fmt.Sprintf("return %.1f  length %.0f", r.mean(), t.metrics.windows["episode.length"].mean()))
	}
	if r, ok := t.metrics.tracked[styleReward]; ok {
		parts = append(parts, fmt.Sprintf("style %.2f", r.last()))
	}
	return strings.Join(parts, "  ")
}
