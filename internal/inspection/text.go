package inspection

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/tracking"
)

// Write writes a report for people; with tensors also the table of the tensors that the report has.
func Write(w io.Writer, r *Report, tensors bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Path, r.Kind)
	if r.Population != nil {
		if err := r.Population.write(&b); err != nil {
			return err
		}
	}
	if err := writeStored(&b, r.Checkpoints); err != nil {
		return err
	}
	if r.Checkpoint != nil {
		if r.Checkpoints != nil {
			fmt.Fprintf(&b, "\n%s: %s\n", r.Checkpoint.File, r.Checkpoint.Kind)
		}
		if err := r.Checkpoint.write(&b, tensors); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeStored(b *strings.Builder, stored []Stored) error {
	if len(stored) == 0 {
		return nil
	}
	b.WriteByte('\n')
	var rows [][]string
	for _, s := range stored {
		row := []string{s.File, "-", "-", Bytes(s.Bytes), string(s.State)}
		if s.WrittenAt != "" {
			row[1], row[2] = fmt.Sprint(s.Step), s.WrittenAt
		}
		if s.Reason != "" {
			row[4] += ": " + s.Reason
		}
		rows = append(rows, row)
	}
	return tracking.Table(b, []string{"checkpoint", "step", "saved", "size", "check"}, rows)
}

// write writes a checkpoint's lines, without its name.
func (c *Checkpoint) write(b *strings.Builder, tensors bool) error {
	line := func(name, format string, a ...any) { fmt.Fprintf(b, "  %-12s  %s\n", name, fmt.Sprintf(format, a...)) }
	if c.State == Verified {
		line("step", "%d", c.Step)
		line("saved", "%s by %s", c.WrittenAt, c.WrittenBy)
		line("file", "%s, SHA-256 %.16s… verified", Bytes(c.Bytes), c.SHA256)
	} else {
		line("file", "%s, no manifest to verify it by", Bytes(c.Bytes))
	}
	if t := c.Trainer; t != nil {
		line("trained", "%d timesteps", t.Timestep)
		if t.Best != nil {
			line("best figure", "%.6g", float64(*t.Best))
		}
	}
	for i, a := range c.Agents {
		if len(c.Agents) > 1 {
			fmt.Fprintf(b, "agent %d\n", i)
		}
		if a.Class != "" {
			line("agent", "%s", a.Class)
		}
		if a.Updates > 0 {
			line("updates", "%d", a.Updates)
		}
		if p := a.Policy; p != nil {
			normalized := ""
			if p.Normalized {
				normalized = ", normalised"
			}
			line("observations", "%s%s", p.Observation, normalized)
			line("actions", "%s, %s", p.Action, p.Distribution)
			line("network", "%s", p.Network)
		} else if a.Undescribed != "" {
			line("policy", "%s", a.Undescribed)
		}
		if err := pairs(b, "setting", a.Settings); err != nil {
			return err
		}
	}
	if c.Trainer != nil {
		if err := pairs(b, "metric", c.Trainer.Metrics); err != nil {
			return err
		}
	}
	if err := pairs(b, "metadata", c.Metadata); err != nil {
		return err
	}
	if err := pairs(b, "other value", c.Values); err != nil {
		return err
	}
	if tensors && len(c.Tensors) > 0 {
		if err := c.writeTensors(b); err != nil {
			return err
		}
	}
	t := c.Totals
	fmt.Fprintf(b, "\n%d tensors, %d elements, %s, %s\n", t.Tensors, t.Elements, Bytes(t.Bytes), notFinite(t.NaNs, t.Infinities, "all finite"))
	return nil
}

// pairs writes a table of names and values.
func pairs[V any](b *strings.Builder, header string, values map[string]V) error {
	if len(values) == 0 {
		return nil
	}
	var rows [][]string
	for _, name := range slices.SortedFunc(maps.Keys(values), naturally) {
		rows = append(rows, []string{name, show(values[name])})
	}
	b.WriteByte('\n')
	return tracking.Table(b, []string{header, "value"}, rows)
}

func show(v any) string {
	switch v := v.(type) {
	case number.JSON:
		return fmt.Sprintf("%.6g", float64(v))
	case float64:
		return fmt.Sprintf("%.6g", v)
	}
	return fmt.Sprint(v)
}

func (c *Checkpoint) writeTensors(b *strings.Builder) error {
	stats := slices.ContainsFunc(c.Tensors, func(t Tensor) bool { return t.Stats != nil })
	header := []string{"tensor", "type", "shape", "elements", "bytes"}
	if stats {
		header = append(header, "min", "mean", "max")
	}
	finite := c.Totals.NaNs == 0 && c.Totals.Infinities == 0
	if !finite {
		header = append(header, "not finite")
	}
	var rows [][]string
	for _, t := range c.Tensors {
		row := []string{t.Name, t.DType, shape(t.Shape), fmt.Sprint(t.Count), fmt.Sprint(t.Bytes)}
		if s := t.Stats; s != nil {
			row = append(row, fmt.Sprintf("%.4g", float64(s.Min)), fmt.Sprintf("%.4g", float64(s.Mean)), fmt.Sprintf("%.4g", float64(s.Max)))
		} else if stats {
			row = append(row, "-", "-", "-")
		}
		if !finite {
			row = append(row, notFinite(t.NaNs, t.Infinities, "-"))
		}
		rows = append(rows, row)
	}
	b.WriteByte('\n')
	return tracking.Table(b, header, rows)
}

func shape(dims []int64) string {
	if len(dims) == 0 {
		return "scalar"
	}
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = fmt.Sprint(d)
	}
	return strings.Join(parts, "×")
}

