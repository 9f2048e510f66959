package gymnasium

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// adder is a policy that does the sum of its observation, and its negative.
type adder struct {
	set      spaces.Set
	n        int
	training bool
}

// question is what a policy is asked.
type question = struct {
	Observations, States, ActionMasks []float32
	Active                            []bool
}

func (a *adder) Name() string           { return "adder" }
func (a *adder) Spaces() spaces.Set     { return a.set }
func (a *adder) NumEnvs() int           { return a.n }
func (a *adder) Bind(numEnvs int) error { a.n = numEnvs; return nil }
func (a *adder) SetTraining(on bool) (was bool) {
	was, a.training = a.training, on
	return was
}

func (a *adder) Act(in question) ([]float32, error) {
	w := a.set.Observation.Width()
	var out []float32
	for row := range slices.Chunk(in.Observations, w) {
		if row[0] < 0 {
			return nil, errors.New("negative observations")
		}
		sum := float32(0)
		for _, x := range row {
			sum += x
		}
		out = append(out, sum, -sum)
	}
	return out, nil
}

// chooser is an adder with two indices that takes the first choice of each that its mask allows.
type chooser struct{ adder }

func (p *chooser) Act(in question) (out []float32, err error) {
	for mask := in.ActionMasks; len(mask) > 0; {
		for _, n := range p.set.Action.NVec {
			out = append(out, float32(slices.Index(mask[:n], 1)))
			mask = mask[n:]
		}
	}
	return out, nil
}

// tally is an adder that remembers the sum of all that it saw in every row.
type tally struct {
	adder
	sums []float32
}

func (p *tally) HiddenSizes() map[string]int { return map[string]int{"policy": 1} }

func (p *tally) ResetHidden(environments ...int) {
	for _, i := range environments {
		p.sums[i] = 0
	}
}

func (p *tally) Act(in question) ([]float32, error) {
	out, err := p.adder.Act(in)
	for i := range p.sums {
		p.sums[i] += out[2*i] + 100
		out[2*i] = p.sums[i]
	}
	return out, err
}

// ask is the Go side of a client: it maps the file and asks about rows of observations.
type ask struct {
	memory []byte
	layout *layout
	block  *control
}

func newAsk(t *testing.T, path string) *ask {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info := must.Get(f.Stat())(t)
	a := &ask{}
	if a.memory, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(a.memory) })
	if a.layout, err = parseHeader(a.memory); err != nil {
		t.Fatal(err)
	}
	a.block = a.layout.block(a.memory, 0)
	return a
}

// act returns the actions, or the error's text.
func (a *ask) act(observations []float32) (actions []float32, failure string) {
	w := a.layout.Arrays["observations"].Shape[1]
	copy(view[float32](a.memory, a.layout, "observations"), observations)
	n := len(observations) / w
	a.block.to = uint32(n)
	sequence := a.block.sequence + 1
	a.block.start(commandStep, sequence)
	for atomic.LoadUint32(&a.block.done) != sequence {
		futexWait(&a.block.done, sequence-1, nap)
	}
	if atomic.LoadUint32(&a.block.status) != 0 {
		text, _, _ := strings.Cut(string(view[uint8](a.memory, a.layout, "message")), "\x00")
		return nil, text
	}
	return view[float32](a.memory, a.layout, "actions")[:2*n], ""
}

// serving runs Serve until the test ends, and returns when its file is there.
func serving(t *testing.T, p Policy[question],
	path string) (cancel func() error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, p, path, ServeOptions{Rows: 3}) }()
	for {
		if _, err := os.Stat(path); err == nil {
			break
		}
		select {
		case err := <-served:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	return func() error { stop(); return <-served }
}

// A policy with memory goes on from question to question, row by row, until an episode begins.
func TestServeMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy")
	p := &tally{adder: adder{set: spaces.Set{Observation: spaces.Unbounded(1), Action: spaces.NewBox(-1, 1, 2)}},
		sums: make([]float32, 3)}
	cancel := serving(t, p, path)
	defer func() {
		must.Do(t, cancel())
	}()
	a := newAsk(t, path)
	begins := view[uint8](a.memory, a.layout, "begins")
	for i, step := range []struct {
		begins            []uint8
		observations, sum []float32
	}{
		{[]uint8{1, 1, 1}, []float32{1, 2, 3}, []float32{101, 102, 103}},
		{[]uint8{0, 0, 0}, []float32{1, 2, 3}, []float32{202, 204, 206}},
		{[]uint8{0, 1, 0}, []float32{0, 0, 0}, []float32{302, 100, 306}},
		{[]uint8{0, 0, 0}, []float32{5}, []float32{407}}, // the others are forgotten
		{[]uint8{0, 0, 0}, []float32{5, 5, 5}, []float32{512, 105, 105}},
	} {
		for k, x := range step.begins {
			begins[k] |= x
		}
		actions, failure := a.act(step.observations)
		for k, want := range step.sum {
			if failure != "" || actions[2*k] != want {
				t.Errorf("question %d, row %d: %v %s, want %g", i, k, actions, failure, want)
			}
		}
	}
}

