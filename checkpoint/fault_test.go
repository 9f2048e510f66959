package checkpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// contents makes a snapshot whose bytes all follow from the step, so that a reader can check all of it.
func contents(step int64) *Snapshot {
	s := NewSnapshot()
	r := rand.New(rand.NewPCG(uint64(step), 1))
	data := make([]float32, 50+r.IntN(200))
	for i := range data {
		data[i] = r.Float32()
	}
	s.Arrays["parameters"] = ArrayFloat32([]int64{int64(len(data))}, data)
	s.Arrays["step"] = ArrayInt64([]int64{1}, []int64{step})
	s.Values["step"] = step
	return s
}

// verify returns an error unless a snapshot equals contents(step), by the manifest's step.
func verify(got *Saved) error {
	want := contents(got.Manifest.Step)
	step, err := got.Snapshot.Int("step")
	if err != nil {
		return err
	}
	if step != got.Manifest.Step || len(got.Snapshot.Arrays) != len(want.Arrays) {
		return fmt.Errorf("step %d of %d arrays, want %d of %d", step, len(got.Snapshot.Arrays), got.Manifest.Step,
			len(want.Arrays))
	}
	for name, a := range want.Arrays {
		if string(got.Snapshot.Arrays[name].Data) != string(a.Data) {
			return fmt.Errorf("array %q is not what step %d wrote", name, step)
		}
	}
	return nil
}

func memStore(t *testing.T, m *memFS, keep int) *Store {
	t.Helper()
	s := must.Get(newStore("runs", Options{Keep: keep}, m))(t)
	return s
}

func mustSave(t *testing.T, s *Store, step int64) string {
	t.Helper()
	path := must.Get(s.Save(fmt.Sprintf("agent_%d", step), step, contents(step)))(t)
	return path
}

// survives checks that a valid snapshot of at least the given step is there, and that saving goes on.
func survives(t *testing.T, m *memFS, atLeast int64, keep int) {
	t.Helper()
	m.failAt = 0
	s := memStore(t, m, keep)
	got, damaged, err := s.Latest()
	if err != nil {
		t.Fatalf("nothing valid is left: %v; %v\n%s", err, damaged, strings.Join(m.log, "\n"))
	}
	must.Do(t, verify(got))
	if got.Manifest.Step < atLeast {
		t.Fatalf("the latest is step %d, want at least %d (%v)", got.Manifest.Step, atLeast, damaged)
	}
	mustSave(t, s, 100)
	wantLatest(t, s, 100)
}

// Every operation of a save fails in turn, alone or with all that follow, on file systems with links and without; then
// the power is cut in every way that durability allows.
func TestSaveFaults(t *testing.T) {
	t.Parallel()
	for _, noLinks := range []bool{false, true} {
		for _, keep := range []int{1, 2} {
			for _, failAfter := range []bool{false, true} {
				name := fmt.Sprintf("links=%v,keep=%d,after=%v", !noLinks, keep, failAfter)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					saveFaults(t, keep, failAfter, noLinks)
				})
			}
		}
	}
}

func saveFaults(t *testing.T, keep int, failAfter, noLinks bool) {
	failures := 0
	for failAt := 1; ; failAt++ {
		m := newMemFS()
		m.noLinks = noLinks
		s := memStore(t, m, keep)
		mustSave(t, s, 1)
		mustSave(t, s, 2)

		m.ops, m.failAt, m.failAfter, m.log = 0, failAt, failAfter, nil
		path, err := s.Save("agent_3", 3, contents(3))
		reached := m.ops >= failAt
		atLeast := int64(2)
		if err == nil {
			atLeast = 3
		} else {
			failures++
			if !errors.Is(err, errFault) {
				t.Fatalf("operation %d: the error hides the fault: %v", failAt, err)
			}
			if path == "" && strings.Contains(err.Error(), "is saved") {
				t.Fatalf("operation %d: %v", failAt, err)
			}
		}
		cut := []*memFS{m.powerCut(nil)}
		for seed := range uint64(20) {
			cut = append(cut, m.powerCut(rand.New(rand.NewPCG(seed, uint64(failAt)))))
		}
		survives(t, m, atLeast, keep)
		for _, after := range cut {
			survives(t, after, atLeast, keep)
		}
		if !reached {
			if failures < 10 {
				t.Fatalf("only %d operations could fail", failures)
			}
			return
		}
	}
}

// Faults while reading are never taken for an empty store.
func TestLatestFaults(t *testing.T) {
	full := newMemFS()
	full.failAt = 1
	if _, err := newStore("x", Options{}, full); !errors.Is(err, errFault) {
		t.Errorf("mkdir fails with %v", err)
	}
	for failAt := 1; ; failAt++ {
		m := newMemFS()
		s := memStore(t, m, 0)
		mustSave(t, s, 1)
		mustSave(t, s, 2)
		m.ops, m.failAt = 0, failAt
		got, damaged, err := s.Latest()
		if m.ops < failAt {
			break
		}
		switch {
		case err != nil && !errors.Is(err, errFault):
			t.Errorf("operation %d: the error hides the fault: %v", failAt, err)
		case err == nil && got.Manifest.Step == 1 && len(damaged) == 0:
			t.Errorf("operation %d: an older snapshot is given without a report", failAt)
		case err == nil && verify(got) != nil:
			t.Errorf("operation %d: %v", failAt, verify(got))
		}
		m.failAt = 0
	}
}