func notFinite(nans, infinities int64, none string) string {
	switch {
	case nans == 0 && infinities == 0:
		return none
	case infinities == 0:
		return fmt.Sprintf("%d NaN", nans)
	case nans == 0:
		return fmt.Sprintf("%d infinite", infinities)
	}
	return fmt.Sprintf("%d NaN, %d infinite", nans, infinities)
}

// Bytes writes a size for people, e.g. "125.3 KiB".
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if x /= 1024; x < 1023.95 {
			return fmt.Sprintf("%.1f %s", x, unit)
		}
	}
	return fmt.Sprintf("%.1f TiB", x/1024)
}

func (p *Population) write(b *strings.Builder) error {
	better := "more"
	if p.Minimise {
		better = "less"
	}
	fmt.Fprintf(b, "  %d members, objective %s (%s is better), an interval has %d environment steps, seed %d\n  %s\n\n", len(p.Members), p.Objective, better, p.IntervalSteps, p.Seed, p.Strategy)
	keys := p.tuned()
	var rows [][]string
	for _, m := range p.Members {
		objective := "-"
		if m.Objective != nil {
			objective = show(*m.Objective)
		}
		row := []string{fmt.Sprint(m.Member), fmt.Sprint(m.Intervals), fmt.Sprint(m.Steps), objective, fmt.Sprint(m.Lineage), fmt.Sprint(m.Copies), fmt.Sprint(m.Failures)}
		for _, key := range keys {
			cell := "-"
			if v, ok := m.Hyperparameters[key]; ok {
				cell = fmt.Sprintf("%.4g", float64(v))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if err := tracking.Table(b, append([]string{"member", "intervals", "steps", "objective", "lineage of", "copies", "failures"}, keys...), rows); err != nil {
		return err
	}
	if len(p.Copies) > 0 {
		rows = nil
		for _, c := range p.Copies {
			rows = append(rows, []string{fmt.Sprint(c.Iteration), fmt.Sprint(c.Member), fmt.Sprint(c.Parent), fmt.Sprint(c.Steps), fmt.Sprint(c.ParentSteps), c.Cause})
		}
		b.WriteByte('\n')
		if err := tracking.Table(b, []string{"interval", "member", "copied", "at step", "its step", "why"}, rows); err != nil {
			return err
		}
	}
	if p.Best == nil {
		b.WriteString("\nNo objective is known yet.\n")
		return nil
	}
	fmt.Fprintf(b, "\nBest: member %d after interval %d, %d steps: %.6g.\n", p.Best.Member, p.Best.Iteration, p.Best.Steps, float64(p.Best.Objective))
	var parts []string
	for _, s := range p.Best.Ancestry {
		parts = append(parts, fmt.Sprintf("member %d (steps %d to %d)", s.Member, s.FromSteps, s.ToSteps))
	}
	fmt.Fprintf(b, "Its weights: %s.\n", strings.Join(parts, " → "))
	return nil
}
