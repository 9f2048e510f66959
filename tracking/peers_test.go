package tracking_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/tracking"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// curves are the values of the tags of the runs of a folder. A value is a line of step, wall time and value without
// loss, so that -0 and NaN compare as well.
type curves map[string]map[string][]string

func (c curves) add(run, tag string, step int64, at, value float64) {
	if c[run] == nil {
		c[run] = map[string][]string{}
	}
	c[run][tag] = append(c[run][tag], fmt.Sprintf("step %d at %x: %x", step, at, value))
}

// board is a folder of runs that are being written, and what TensorBoard must find in it.
type board struct {
	t    *testing.T
	dir  string
	now  time.Time
	rng  *rand.Rand
	want curves
}

func newBoard(t *testing.T) *board {
	return &board{t: t, dir: t.TempDir(), now: time.UnixMicro(1_700_000_000_000_001), rng: rand.New(rand.NewPCG(1, 2)),
		want: curves{}}
}

// clock stands still between writes, because several writers read it for one value.
func (b *board) clock() time.Time { return b.now }

// open opens a run, as often as it is resumed.
func (b *board) open(run string, resume int64) *tracking.Run {
	b.t.Helper()
	r, err := tracking.OpenRun(filepath.Join(b.dir, run), tracking.Options{Now: b.clock, ResumeStep: resume})
	must(b.t, err)
	return r
}

// write writes one value. A value that a later resume discards is not wanted.
func (b *board) write(r *tracking.Run, tag string, step int64, value float64, forgotten bool) {
	b.now = b.now.Add(1_234_567 * time.Microsecond)
	r.Scalar(tag, step, value)
	if forgotten {
		return
	}
	run, err := filepath.Rel(b.dir, r.Dir())
	must(b.t, err)
	b.want.add(run, strings.ToValidUTF8(tag, "\uFFFD"), step, float64(b.now.UnixMicro())/1e6, float64(float32(value)))
}

// value returns a random number, most often of a usual size.
func (b *board) value() float64 {
	if b.rng.IntN(4) > 0 {
		return b.rng.NormFloat64()
	}
	return math.Ldexp(b.rng.NormFloat64(), b.rng.IntN(300)-150) // also what single precision rounds to 0 or to infinity
}

var (
	specials = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, math.Pi, 1 << 24, 1<<24 + 1, math.SmallestNonzeroFloat32,
		-math.SmallestNonzeroFloat32,
		math.SmallestNonzeroFloat64, 1.1754943508222875e-38, math.MaxFloat32, -math.MaxFloat32, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	peculiar = []string{"Loss / Policy loss", "Reward / Total reward (mean)", "Größe/速度 🚶",
		"a \"quoted\" <b>tag</b> & 100% ?x=1#y", "../up\\and/down",
		"no UTF-8: \xff\xfe", "tab\tand\nline", strings.Repeat("long ", 200), "x"}
)

// fill writes runs with values, tags and steps of every kind. One is interrupted within a record and resumed twice.
func (b *board) fill() {
	t := b.t
	t.Helper()
	first := b.open("members/αβγ run 1", 0)
	for step := int64(0); step < 400; step++ {
		for i, tag := range peculiar {
			b.write(first, tag, step, specials[(int(step)+i)%len(specials)], step > 300)
		}
		if step%97 == 0 {
			must(t, first.Flush())
		}
	}
	must(t, first.Close())
	b.interrupt(first.Dir())
	for _, resume := range []int64{300, 5_000_000_000} { // the second time nothing is forgotten
		again := b.open("members/αβγ run 1", resume)
		for i := range int64(300) {
			step := resume + 1 + i*(resume/300)
			for _, tag := range peculiar {
				b.write(again, tag, step, b.value(), step > 5_000_000_000 && resume == 300)
			}
		}
		must(t, again.Close())
	}
	second := b.open("run 2", 0) // a file of several megabytes, and many tags
	for step := range int64(5_000) {
		b.write(second, "often", 4096*step, b.value(), false)
		if step%100 == 0 {
			for i := range 30 {
				b.write(second, fmt.Sprintf("Group %d/tag %d", i%4, i), step, b.value(), false)
			}
		}
	}
	must(t, second.Close())
	empty := b.open("run 3", 0) // has no values yet
	must(t, empty.Close())
	one := b.open(".", 0) // the folder itself is a run too
	b.write(one, "once", -1, 0.5, false)
	must(t, one.Close())
}

// interrupt appends a part of a record to the newest event file of a folder, as a killed process does.
func (b *board) interrupt(dir string) {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	if err != nil || len(files) == 0 {
		b.t.Fatalf("event files %v, %v", files, err)
	}
	path := files[len(files)-1]
	whole, err := os.ReadFile(path)
	must(b.t, err)
	must(b.t, os.WriteFile(path, append(whole, whole[:20]...), 0o644))
}

func (b *board) compare(got curves) {
	b.t.Helper()
	t, want := b.t, b.want
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Fatalf("runs (-want +got):\n%s", diff)
	}
	tags, values := 0, 0
	for run, w := range want {
		g := got[run]
		if diff := cmp.Diff(slices.Sorted(maps.Keys(w)), slices.Sorted(maps.Keys(g))); diff != "" {
			t.Fatalf("run %q: tags (-want +got):\n%s", run, diff)
		}
		for tag, lines := range w {
			if !slices.Equal(lines, g[tag]) {
				at := 0
				for at < min(len(lines), len(g[tag])) && lines[at] == g[tag][at] {
					at++
				}
				t.Fatalf("run %q, tag %.50q: %d values, want %d; from number %d on %q, want %q", run, tag, len(g[tag]),
					len(lines), at, g[tag][at:min(at+2, len(g[tag]))], lines[at:min(at+2, len(lines))])
			}
			tags, values = tags+1, values+len(lines)
		}
	}
	t.Logf("%d runs, %d tags, %d values: equal steps, wall times and values", len(want), tags, values)
}

// TensorBoard's own reader finds the tags, steps, wall times and values that were written.
func TestPeersEventAccumulator(t *testing.T) {
	python := peers.Python(t, "tensorboard")
	b := newBoard(t)
	b.fill()
	b.want["run 3"] = nil // it has an event file
	var runs map[string]map[string][][3]any
	path := filepath.Join(t.TempDir(), "runs.json")
	peers.Run(t, python, "testdata/accumulator.py", b.dir, path)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &runs)
	}
	must(t, err)
	got := curves{}
	for run, tags := range runs {
		got[run] = nil
		for tag, rows := range tags {
			for _, row := range rows {
				got.add(run, tag, int64(row[0].(float64)), number(t, row[1]), number(t, row[2]))
			}
		}
	}
	b.compare(got)
}

// number is a number of JSON, or a string that has one.
func number(t *testing.T, x any) float64 {
	t.Helper()
	text := fmt.Sprint(x)
	if f, ok := x.(float64); ok {
		return f
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		t.Fatal(err)
	}
	return f
}
