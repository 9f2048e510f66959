package progress

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
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

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	now := testTime
	p := New(&out, Options{Now: func() time.Time { return now }, LineEvery: 0.25})
	a, b := p.Bar("member 0", 1000), p.Bar("best", 1000)
	for done := int64(0); done <= 1000; done += 10 {
		a.Set(done, fmt.Sprintf("objective %d\n", done/100))
		now = now.Add(time.Second)
	}
	a.Finish("objective 12")
	a.Set(10, "ignored")
	p.Printf("checkpoint at %d", 1000)
	b.Set(600, "resumed") // where a resumed run continues is not speed
	now = now.Add(2 * time.Second)
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
	for _, c := range []struct {
		seconds, done int
		want          string
	}{
		{0, 100, " "},
		{10, 200, "10.0 steps/s ETA 1m20s"},
		{20, 150, "10.0 steps/s ETA 1m25s"}, // back to a checkpoint: the speed stays
	} {
		m.set(testTime.Add(time.Duration(c.seconds)*time.Second), int64(c.done))
		must.Equal(t, fmt.Sprint("after ", c.seconds, " s"), c.want, m.speed("steps")+" "+m.left())
	}
	for i := range 100 { // the estimate follows a change
		m.set(testTime.Add(time.Duration(21+i)*time.Second), 150+int64(i+1)*5)
	}
	must.Equal(t, "the speed", "5.01 steps/s", m.speed("steps"))
	m.set(testTime.Add(1000*time.Second), 5000)
	must.Equal(t, "beyond the total", "100 %", m.percent()+m.left())
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{9.996: "10.0", 999.6: "1.00k", 12345: "12.3k"} {
		must.Equal(t, "a number", want, siNumber(v))
	}
	for v, want := range map[float64]string{59.6: "1m00s", 8040: "2h14m", 180000: "2d02h", 1e12: "∞"} {
		must.Equal(t, "a duration", want, duration(v))
	}
}

// lastFrame returns what a terminal shows after the output of mpb: everything since the last cursor movement.
func lastFrame(s string) string {
	return s[strings.LastIndex(s, "\x1b[J")+len("\x1b[J"):]
}

func TestBarsFinalFrame(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	var out bytes.Buffer
	var elapsed atomic.Int64
	now := func() time.Time { return testTime.Add(time.Duration(elapsed.Load())) }
	p := newBars(&out, 110, Options{Unit: "steps", Now: now}, mpb.WithAutoRefresh())
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
	elapsed.Store(int64(90 * time.Second))
	a.Set(1000, "objective 243  style 1.9")
	a.Finish("objective 250  style 2.0")
	a.Set(3, "ignored")
	b.Set(500, "objective 7\nstopped") // never finished: stays as it is
	p.Wait()
	p.Wait()
	b.Finish("too late, but harmless")
	p.Bar("after the end", 10).Set(1, "")
	p.Printf("done")
	want := `^member 0 \[=+\] 100 %  in 1m30s .*objective 250  style 2\.0 *
m 1      \[=+> +\]  50 % +.*objective 7 stopped *
+done
$`
	frame := lastFrame(out.String())
	must.Not(t, !regexp.MustCompile(want).MatchString(frame), "the last frame is\n%s\nwant %s", frame, want)
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

// A regular file is no terminal.
func TestNoTerminal(t *testing.T) {
	file := must.Open(os.Create(t.TempDir() + "/out"))(t)
	_, ok := New(file, Options{}).(*lines)
	must.Not(t, !ok, "a file is taken for a terminal")
}
