package progress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vbauerster/mpb/v8"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tracking"
)

var testTime = time.UnixMicro(1_700_000_000_250_000)

// full is an output that fails.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on the device") }

// clock is a time that only tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	c := &clock{now: testTime}
	p := New(&out, Options{Now: c.Now, LineEvery: 0.25})
	a, b := p.Bar("member 0", 1000), p.Bar("best", 1000)
	for done := int64(0); done <= 1000; done += 10 {
		a.Set(done, fmt.Sprintf("objective %d\n", done/100))
		c.advance(time.Second)
	}
	a.Finish("objective 12")
	a.Set(10, "ignored")
	a.Finish("ignored")
	p.Printf("checkpoint at %d", 1000)
	b.Set(600, "resumed") // where a resumed run continues is not speed
	c.advance(2 * time.Second)
	b.Set(900, "")
	p.Wait()
	b.Set(1000, "ignored")
	want := `member 0    0 %  0/1000  objective 0` + " " + `
member 0   25 %  250/1000  10.0 environment steps/s  ETA 1m15s  objective 2` + " " + `
member 0   50 %  500/1000  10.0 environment steps/s  ETA 50s  objective 5` + " " + `
member 0   75 %  750/1000  10.0 environment steps/s  ETA 25s  objective 7` + " " + `
member 0  100 %  1000/1000  10.0 environment steps/s  in 1m40s  objective 10` + " " + `
member 0  100 %  1000/1000  10.0 environment steps/s  in 1m41s  objective 12
checkpoint at 1000
best       60 %  600/1000  resumed
best       90 %  900/1000  150 environment steps/s  ETA 1s
`
	must.Equal(t, "the lines", want, out.String())
}

func TestMeter(t *testing.T) {
	m := meter{total: 1000}
	m.set(testTime, 100)
	if m.speed("steps") != "" || m.left() != "" {
		t.Error("speed after one measurement")
	}
	m.set(testTime.Add(10*time.Second), 200)
	if got := m.speed("steps") + ", " + m.left(); got != "10.0 steps/s, ETA 1m20s" {
		t.Error(got)
	}
	m.set(testTime.Add(20*time.Second), 150) // back to a checkpoint: the speed stays
	if got := m.speed("steps") + ", " + m.left(); got != "10.0 steps/s, ETA 1m25s" {
		t.Error(got)
	}
	for i := range 100 { // the estimate follows a change
		m.set(testTime.Add(time.Duration(21+i)*time.Second), 150+int64(i+1)*5)
	}
	if got := m.speed("steps"); got != "5.01 steps/s" {
		t.Error(got)
	}
	m.set(testTime.Add(1000*time.Second), 5000)
	if got := m.percent() + m.left(); got != "100 %" {
		t.Errorf("beyond the total: %q", got)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 9.996: "10.0", 99.96: "100", 999.6: "1.00k", 12345: "12.3k"} {
		if got := siNumber(v); got != want {
			t.Errorf("siNumber(%v) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.4: "0s", 59.6: "1m00s", 62: "1m02s", 8040: "2h14m", 180000: "2d02h",
		1e12: "∞"} {
		if got := duration(v); got != want {
			t.Errorf("duration(%v) = %s, want %s", v, got, want)
		}
	}
}

// lastFrame returns what a terminal shows after the output of mpb: everything since the last cursor movement.
func lastFrame(s string) string {
	if i := strings.LastIndex(s, "\x1b[J"); i >= 0 {
		s = s[i+len("\x1b[J"):]
	}
	return strings.TrimRight(s, "\n")
}

func TestBarsFinalFrame(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	var out bytes.Buffer
	c := &clock{now: testTime}
	p := newBars(&out, 110, Options{Unit: "steps", Now: c.Now}, mpb.WithAutoRefresh())
	a, b := p.Bar("member 0", 1000), p.Bar("m 1", 1000)
	var wg sync.WaitGroup
	for _, bar := range []tracking.Bar{a, b} {
		wg.Go(func() {
			for done := int64(0); done < 1000; done++ {
				bar.Set(done, fmt.Sprintf("objective %d", done))
			}
		})
	}
	wg.Wait()
	c.advance(90 * time.Second)
	a.Set(1000, "objective 243  style 1.9")
	a.Finish("objective 250  style 2.0")
	a.Set(3, "ignored")
	b.Set(500, "objective 7\nstopped") // never finished: stays as it is
	p.Wait()
	p.Wait()
	b.Finish("too late, but harmless")
	p.Bar("after the end", 10).Set(1, "")
	p.Printf("done")

	text := strings.TrimSuffix(out.String(), "done\n")
	if text == out.String() {
		t.Error("Printf after Wait wrote nothing")
	}
	got := strings.Split(lastFrame(text), "\n")
	if len(got) != 2 {
		t.Fatalf("%d lines:\n%s", len(got), lastFrame(text))
	}
	for i, want := range []string{
		`^member 0 \[=+\] 100 %  in 1m30s .*objective 250  style 2\.0 *$`,
		`^m 1      \[=+> +\]  50 % +.*objective 7 stopped *$`,
	} {
		if !regexp.MustCompile(want).MatchString(got[i]) {
			t.Errorf("line %d is %q, want %s", i, got[i], want)
		}
	}
}

// A failing terminal does not stop or block the run.
func TestBarsOnBrokenOutput(t *testing.T) {
	refresh := make(chan any)
	p := newBars(full{}, 80, Options{Unit: "steps", Now: time.Now}, mpb.WithManualRefresh(refresh))
	b := p.Bar("a", 10)
	b.Set(1, "")
	refresh <- time.Now()
	b.Set(2, "")
	p.Printf("text")
	p.Bar("b", 10).Set(1, "")
	b.Finish("")
	p.Wait()
}

// A regular file and a pipe are no terminals.
func TestNoTerminal(t *testing.T) {
	file := must.Open(os.Create(t.TempDir() + "/out"))(t)
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	for _, out := range []io.Writer{file, w, new(bytes.Buffer)} {
		if _, ok := New(out, Options{}).(*lines); !ok {
			t.Errorf("%T is taken for a terminal", out)
		}
	}
}
