package tracking

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// beginLines returns a writer of new JSON lines. Close does not close w.
func beginLines(w io.Writer, opt Options) Sink {
	return newOutput("JSON lines", w, nil, opt, appendJSON)
}

var awkward = []Scalar{
	{testTime, 1, `quotes " and \ , commas`, math.Pi, 0},
	{testTime, math.MaxInt64, " leading", math.MaxFloat64, 0},
	{testTime, math.MinInt64, "", math.SmallestNonzeroFloat64, 0},
	{testTime, 3, "日本\u2028", math.Inf(-1), 0},
}

func TestLinesRoundTrip(t *testing.T) {
	want := append(slices.Concat(testScalars, awkward), Scalar{testTime, 4, "line\r\nbreak", 1, 0})
	var b bytes.Buffer
	put(t, beginLines(&b, Options{Now: testClock}), want)
	must.Equal(t, "lines", len(want), strings.Count(b.String(), "\n"))
	must.Equal(t, "the scalars", want, must.Get(readLines(&b))(t), sameNaN)
}

func TestReadLinesErrors(t *testing.T) {
	const good = `{"time":1,"step":1,"tag":"a","value":1}` + "\n"
	for text, want := range map[string]string{
		`{"time":1,"step":1,"tag":"a","val`:         "line 2",
		`{"step":2,"tag":"a"}` + "\n" + good:        `line 2 after byte 40: "value" is missing`,
		`{"step":2,"tag":"a","value":"big"}` + "\n": `"big" is neither a number nor`,
	} {
		got, err := readLines(strings.NewReader(good + text))
		must.Refuse(t, err, want)
		must.Equal(t, text+" is cut off", want == "line 2", errors.Is(err, ErrTruncated))
		must.Equal(t, "scalars before "+text, 1, len(got))
	}
	// A complete last line without a line break counts.
	must.Equal(t, "scalars", 1, len(must.Get(readLines(strings.NewReader(strings.TrimSpace(good))))(t)))
	must.Refused(ReadFile("walk.txt"))(t, "walk.txt")
}

func TestContinueAfterInterruption(t *testing.T) {
	path := filepath.Join(t.TempDir(), ScalarsFile)
	write := func(opt Options, from, to int64, want ...int64) {
		t.Helper()
		w := must.Get(openJSONLines(path, opt))(t)
		for step := from; step <= to; step++ {
			w.Scalar("Loss", step, float64(step))
		}
		must.Do(t, w.(syncer).Sync()) // the values are there before Close
		got := must.Get(ReadFile(path))(t)
		var steps []int64
		for _, s := range got {
			steps = append(steps, s.Step)
		}
		must.Equal(t, "the steps", want, steps)
		must.Do(t, w.Close())
	}
	write(Options{}, 1, 5, 1, 2, 3, 4, 5)
	info := must.Get(os.Stat(path))(t)
	must.Do(t, os.Truncate(path, info.Size()-3))       // an incomplete last line is removed
	write(Options{}, 6, 7, 1, 2, 3, 4, 6, 7)           //
	write(Options{ResumeStep: 3}, 4, 5, 1, 2, 3, 4, 5) // later steps are removed
	must.Do(t, os.Truncate(path, 2))                   // nothing is left
	write(Options{}, 1, 1, 1)
	// A power cut leaves zeros in place of data that was not synced. They are removed, and so is what follows them.
	text := must.Read(t, path)
	must.Do(t, os.WriteFile(path, slices.Concat(text, make([]byte, 9), text), 0o644))
	write(Options{ResumeStep: 1}, 2, 2, 1, 2)
	write(Options{Restart: true}, 4, 4, 4) // a run that starts again removes all lines
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	must.Is(t, len(left), 0, "files left over, %v", left)
}

func TestForeignFileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), ScalarsFile)
	const foreign = "dear diary\nhalf a"
	must.Do(t, os.WriteFile(path, []byte(foreign), 0o644))
	must.Refused(openJSONLines(path, Options{}))(t, path+": line 1")
	must.Equal(t, "the file", foreign, string(must.Read(t, path)))
}