func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy")
	p := &adder{set: spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 2)}, training: true}
	stop := serving(t, p, path)
	a := newAsk(t, path)
	if l := a.layout; l.Role != "policy" || l.Policy.Name != "adder" || l.Policy.Action.Kind != "Box" ||
		l.Arrays["actions"].Shape[0] != 3 {
		t.Errorf("the header says %+v, %+v", l, l.Policy)
	}
	for range 100 {
		for _, in := range [][]float32{{1, 2}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}} {
			got, failure := a.act(in)
			if failure != "" || len(got) != len(in) || got[0] != 3 || got[len(got)-1] != -in[len(in)-2]-in[len(in)-1] {
				t.Fatalf("%v: %v, %s", in, got, failure)
			}
		}
	}
	if _, failure := a.act([]float32{-1, 0}); failure != "negative observations" {
		t.Errorf("the policy's error is %q", failure)
	}
	if _, failure := a.act(nil); !strings.Contains(failure, "takes from 1 to 3 at once") {
		t.Errorf("no observations: %q", failure)
	}
	must.Refuse(t, Serve(context.Background(), p, path, ServeOptions{}), "serves a policy at")
	must.Do(t, stop())
	if !p.training {
		t.Error("the policy does not train any more")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("files are left: %v, %v", entries, err)
	}
	must.Is(t, a.block.server, 0, "a process that has mapped the memory does not see that the server ended")
}

// TestServeEnds ends Serve at once, many times: nothing may read its memory after it is unmapped.
func TestServeEnds(t *testing.T) {
	p := &adder{set: spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 2)}}
	path := filepath.Join(t.TempDir(), "policy")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 2000 {
		must.Do(t, Serve(ctx, p, path, ServeOptions{Rows: 3}))
	}
}

func TestServeRefuses(t *testing.T) {
	p := &adder{set: spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 2)}}
	path := filepath.Join(t.TempDir(), "notes.txt")
	must.Do(t, os.WriteFile(path, []byte("not a policy"), 0o600))
	vast := &adder{set: p.set, n: 1 << 44} // no address space has room for so many rows
	seats := &adder{set: spaces.NewSeats(spaces.Space{}, spaces.Seat{Name: "red", Observation: p.set.Observation,
		Action: p.set.Action})}
	for want, serve := range map[string]func() error{
		"seats for 1 (red)": func() error { return Serve(context.Background(), seats, path+"x", ServeOptions{}) },
		"mapping":           func() error { return Serve(context.Background(), vast, path+"x", ServeOptions{}) },
		"needs a policy":    func() error { return Serve(context.Background(), p, "", ServeOptions{}) },
		"rows is -1":        func() error { return Serve(context.Background(), p, path+"x", ServeOptions{Rows: -1}) },
		"is there already":  func() error { return Serve(context.Background(), p, path, ServeOptions{}) },
		"not a directory":   func() error { return Serve(context.Background(), p, path+"/no/where", ServeOptions{}) },
	} {
		must.Refuse(t, serve(), want)
	}
	must.Is(t, len(must.Get(os.ReadDir(filepath.Dir(path)))(t)), 1, "files are left")
	must.Is(t, string(must.Get(os.ReadFile(path))(t)), "not a policy", "the file at the path was changed")
}

// What is at the path is looked at and not opened, which for a pipe would wait without end; a policy that has taken the
// place of another keeps its file when the other goes; and a server that was killed is gone before its parent has asked
// about it.
func TestServePlaces(t *testing.T) {
	p := &adder{set: spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 2)}}
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	must.Refuse(t, Serve(context.Background(), p, pipe, ServeOptions{}), "is there already")
	path := filepath.Join(t.TempDir(), "policy")
	first := serving(t, p, path)
	must.Do(t, os.Remove(path))
	second := serving(t, &adder{set: p.set}, path)
	must.Do(t, first())
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the first took the second's file with it: %v", err)
	}
	must.Do(t, second())
	ended := exec.Command("true")
	if err := ended.Start(); err != nil {
		t.Skip(err)
	}
	for range 1000 {
		if !alive(ended.Process.Pid) {
			break
		}
		time.Sleep(time.Millisecond) // nobody but Wait is told of it
	}
	if alive(ended.Process.Pid) {
		t.Error("a process that has ended, of which nobody has asked how, counts as alive")
	}
	if err := ended.Wait(); err != nil || !alive(os.Getpid()) {
		t.Error(err)
	}
}
