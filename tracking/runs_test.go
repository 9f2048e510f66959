package tracking

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

func valuesOf(scalars []Scalar) string {
	var parts []string
	for _, s := range scalars {
		parts = append(parts, fmt.Sprintf("%d:%.9g", s.Step, s.Value))
	}
	return strings.Join(parts, " ")
}

func TestReadRun(t *testing.T) {
	whole := t.TempDir()
	run, err := OpenRun(whole, Options{})
	scalarsIn(t, run, err, 1, 3)
	// The JSON lines have double precision, the event file beside them does not.
	if got, err := ReadRun(whole); err != nil || valuesOf(got) != "1:0.333333333 2:0.666666667 3:1" ||
		got[0].Value != 1.0/3 {
		t.Errorf("a run reads as %s, %v", valuesOf(got), err)
	}
	must.Do(t, os.Remove(filepath.Join(whole, ScalarsFile)))
	if got, err := ReadRun(whole); err != nil || valuesOf(got) != "1:0.333333343 2:0.666666687 3:1" {
		t.Errorf("its event file reads as %s, %v", valuesOf(got), err)
	}
	// A second event file, of a run resumed at step 3, counts from there on.
	later := func() time.Time { return time.Now().Add(time.Hour) }
	second, err := newTensorBoard(whole, Options{Now: later})
	scalarsIn(t, second, err, 3, 4)
	got, err := ReadRun(whole)
	if err != nil || valuesOf(got) != "1:0.333333343 2:0.666666687 3:1 4:1.33333337" {
		t.Errorf("two event files read as %s, %v", valuesOf(got), err)
	}
	if got[2].Time.Before(time.Now().Add(30 * time.Minute)) {
		t.Error("step 3 is not that of the later file")
	}

	if _, err := ReadRun(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder gives %v", err)
	}
	if _, err := ReadRun(filepath.Join(whole, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder gives %v", err)
	}
}

// JSON lines count timesteps and environment steps. TensorBoard's event file discards later steps in its own count.
func TestEnvironmentSteps(t *testing.T) {
	dir := t.TempDir()
	for _, opt := range []Options{{StepsPerTimestep: 4}, {ResumeStep: 2, StepsPerTimestep: 4}} {
		run := must.Get(OpenRun(dir, opt))(t)
		for step := opt.ResumeStep + 1; step <= opt.ResumeStep+3; step++ {
			run.Scalar("x", step, float64(step))
		}
		must.Do(t, run.Close())
	}
	lines := must.Get(ReadRun(dir))(t)
	for i, s := range lines {
		if want := int64(i + 1); s.Step != want || s.EnvSteps != 4*want {
			t.Errorf("line %d is of the timestep %d and of %d environment steps, want %d", i, s.Step, s.EnvSteps,
				4*want)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d lines, want 5", len(lines))
	}
	must.Do(t, os.Remove(filepath.Join(dir, ScalarsFile)))
	events := must.Get(ReadRun(dir))(t)
	var steps []int64
	for _, s := range events {
		steps = append(steps, s.Step)
	}
	if want := []int64{4, 8, 12, 16, 20}; !slices.Equal(steps, want) {
		t.Errorf("the event files have the steps %v, want %v", steps, want)
	}
}