// memory is a sink that keeps what it gets.
type memory struct{ scalars []Scalar }

func (m *memory) Scalar(tag string, step int64, value float64) {
	m.scalars = append(m.scalars, Scalar{testTime, step, tag, value, 0})
}
func (m *memory) Flush() error { return nil }
func (m *memory) Close() error { return nil }

type brokenWriter struct{ after int }

var errDisk = errors.New("disk full")

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

// Multi writes to all, also behind a broken one, and reports its failure. A closed sink refuses scalars.
func TestMulti(t *testing.T) {
	b := &memory{}
	board := must.Get(newTensorBoard(t.TempDir(), Options{}))(t)
	w := Multi(nil, beginLines(&brokenWriter{}, Options{}), b, board)
	w.Scalar("Loss", 1, 2)
	for range 2 {
		must.Refuse(t, w.Flush(), "JSON lines", errDisk.Error())
	}
	must.Equal(t, "the scalars", []Scalar{{testTime, 1, "Loss", 2, 0}}, b.scalars)
	must.Equal(t, "the error of Close", errDisk, w.Close(), cmpopts.EquateErrors())
	board.Scalar("Loss", 2, 2)
	must.Equal(t, "the error of a closed sink", ErrClosed, board.Close(), cmpopts.EquateErrors())
}

// Concurrent writers lose no scalar and break no record.
func TestConcurrentScalars(t *testing.T) {
	run := must.Get(OpenRun(filepath.Join(t.TempDir(), "a", "b"), Options{}))(t)
	const goroutines, each = 4, 500
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				run.Scalar(fmt.Sprint("tag ", g), int64(i), float64(i))
				if i%100 == 0 {
					must.Equal(t, "the error of Flush", nil, run.Flush())
				}
			}
		})
	}
	wg.Wait()
	must.Do(t, run.Close())
	files := must.Get(filepath.Glob(filepath.Join(run.Dir(), "*")))(t)
	must.Equal(t, "files", 2, len(files))
	for _, scalars := range [][]Scalar{must.Get(ReadFile(files[0]))(t), must.Get(ReadFile(files[1]))(t)} {
		next := map[string]int64{}
		for _, s := range scalars {
			must.Is(t, s.Step, next[s.Tag], "the next step of %s", s.Tag)
			must.Is(t, s.Value, float64(s.Step), "the value of %s", s.Tag)
			next[s.Tag]++
		}
		must.Equal(t, "scalars and tags", []int{goroutines * each, goroutines}, []int{len(scalars), len(next)})
	}
}

func TestScalarAllocatesNothing(t *testing.T) {
	board := must.Open(newTensorBoard(t.TempDir(), Options{Now: testClock}))(t)
	for _, w := range []Sink{board, beginLines(io.Discard, Options{Now: testClock})} {
		w.Scalar("Loss / Policy loss", 1, 0.5)
		must.Equal(t, fmt.Sprintf("allocations a scalar of %T", w), 0.0,
			testing.AllocsPerRun(1000, func() { w.Scalar("Loss / Policy loss", 123456, 0.123456) }))
	}
}

func FuzzReadJSONLines(f *testing.F) {
	var b bytes.Buffer
	w := beginLines(&b, Options{Now: testClock})
	for _, s := range append(awkward, testScalars...) {
		w.Scalar(s.Tag, s.Step, s.Value)
	}
	w.Close()
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-4])
	f.Add([]byte(`{"step":1,"tag":"a","value":1e999}` + "\n"))
	f.Add([]byte("{}\n\n[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		scalars, _ := readLines(bytes.NewReader(text))
		var b []byte
		for i := range scalars {
			scalars[i].Time = time.Time{}
			b = appendJSON(b, scalars[i])
		}
		again := must.Get(readLines(bytes.NewReader(b)))(t)
		for i := range again { // the zero time is written as a number
			again[i].Time = time.Time{}
		}
		must.Equal(t, "the scalars", scalars, again, sameNaN, cmpopts.EquateEmpty())
	})
}
