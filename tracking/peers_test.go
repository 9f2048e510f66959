package tracking_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// clock stands still between writes, as several writers ask it for one value.
func (b *board) clock() time.Time { return b.now }

// open opens a run, as often as it is resumed.
func (b *board) open(run string, resume int64) *tracking.Run {
	b.t.Helper()
	r, err := tracking.OpenRun(filepath.Join(b.dir, run), tracking.Options{Now: b.clock, ResumeStep: resume})
	must(b.t, err)
	return r
}

// write writes one value. One that the run forgets, as it is resumed before it, is not wanted.
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

// value is some number, most often of a usual size.
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

// fill writes runs with every kind of value, tag and step; one is interrupted in a record and resumed, twice.
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

// interrupt leaves the newest event file of a folder as a process does that is killed while it writes.
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
				t.Fatalf("run %q, tag %.50q: %d values, want %d; from number %d on %q, want %q", run, tag, len(g[tag]), len(lines),
					at,
					g[tag][at:min(at+2, len(g[tag]))], lines[at:min(at+2, len(lines))])
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

// A running TensorBoard lists the same through the addresses that its page asks, and follows a run that goes on; by
// both of its readers, the one in Python and the data server.
func TestPeersTensorBoardServes(t *testing.T) {
	python := peers.Python(t, "tensorboard")
	for _, c := range []struct{ name, fast string }{{"Python", "false"}, {"data server", "true"}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBoard(t)
			b.fill()
			delete(b.want, "run 3") // a run without values has no curves
			s := serve(t, python, b.dir, "--load_fast="+c.fast)
			s.await(b.want)
			b.compare(s.curves())

			r := b.open("run 4", 0)
			for step := range int64(50) {
				b.write(r, "live", step, b.value(), false)
				b.write(r, "live too", step, b.value(), false)
			}
			must(t, r.Flush())
			s.await(b.want)
			for step := range int64(50) {
				b.write(r, "live", 50+step, b.value(), false)
				b.write(r, "late", 50+step, b.value(), false)
			}
			must(t, r.Close())
			s.await(b.want)
			b.compare(s.curves())
		})
	}
}

// server is a TensorBoard that runs.
type server struct {
	t    *testing.T
	base string
	told func() string // what it has printed
}

// patience is how long a loaded machine may take for what usually takes seconds.
const patience = 2 * time.Minute

// serve starts TensorBoard on a free port. At the test's end it is asked to stop, and no process of it may remain.
func serve(t *testing.T, python, dir string, args ...string) *server {
	t.Helper()
	args = append([]string{"-W", "ignore", "-m", "tensorboard.main", "--logdir", dir, "--port", "0", "--reload_interval",
		"1", "--samples_per_plugin", "scalars=1000000"}, args...)
	cmd := exec.Command(python, args...)
	cmd.Env = append(os.Environ(), "NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w, err := os.Pipe()
	must(t, err)
	cmd.Stdout, cmd.Stderr = w, w
	must(t, cmd.Start())
	w.Close()
	address, said, silent := make(chan string, 1), make(chan string, 1), make(chan struct{})
	go func() { // until the last process that can print has ended
		defer close(silent)
		var all strings.Builder
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			fmt.Fprintln(&all, lines.Text())
			if at := regexp.MustCompile(`http://[^ ]+`).FindString(lines.Text()); at != "" &&
				strings.HasPrefix(lines.Text(), "TensorBoard ") {
				address <- at
			}
			select {
			case <-said:
			default:
			}
			said <- all.String()
		}
	}()
	s := &server{t: t, told: func() string {
		select {
		case text := <-said:
			return text
		default:
			return ""
		}
	}}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("TensorBoard has ended by itself: %v", err)
		}
		clock := time.AfterFunc(patience, func() {
			t.Error("TensorBoard does not end, or leaves a process behind")
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		})
		defer clock.Stop()
		<-ended
		<-silent
		r.Close()
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // the data server notices by itself
			left := alive(t, cmd.Process.Pid)
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("TensorBoard has left the processes %v", left)
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				break
			}
		}
	})
	select {
	case s.base = <-address:
	case <-silent:
		t.Fatalf("TensorBoard did not start:\n%s", s.told())
	case <-time.After(patience):
		t.Fatalf("TensorBoard does not say its address:\n%s", s.told())
	}
	return s
}

// alive are the processes of a group that have not ended.
func alive(t *testing.T, group int) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		t.Fatalf("no processes in /proc: %v", err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		// After the name in parentheses stand its state, its parent and its group.
		if f := strings.Fields(string(line[strings.LastIndexByte(string(line), ')')+1:])); f[0] != "Z" &&
			f[2] == strconv.Itoa(group) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// get asks for an address below /data/plugin/scalars.
func (s *server) get(result any, path string, query url.Values) {
	s.t.Helper()
	address := strings.TrimSuffix(s.base, "/") + "/data/plugin/scalars/" + path + "?" + query.Encode()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	must(s.t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.told())
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s, %v\n%s\n%s", address, response.Status, err, body, s.told())
	}
	if err := json.Unmarshal(body, result); err != nil {
		s.t.Fatalf("%s: %v in %s", address, err, body)
	}
}

// tags are those of each run, without values.
func (s *server) tags() map[string]map[string]any {
	s.t.Helper()
	var runs map[string]map[string]any
	s.get(&runs, "tags", nil)
	return runs
}

// values are those of one tag.
func (s *server) values(run, tag string) [][3]any {
	s.t.Helper()
	var rows [][3]any // wall time, step, value
	s.get(&rows, "scalars", url.Values{"run": {run}, "tag": {tag}})
	return rows
}

func (s *server) curves() curves {
	s.t.Helper()
	got := curves{}
	for run, tags := range s.tags() {
		for tag := range tags {
			for _, row := range s.values(run, tag) {
				got.add(run, tag, int64(row[1].(float64)), number(s.t, row[0]), number(s.t, row[2]))
			}
		}
	}
	return got
}

// await returns when all tags are listed and have as many values as wanted: TensorBoard reads while it answers.
func (s *server) await(want curves) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for missing := "anything"; missing != ""; {
		if time.Now().After(deadline) {
			s.t.Fatalf("TensorBoard does not list %s\n%s", missing, s.told())
		}
		missing = ""
		listed := s.tags()
		for run, tags := range want {
			for tag, lines := range tags {
				if _, ok := listed[run][tag]; !ok {
					missing = fmt.Sprintf("run %q, tag %q", run, tag)
				} else if n := len(s.values(run, tag)); n < len(lines) {
					missing = fmt.Sprintf("%d of the %d values of run %q, tag %q", len(lines)-n, len(lines), run, tag)
				}
				if missing != "" {
					break
				}
			}
		}
		if missing != "" {
			time.Sleep(100 * time.Millisecond)
		}
	}
}
