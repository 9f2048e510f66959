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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/cli"
	"github.com/gorl-dev/gorl/tracking"
)

var faultsFlag = flag.String("faults", "", "the faults that TestFaults injects: empty for a few, all, "+
	"7 for every seventh, or the name of one, as training:kill:37")

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

var modes = []mode{failOnce, failFrom, killAt}

// reference is an uninterrupted run: what it comes to, and its calls.
type reference struct {
	want  outcome
	runs  string // the folder of runs of the recording
	calls []call
	picks []int // calls at which something can be different, from 1
}

// reference runs a scenario twice, the second time recorded.
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
	plain := filepath.Join(dir, s.name+" again")
	c = s.start(ctx, plain)
	if status, output, err := attempt(c, c.Run); err != nil || status != 0 {
		return r, errors.Join(err, fmt.Errorf("the run ended with status %d: %s", status, output))
	}
	got, err := outcomeOf(filepath.Join(plain, runName))
	if err == nil {
		err = got.compare(r.want)
	}
	if err != nil {
		return r, fmt.Errorf("two uninterrupted runs: %w", err)
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

// faults lists those to try: every one, or every stride-th of each kind.
func (s scenario) faults(r reference, stride int) (list []fault) {
	kinds := kinds()
	for k, kind := range kinds { // each begins elsewhere
		for i := k * stride / len(kinds); i < len(r.picks); i += stride {
			list = append(list, fault{s, kind, r.picks[i]})
		}
	}
	return list
}

// kinds are all modes and losses.
func kinds() (kinds []string) {
	for _, m := range modes {
		kinds = append(kinds, string(m))
	}
	for _, l := range losses {
		kinds = append(kinds, string(l))
	}
	return kinds
}

// few lists one fault of every third kind, of others in each scenario.
func (s scenario) few(r reference) (list []fault) {
	own := slices.IndexFunc(scenarios, func(o scenario) bool { return o.name == s.name })
	for k, f := range s.faults(r, len(r.picks)) {
		if k%3 == own%3 {
			list = append(list, f)
		}
	}
	return list
}

// try injects a fault in a folder of its own, resumes the run without faults, and compares.
func (f fault) try(ctx context.Context, r reference, dir string) error {
	runs := filepath.Join(dir, strings.ReplaceAll(f.String(), " ", "_"))
	run := filepath.Join(runs, runName)
	before := func() error { return nil }
	if slices.Contains(losses, loss(f.kind)) {
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
			before = func() error {
				got, err := outcomeOf(run)
				if err = errors.Join(err, got.compare(r.want)); err != nil {
					err = fmt.Errorf("it reported success (%s), and: %w", output, err)
				}
				return err
			}
		}
	}
	if err := before(); err != nil {
		return err
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
//
// tries every seventh; `make faults` does so. Without the flag a few are tried.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	if *faultsFlag != "" { // kept, to be looked at, if a fault is not survived
		var err error
		if dir, err = os.MkdirTemp("", "gorl-faults-"); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		t.Skip("starts many processes")
	}
	begun := time.Now()
	var table [][]string
	for _, s := range scenarios {
		name := *faultsFlag
		if name == "" && s.name == "overlap" || strings.Contains(name, ":") && !strings.HasPrefix(name, s.name+":") {
			continue
		}
		r, err := s.reference(t.Context(), dir)
		if errors.Is(err, errNoFilter) {
			t.Skipf("this system refuses seccomp filters: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		table = append(table, s.table(t, r, dir)...)
	}
	var text strings.Builder
	if err := tracking.Table(&text, []string{"run", "fault", "calls", "tried", "equal", "not equal"}, table); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v\n%s", time.Since(begun).Round(time.Second), text.String())
	if *faultsFlag != "" && !t.Failed() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
}

// table tries a scenario's faults, as many at a time as there are processors, and returns a row for each kind.
func (s scenario) table(t *testing.T, r reference, dir string) (rows [][]string) {
	var list []fault
	stride, err := strconv.Atoi(*faultsFlag)
	switch name := *faultsFlag; {
	case name == "":
		list = s.few(r)
	case name == "all":
		list = s.faults(r, 1)
	case err == nil && stride > 0:
		list = s.faults(r, stride)
	default:
		list = []fault{s.parse(t, name, len(r.calls))}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	tried, failed := map[string]int{}, map[string]int{}
	for _, f := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := f.try(ctx, r, dir)
			mu.Lock()
			defer mu.Unlock()
			tried[f.kind]++
			if err != nil {
				failed[f.kind]++
				c := r.calls[f.n-1]
				t.Errorf("%v, at %s %s: %v\n\tagain: go test ./internal/test/faults -v -faults '%v'; folder: %s",
					f, c.op, strings.TrimPrefix(c.a, r.runs), err, f, dir)
			}
		})
	}
	all.Wait()
	for _, kind := range slices.Sorted(maps.Keys(tried)) {
		label := kind
		if slices.Contains(losses, loss(kind)) {
			label = "power cut: " + kind
		}
		rows = append(rows, []string{s.name, label, strconv.Itoa(len(r.calls)), strconv.Itoa(tried[kind]),
			strconv.Itoa(tried[kind] - failed[kind]), strconv.Itoa(failed[kind])})
	}
	return rows
}

// parse reads the name of one fault.
func (s scenario) parse(t *testing.T, name string, calls int) fault {
	parts := strings.Split(name, ":")
	if len(parts) == 3 {
		n, err := strconv.Atoi(parts[2])
		if err == nil && n >= 1 && n <= calls && slices.Contains(kinds(), parts[1]) {
			return fault{s, parts[1], n}
		}
	}
	t.Fatalf("-faults is %q; want all, a number, or SCENARIO:KIND:CALL of %v, %v and 1 to %d", name, s.name, kinds(),
		calls)
	return fault{}
}
