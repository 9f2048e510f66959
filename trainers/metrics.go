package trainers

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/envs"
)

// window is how many of the last episodes a figure is the mean of.
const window = 100

// metrics keeps the latest known figures of a run, by dotted name.
type metrics struct {
	latest  map[string]float64
	windows map[string]*ring
}

// ring is the mean of the last values.
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

func (m *metrics) push(name string, x float64) {
	if m.windows == nil {
		m.windows = map[string]*ring{}
	}
	r, ok := m.windows[name]
	if !ok {
		r = &ring{}
		m.windows[name] = r
	}
	r.add(x)
}

// episode notes a finished episode under a prefix, which is empty for those of all environments.
func (m *metrics) episode(prefix string, e envs.Episode) {
	m.push(prefix+"episode.return", e.Return)
	m.push(prefix+"episode.length", float64(e.Length))
	for name, x := range e.Metrics {
		if name != "length" && name != "return" {
			m.push(prefix+"episode."+name, x)
		}
	}
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

// state is what restore needs, as plain values. A window with a number that is not finite is left out: there is no JSON
// for it.
func (m *metrics) state() map[string]any {
	out := map[string]any{}
	for name, r := range m.windows {
		values := make([]any, 0, window)
		for _, x := range r.values[:min(r.n, window)] {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				values = append(values, x)
			}
		}
		if len(values) == min(r.n, window) {
			out[name] = map[string]any{"count": r.n, "values": values}
		}
	}
	return out
}

// restore reads the windows of a snapshot, where it has any; figures are no reason to refuse it.
func (m *metrics) restore(snap *checkpoint.Snapshot) {
	v, err := snap.Value("trainer", "episodes")
	windows, ok := v.(map[string]any)
	if err != nil || !ok {
		return
	}
	for name := range windows {
		count, _ := snap.Int("trainer", "episodes", name, "count")
		v, _ := snap.Value("trainer", "episodes", name, "values")
		values, _ := v.([]any)
		if count < 1 || len(values) != int(min(count, window)) {
			continue
		}
		for i, x := range values {
			m.push(name, number(x))
			if i == len(values)-1 {
				m.windows[name].n, m.windows[name].written = int(count), int(count)
			}
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

// tracked notes a value by its tag, and the style reward by the short name that an objective would use.
func (m *metrics) tracked(tag string, x float64) {
	if m.latest == nil {
		m.latest = map[string]float64{}
	}
	m.latest[tag] = x
	if tag == "Reward / Style reward (mean)" {
		m.latest["style_reward"] = x
	}
}

// Metrics are the latest known figures: "episode.return", "episode.length" and the environment's own episode figures
// ("episode.<name>") as means over the last 100 episodes, "style_reward", and every tracked value by its tag. A figure
// that is not known yet is absent.
func (t *Trainer) Metrics() map[string]float64 {
	out := map[string]float64{}
	maps.Copy(out, t.metrics.latest)
	for name, r := range t.metrics.windows {
		out[name] = r.mean()
	}
	return out
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
	if x, ok := t.metrics.latest["style_reward"]; ok {
		parts = append(parts, fmt.Sprintf("style %.2f", x))
	}
	return strings.Join(parts, "  ")
}
