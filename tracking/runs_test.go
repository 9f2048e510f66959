package tracking

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// scalarsIn writes some steps of a tag with a writer.
func scalarsIn(t *testing.T, w Sink, err error, from, to int64) {
	t.Helper()
	must.Do(t, err)
	for step := from; step <= to; step++ {
		w.Scalar("a", step, float64(step)/3)
	}
	must.Do(t, w.Close())
}

// valuesOf reads a run as text.
func valuesOf(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	for _, s := range must.Get(ReadRun(dir))(t) {
		fmt.Fprintf(&text, "%d:%.9g ", s.Step, s.Value)
	}
	return text.String()
}

// The JSON lines have double precision. The event files beside them do not, and a later one counts from its first step.
func TestReadRun(t *testing.T) {
	dir := t.TempDir()
	run, err := OpenRun(dir, Options{})
	scalarsIn(t, run, err, 1, 3)
	must.Equal(t, "the run", "1:0.333333333 2:0.666666667 3:1 ", valuesOf(t, dir))
	must.Do(t, os.Remove(filepath.Join(dir, ScalarsFile)))
	must.Equal(t, "its event file", "1:0.333333343 2:0.666666687 3:1 ", valuesOf(t, dir))
	second, err := newTensorBoard(dir, Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	scalarsIn(t, second, err, 3, 4)
	must.Equal(t, "two event files", "1:0.333333343 2:0.666666687 3:1 4:1.33333337 ", valuesOf(t, dir))
	third := must.Get(ReadRun(dir))(t)[2]
	must.Not(t, third.Time.Before(time.Now().Add(30*time.Minute)), "step 3 is not that of the later file")
	for _, nothing := range []string{t.TempDir(), filepath.Join(dir, "nowhere")} {
		if _, err := ReadRun(nothing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s gives %v", nothing, err)
		}
	}
}

// JSON lines count timesteps and environment steps. TensorBoard's event file discards later steps in its own count.
func TestEnvironmentSteps(t *testing.T) {
	dir := t.TempDir()
	for _, opt := range []Options{{StepsPerTimestep: 4}, {ResumeStep: 2, StepsPerTimestep: 4}} {
		run, err := OpenRun(dir, opt)
		scalarsIn(t, run, err, opt.ResumeStep+1, opt.ResumeStep+3)
	}
	lines := must.Get(ReadRun(dir))(t)
	must.Equal(t, "lines", 5, len(lines))
	must.Do(t, os.Remove(filepath.Join(dir, ScalarsFile)))
	events := must.Get(ReadRun(dir))(t)
	must.Equal(t, "events", 5, len(events))
	for i, s := range lines {
		want := int64(i + 1)
		must.Equal(t, "the steps of a line and of an event", []int64{want, 4 * want, 4 * want},
			[]int64{s.Step, s.EnvSteps, events[i].Step})
	}
}
