package inspection

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/tracking"
)

// page collects a report's text. It keeps the first error of a table, so that not every caller must check.
type page struct {
	strings.Builder
	err error
}

// line writes a name and a value.
func (b *page) line(name, format string, values ...any) {
	fmt.Fprintf(b, "  %-12s  %s\n", name, fmt.Sprintf(format, values...))
}

// table writes a table below an empty line, or nothing where rows is nil.
func (b *page) table(header []string, rows [][]string) {
	if rows == nil || b.err != nil {
		return
	}
	b.WriteByte('\n')
	b.err = tracking.Table(b, header, rows)
}

// Write writes a report for people.
func Write(w io.Writer, r *Report) error {
	var b page
	fmt.Fprintf(&b, "%s: %s\n", r.Path, r.Kind)
	if r.Population != nil {
		writePopulation(&b, r.Population)
	}
	if r.Clip != nil {
		b.err = r.Clip.Write(&b)
	}
	if r.Model != nil {
		writeModel(&b, r.Model)
	}
	writeStarts(&b, r.Starts)
	writeStored(&b, r.Checkpoints)
	if r.Checkpoint != nil {
		if r.Checkpoints != nil {
			fmt.Fprintf(&b, "\n%s: %s\n", r.Checkpoint.File, r.Checkpoint.Kind)
		}
		r.Checkpoint.write(&b)
	}
	if b.err != nil {
		return b.err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeStarts lists the starts of a run, and below them the settings that they changed.
func writeStarts(b *page, starts []runfile.Start) {
	var rows, changed [][]string
	for i, s := range starts {
		at := fmt.Sprintf("timestep %d", s.Timestep)
		if s.Interval > 0 {
			at = fmt.Sprintf("interval %d", s.Interval)
		}
		version := strings.TrimSpace(s.Gorl + " " + s.Commit[:min(len(s.Commit), 12)])
		rows = append(rows, tracking.Cells(i+1, s.Time.Format(time.RFC3339), at, version, s.Libtorch, s.Host,
			strings.Join(s.Command, " ")))
		for _, c := range s.Changes {
			changed = append(changed, tracking.Cells(i+1, c.Key, c.Old, c.New))
		}
	}
	b.table([]string{"start", "time", "from", "gorl", "libtorch", "host", "command"}, rows)
	b.table([]string{"start", "changed setting", "before", "after"}, changed)
}

// writeStored lists a folder's checkpoints. Step and time are "-" without a manifest.
func writeStored(b *page, stored []Stored) {
	var rows [][]string
	for _, s := range stored {
		row := []string{s.File, "-", "-", size(s.Bytes), string(s.State)}
		if s.WrittenAt != "" {
			row[1], row[2] = fmt.Sprint(s.Step), s.WrittenAt
		}
		if s.Reason != "" {
			row[4] += ": " + s.Reason
		}
		rows = append(rows, row)
	}
	b.table([]string{"checkpoint", "step", "saved", "size", "check"}, rows)
}

// write writes a checkpoint's lines, without its name.
func (c *Checkpoint) write(b *page) {
	if c.State == Verified {
		b.line("step", "%d", c.Step)
		b.line("saved", "%s by %s", c.WrittenAt, c.WrittenBy)
		b.line("file", "%s, SHA-256 %.16s… verified", size(c.Bytes), c.SHA256)
	} else {
		b.line("file", "%s, no manifest to verify it by", size(c.Bytes))
	}
	if t := c.Trainer; t != nil {
		b.line("trained", "%d timesteps", t.Timestep)
		if t.Best != nil {
			b.line("best figure", "%.6g", float64(*t.Best))
		}
	}
	for i, a := range c.Agents {
		if len(c.Agents) > 1 || a.Name != "" {
			fmt.Fprintf(b, "agent %s\n", cmp.Or(a.Name, strconv.Itoa(i)))
		}
		if a.Class != "" {
			b.line("agent", "%s", a.Class)
		}
		if a.Updates > 0 {
			b.line("updates", "%d", a.Updates)
		}
		if p := a.Policy; p != nil {
			normalized := ""
			if p.Normalized {
				normalized = ", normalised"
			}
			b.line("observations", "%s%s", p.Observation, normalized)
			b.line("actions", "%s, %s", p.Action, p.Distribution)
			if p.HiddenSize > 0 {
				b.line("memory", "a state of %d values from step to step", p.HiddenSize)
			}
		} else if a.Undescribed != "" {
			b.line("policy", "%s", a.Undescribed)
		}
		pairs(b, "setting", a.Settings)
	}
	if c.Trainer != nil {
		pairs(b, "metric", c.Trainer.Metrics)
	}
	pairs(b, "metadata", c.Metadata)
	pairs(b, "other value", c.Values)
	c.writeTensors(b)
	t := c.Totals
	fmt.Fprintf(b, "\n%d tensors, %d elements, %s, %s\n",
		t.Tensors, t.Elements, size(t.Bytes), notFinite(t.NaNs, t.Infinities, "all finite"))
}

// pairs writes a table of names and values.
func pairs[V any](b *page, header string, values map[string]V) {
	var rows [][]string
	for _, name := range slices.SortedFunc(maps.Keys(values), Naturally) {
		rows = append(rows, []string{name, show(values[name])})
	}
	b.table([]string{header, "value"}, rows)
}

// show writes a value, numbers with at most six digits: enough to tell values apart, and few enough for a column.
func show(v any) string {
	switch v := v.(type) {
	case number.JSON, report.Number, float64:
		return fmt.Sprintf("%.6g", v)
	}
	return fmt.Sprint(v)
}

// writeTensors writes a line for each tensor, with a column of elements that are not finite if any tensor of the file
// has some.
func (c *Checkpoint) writeTensors(b *page) {
	header := []string{"tensor", "type", "shape", "elements", "bytes"}
	finite := c.Totals.NaNs == 0 && c.Totals.Infinities == 0
	if !finite {
		header = append(header, "not finite")
	}
	var rows [][]string
	for _, t := range c.Tensors {
		row := tracking.Cells(t.Name, t.DType, shape(t.Shape), t.Count, t.Bytes)
		if !finite {
			row = append(row, notFinite(t.NaNs, t.Infinities, "-"))
		}
		rows = append(rows, row)
	}
	b.table(header, rows)
}

// shape writes dimensions, e.g. "64×4".
func shape(dims []int64) string {
	return cmp.Or(strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "×"), "scalar")
}

// notFinite writes how many elements are NaN or infinite, or the given text if all are finite.
func notFinite(nans, infinities int64, none string) string {
	var counts []string
	if nans > 0 {
		counts = append(counts, fmt.Sprintf("%d NaN", nans))
	}
	if infinities > 0 {
		counts = append(counts, fmt.Sprintf("%d infinite", infinities))
	}
	return cmp.Or(strings.Join(counts, ", "), none)
}

func size(bytes int64) string { return capacity.Size(float64(bytes)) }
