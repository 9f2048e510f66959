package motions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/envs"
)

var _ envs.MotionSource = (*Source)(nil)

// ramp is a clip whose only value is offset + time.
func ramp(t *testing.T, name string, offset, duration, weight float64, loop Loop) *Clip {
	t.Helper()
	c, err := NewClip(ClipConfig{Name: name, Loop: loop, Weight: weight, Frames: [][]float64{{offset}, {offset + duration}}, Durations: []float64{duration, 0},
		Description: &Description{Columns: []Column{{"clock", Travel}}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var clock = Features{Width: 2, Write: func(pos, vel []float64, out []float32) { out[0], out[1] = float32(pos[0]), float32(vel[0]) }}

func TestDrawsByWeight(t *testing.T) {
	l, err := NewLibrary(ramp(t, "a", 0, 1, 1, LoopNone), ramp(t, "b", 10, 2, 3, LoopNone))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 40000
	var second, sum float64
	for range n {
		c, at := l.Sample(rng)
		if at < 0 || at > c.Duration() {
			t.Fatalf("time %v", at)
		}
		sum += at / c.Duration()
		if c.Name() == "b" {
			second++
		}
	}
	if p := second / n; math.Abs(p-0.75) > 0.01 {
		t.Errorf("the clip of weight 3 of 4 was drawn with frequency %v", p)
	}
	if math.Abs(sum/n-0.5) > 0.01 {
		t.Errorf("mean time %v of the duration", sum/n)
	}
}

func TestBatchWindows(t *testing.T) {
	for _, loop := range []Loop{LoopNone, LoopWrap} {
		l, err := NewLibrary(ramp(t, "a", 0, 1, 1, loop))
		if err != nil {
			t.Fatal(err)
		}
		const n, history, dt = 2000, 4, 0.1
		rows, err := l.Batch(rand.New(rand.NewPCG(3, 3)), n, history, dt, clock)
		if err != nil || len(rows) != n*history*2 {
			t.Fatal(len(rows), err)
		}
		low, high := 10.0, -10.0
		for i := range n {
			row := rows[i*history*2 : (i+1)*history*2]
			for h := 1; h < history; h++ { // oldest first, dt apart, over the seam too
				if d := float64(row[2*h] - row[2*h-2]); math.Abs(d-dt) > 1e-5 {
					t.Fatalf("%v: moments are %v apart", loop, d)
				}
			}
			low, high = min(low, float64(row[0])), max(high, float64(row[2*history-2]))
		}
		wantLow, wantHigh := 0.0, 1.0
		if loop == LoopWrap {
			wantLow = -0.3
		}
		if math.Abs(low-wantLow) > 0.01 || math.Abs(high-wantHigh) > 0.01 || low < wantLow-1e-6 || high > wantHigh+1e-6 {
			t.Errorf("%v: windows reach from %v to %v", loop, low, high)
		}
	}
	short, err := NewLibrary(ramp(t, "short", 0, 0.1, 1, LoopNone))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := short.Batch(rand.New(rand.NewPCG(1, 1)), 1, 3, 0.1, clock)
	if err != nil || rows[0] != 0 || math.Abs(float64(rows[4])-0.1) > 1e-6 {
		t.Errorf("a window longer than its clip: %v, %v", rows, err)
	}
}

func TestSourceIsDeterministicAndShared(t *testing.T) {
	gait, err := Gait(DefaultGaitConfig())
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLibrary(gait)
	if err != nil {
		t.Fatal(err)
	}
	f := StateFeatures(gait)
	s, err := l.Source(SourceConfig{History: 2, TimeStep: 0.02, Features: f})
	if err != nil {
		t.Fatal(err)
	}
	if f.Width != 8+9 || s.Width() != 34 {
		t.Errorf("widths %d, %d", f.Width, s.Width())
	}
	results := make([][]float32, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i], _ = s.CollectReferenceMotions(100, rand.New(rand.NewPCG(7, 7))) })
	}
	wg.Wait()
	for _, r := range results {
		if len(r) != 3400 || !slices.Equal(r, results[0]) {
			t.Error("the same generator gave other rows")
		}
	}
	other, _ := s.CollectReferenceMotions(100, rand.New(rand.NewPCG(7, 8)))
	if slices.Equal(other, results[0]) {
		t.Error("another generator gave the same rows")
	}
	if _, err := s.CollectReferenceMotions(-1, rand.New(rand.NewPCG(7, 8))); err == nil {
		t.Error("drew a negative number of rows")
	}
}

func TestLibraryRejects(t *testing.T) {
	a := ramp(t, "a", 0, 1, 1, LoopNone)
	wide, err := NewClip(ClipConfig{Name: "wide", Frames: [][]float64{{1, 2}}, Durations: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewClip(ClipConfig{Name: "other", Frames: [][]float64{{1}}, Durations: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	for want, clips := range map[string][]*Clip{
		"at least one clip": nil,
		"clip 1 is nil":     {a, nil},
		"a and wide cannot share a library: their frames have 1 and 2 values": {a, wide},
		"column 0 is clock (travel) in one and value 0 (linear) in the other": {a, other},
	} {
		if _, err := NewLibrary(clips...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	l, err := NewLibrary(a)
	if err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]SourceConfig{
		"History":  {History: 0, TimeStep: 1, Features: clock},
		"TimeStep": {History: 1, TimeStep: math.NaN(), Features: clock},
		"Features": {History: 1, TimeStep: 1},
	} {
		if _, err := l.Source(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := a.WithWeight(math.Inf(1)); err == nil {
		t.Error("infinite weight")
	}
	if b, err := a.WithWeight(5); err != nil || b.Weight() != 5 || a.Weight() != 1 {
		t.Error(b, err)
	}
	if _, err := LoadLibrary("testdata/hop.txt", "testdata/absent.txt"); err == nil || !strings.Contains(err.Error(), "absent.txt") {
		t.Error(err)
	}
}

func ExampleNewLibrary() {
	walk, err := Gait(DefaultGaitConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	often, err := walk.WithWeight(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	library, err := NewLibrary(walk, often)
	if err != nil {
		fmt.Println(err)
		return
	}
	clip, t := library.Sample(rand.New(rand.NewPCG(1, 2)))
	fmt.Println(len(library.Clips()), clip.Name(), t < clip.Duration())
	// Output: 2 gait true
}

func ExampleLoadLibrary() {
	library, err := LoadLibrary("testdata/hop.txt", "testdata/hop.txt")
	fmt.Println(len(library.Clips()), err)
	// Output: 2 <nil>
}

func ExampleLibrary_Source() {
	walk, err := Gait(DefaultGaitConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	library, err := NewLibrary(walk)
	if err != nil {
		fmt.Println(err)
		return
	}
	source, err := library.Source(SourceConfig{History: 2, TimeStep: 0.02, Features: StateFeatures(walk)})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := source.CollectReferenceMotions(512, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(source.Width(), len(rows), err)
	// Output: 34 17408 <nil>
}

func ExampleStateFeatures() {
	walk, err := Gait(DefaultGaitConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	features := StateFeatures(walk)
	row := make([]float32, features.Width)
	features.Write(walk.Frame(0), walk.FrameVelocity(0), row)
	fmt.Printf("%d values, forward speed %.2f m/s\n", features.Width, row[8])
	// Output: 17 values, forward speed 1.21 m/s
}
