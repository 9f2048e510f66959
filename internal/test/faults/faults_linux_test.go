package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/cli"
	"github.com/gorl-dev/gorl/internal/test/must"
)

var faultsFlag = flag.Int("faults", 0, "TestFaults injects every N-th fault; 0 for a few")

// TestMain runs the tests, or makes the test's own program the command gorl.
func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "filter":
		filterAndExec()
	case "gorl":
		cli.Main()
	}
	os.Exit(m.Run())
}

// fault is one of the table's: what happens at the n-th call of a scenario.
type fault struct {
	scenario scenario
	kind     string // a mode, or a loss
	n        int
}

func (f fault) String() string { return fmt.Sprintf("%s:%s:%d", f.scenario.name, f.kind, f.n) }

// kinds are all modes and losses.
var kinds = []string{string(failOnce), string(failFrom), string(killAt), string(lost), string(empty), string(zeroed),
	string(halved), string(holed), string(reordered), string(ordered)}

var losses = kinds[3:] // those of a power cut

// reference is an uninterrupted run: what it comes to, and its calls.
type reference struct {
	want  outcome
	runs  string // the folder of runs of the recording
	calls []call
	picks []int // calls at which something can be different, from 1
}

// reference runs a scenario and records it.
func (s scenario) reference(ctx context.Context, dir string) (r reference, err error) {
	r.runs = filepath.Join(dir, s.name)
	c := s.start(ctx, r.runs)
	status, output, err := attempt(c, func() (err error) {
		r.calls, err = watch(c, r.runs, record, 0)
		return err
	})
	if err != nil || status != 0 {
		return r, errors.Join(err, fmt.Errorf("the recorded run ended with status %d: %s", status, output))
	}
	if r.want, err = outcomeOf(filepath.Join(r.runs, runName)); err != nil {
		return r, err
	}
	// Of several writes to one file in a row the first and the last tell everything.
	same := func(i, j int) bool {
		if j < 0 || j >= len(r.calls) {
			return false
		}
		a, b := r.calls[i], r.calls[j]
		return a.op == "write" && b.op == "write" && a.a == b.a
	}
	for i := range r.calls {
		if !same(i, i-1) || !same(i, i+1) {
			r.picks = append(r.picks, i+1)
		}
	}
	return r, nil
}

// chosen lists the faults to try. Without the flag it is one of every third kind, of other kinds in each scenario.
func (s scenario) chosen(r reference) (list []fault) {
	stride, own := *faultsFlag, slices.IndexFunc(scenarios, func(o scenario) bool { return o.name == s.name })
	few := stride < 1
	if few {
		stride = len(r.picks)
	}
	for k, kind := range kinds { // each begins elsewhere
		for i := k * stride / len(kinds); i < len(r.picks); i += stride {
			if !few || k%3 == own%3 {
				list = append(list, fault{s, kind, r.picks[i]})
			}
		}
	}
	return list
}

// try injects a fault in a folder of its own, resumes the run without faults, and compares.
func (f fault) try(ctx context.Context, r reference, dir string) error {
	runs := filepath.Join(dir, strings.ReplaceAll(f.String(), " ", "_"))
	run := filepath.Join(runs, runName)
	if slices.Contains(losses, f.kind) {
		if err := f.cutPower(r, runs); err != nil {
			return err
		}
	} else {
		c := f.scenario.start(ctx, runs)
		status, output, err := attempt(c, func() error {
			_, err := watch(c, runs, mode(f.kind), f.n)
			return err
		})
		if err != nil {
			return err
		}
		if status == 0 { // then nothing may be missing
			got, err := outcomeOf(run)
			if err = errors.Join(err, got.compare(r.want)); err != nil {
				return fmt.Errorf("it reported success (%s), and: %w", output, err)
			}
		}
	}
	if err := f.scenario.resume(ctx, runs); err != nil {
		return err
	}
	got, err := outcomeOf(run)
	if err != nil {
		return err
	}
	// If a later deletion of two survives the power cut and the earlier one does not, nothing tells whose the data is.
	if f.kind == string(reordered) {
		maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, uncommitted) })
	}
	if err := got.compare(r.want); err != nil {
		return err
	}
	return os.RemoveAll(runs)
}

// cutPower makes the folder that is found when the power fails behind the n-th call.
func (f fault) cutPower(r reference, runs string) error {
	d := newDisk(r.runs)
	for _, c := range r.calls[:f.n] {
		if err := d.apply(c); err != nil {
			return err
		}
	}
	h := fnv.New64()
	h.Write([]byte(f.String()))
	if err := d.top.build(runs, loss(f.kind), rand.New(rand.NewPCG(h.Sum64(), 0))); err != nil {
		return err
	}
	run := filepath.Join(runs, runName)
	want := f.scenario.commitsIn(filepath.Join(r.runs, runName), r.calls[:f.n])
	if got := f.scenario.stored(run); got < want {
		return fmt.Errorf("the power cut lost what was committed: it is at %d, want %d", got, want)
	}
	return nil
}

// TestFaults trains with faults at system calls on files, resumes the runs, and compares them with uninterrupted ones:
// weights byte by byte, checkpoints' names, journals, and figures.
//
//	go test ./internal/test/faults -v -faults 7
//	go test ./internal/test/faults -v -faults 1 -run TestFaults/training:kill:37
//
// The first tries every seventh fault, the second one fault. `make faults` tries every sixth. Without the flag a few
// are tried.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	for _, s := range scenarios {
		if *faultsFlag < 1 && s.name == "overlap" {
			continue
		}
		dir := t.TempDir()
		r, err := s.reference(t.Context(), dir)
		if errors.Is(err, errNoFilter) {
			t.Skipf("this system refuses seccomp filters: %v", err)
		}
		must.Do(t, err)
		for _, f := range s.chosen(r) {
			t.Run(f.String(), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				if err := f.try(ctx, r, dir); err != nil {
					c := r.calls[f.n-1]
					t.Errorf("at %s %s: %v", c.op, strings.TrimPrefix(c.a, r.runs), err)
				}
			})
		}
	}
}
