package gymnasium

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// serving runs Serve until the test ends, and returns when its file is there.
func serving(t *testing.T, p Policy[question], path string) (cancel func() error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
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

// TestServeEnds ends Serve at once, many times: nothing may read its memory after it is unmapped.
func TestServeEnds(t *testing.T) {
	p := &adder{set: spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 2)}}
	path := filepath.Join(t.TempDir(), "policy")
	ctx, cancel := context.WithCancel(t.Context())
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
	serve := func(p *adder, path string, rows int) error {
		return Serve(t.Context(), p, path, ServeOptions{Rows: rows})
	}
	must.Refuse(t, serve(seats, path+"x", 0), "seats for 1 (red)")
	must.Refuse(t, serve(vast, path+"x", 0), "mapping")
	must.Refuse(t, serve(p, "", 0), "needs a policy")
	must.Refuse(t, serve(p, path+"x", -1), "rows is -1")
	must.Refuse(t, serve(p, path, 0), "is there already")
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
	must.Refuse(t, Serve(t.Context(), p, pipe, ServeOptions{}), "is there already")
	path := filepath.Join(t.TempDir(), "policy")
	first := serving(t, p, path)
	must.Do(t, os.Remove(path))
	second := serving(t, &adder{set: p.set}, path)
	must.Refuse(t, Serve(t.Context(), p, path, ServeOptions{}), "serves a policy at")
	must.Do(t, first())
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the first took the second's file with it: %v", err)
	}
	must.Do(t, second())
	ended := exec.Command("true")
	must.Do(t, ended.Start())
	for until := time.Now().Add(patience); alive(ended.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a process that has ended counts as alive until its parent waits for it")
		}
	}
	must.Do(t, ended.Wait())
	must.Is(t, alive(os.Getpid()), true, "this process is alive")
}
