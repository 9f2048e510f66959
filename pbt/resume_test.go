package pbt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// compare checks that two populations ended alike, down to the bytes of their journals and best snapshots.
func compare(t *testing.T, whole, resumed *Population) {
	t.Helper()
	if d := cmp.Diff(lines(t, whole.Journal()), string(readJournal(t, resumed.opt.Directory))); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
	if d := cmp.Diff(whole.Generation(), resumed.Generation(), cmpopts.EquateNaNs()); d != "" {
		t.Errorf("the members differ: %s", d)
	}
	for id, m := range whole.Generation().Members {
		if m.Failed { // the weights of a failed member are not saved
			continue
		}
		a, errA := whole.Trainee(id).Snapshot()
		b, errB := resumed.Trainee(id).Snapshot()
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !bytes.Equal(a.Arrays["parameters"].Data, b.Arrays["parameters"].Data) {
			t.Errorf("member %d has other weights", id)
		}
	}
	a, b := whole.Best(), resumed.Best()
	if a.Member != b.Member || a.Iteration != b.Iteration || a.Objective != b.Objective || !bytes.Equal(a.Snapshot.Arrays["parameters"].Data, b.Snapshot.Arrays["parameters"].Data) {
		t.Errorf("the best are %+v and %+v", a, b)
	}
}

// whole is a run without interruptions. Peaks depend on how often a member is looked at.
func whole(t *testing.T, progressSteps int64) *Population {
	return wholeOf(t, 500, progressSteps)
}

func wholeOf(t *testing.T, totalSteps, progressSteps int64) *Population {
	c := newColony(4)
	c.opt.Directory, c.opt.TotalSteps, c.opt.ProgressSteps = t.TempDir(), totalSteps, progressSteps
	return mustTrain(t, c.opt)
}

func TestMoreStepsContinue(t *testing.T) {
	t.Parallel()
	want := whole(t, 0)
	dir := t.TempDir()
	var p *Population
	for _, total := range []int64{50, 150, 175, 500, 500} {
		c := newColony(4)
		c.opt.Directory, c.opt.TotalSteps = dir, total
		p = mustTrain(t, c.opt)
		m := p.Generation().Members[0]
		if m.Steps != total || int64(len(m.Scores)) != (total-1)/50+1 {
			t.Errorf("trained %d of %d steps, and has %d scores", m.Steps, total, len(m.Scores))
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// The end at 175 was looked at as an end, and so may have given another best; the rest is the same.
	if d := cmp.Diff(string(readJournal(t, want.opt.Directory)), string(readJournal(t, dir))); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
	if _, err := os.Stat(filepath.Join(dir, "000", journal.DiscardedFile)); err == nil {
		t.Error("a finished run's end counts as discarded")
	}
}

// TestDivergedContinues stops and continues a population in which a diverged member is never replaced. The member must
// continue from its own weights, as it does without an interruption.
func TestDivergedContinues(t *testing.T) {
	t.Parallel()
	population := func(dir string, cancel func(), at int64) *Population {
		c := newColony(3)
		c.opt.Directory, c.opt.TotalSteps, c.opt.Strategy = dir, 200, strategy.Never{}
		c.faults.train = func(m *climber) error {
			if m.id == 1 && m.steps == 70 {
				m.x[0] = math.NaN()
			}
			if m.id == 1 && m.steps == at {
				cancel()
			}
			return nil
		}
		return mustNew(t, c.opt)
	}
	want := population("", nil, -1)
	if _, err := want.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	p := population(dir, cancel, 130)
	if _, err := p.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = population(dir, nil, -1)
	if _, err := p.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare(t, want, p)
}

// TestKilled kills a process in the middle of training, saving and restoring, until one finishes.
func TestKilled(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("PBT_TEST_KILLED"); dir != "" {
		killed(t, dir)
		return
	}
	want := whole(t, 0)
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 5))
	for run := 0; ; run++ {
		if run > 100 {
			t.Fatal("no process finished")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "PBT_TEST_KILLED="+dir, fmt.Sprintf("PBT_TEST_AFTER=%d", 40+rng.IntN(400)))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			continue
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if run < 5 {
			t.Errorf("only %d processes were killed", run)
		}
		break
	}
	c := newColony(4)
	c.opt.Directory = dir
	p := mustTrain(t, c.opt)
	compare(t, want, p)
	if files, err := filepath.Glob(filepath.Join(dir, "000", "state", "*")); err != nil || len(files) > 8 {
		t.Errorf("snapshots pile up: %v, %v", files, err)
	}
}

func killed(t *testing.T, dir string) {
	left, err := strconv.Atoi(os.Getenv("PBT_TEST_AFTER"))
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	count := func(*climber) error {
		mutex.Lock()
		defer mutex.Unlock()
		if left--; left == 0 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}
	c := newColony(4)
	c.faults.train, c.faults.snapshot, c.faults.restore = count, count, count
	c.faults.set = func(m *climber, _ map[string]float64) error { return count(m) }
	c.opt.Progress = func(Update) { _ = count(nil) }
	c.opt.Directory = dir
	mustTrain(t, c.opt)
}

// TestDamagedFilesAreNotUsed damages the state or a snapshot, and expects the population of one save before.
func TestDamagedFilesAreNotUsed(t *testing.T) {
	t.Parallel()
	want := whole(t, 0)
	c := newColony(4)
	c.opt.Directory = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.opt.Progress = func(u Update) {
		if u.Iteration == 8 && u.Event == nil {
			cancel()
		}
	}
	interrupted := mustNew(t, c.opt)
	if _, err := interrupted.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := interrupted.Close(); err != nil {
		t.Fatal(err)
	}
	member := func(name string) func(savedState) string {
		return func(savedState) string { return filepath.Join("002", name) }
	}
	snapshot := func(s savedState) string { return filepath.Join("002", snapshotFolder, s.Member.Snapshot) }
	best := interrupted.Best()
	for name, test := range map[string]struct {
		file   func(s savedState) string
		change func(data []byte) []byte
	}{
		"state truncated":    {member(stateFile), func(d []byte) []byte { return d[:len(d)/2] }},
		"state empty":        {member(stateFile), func([]byte) []byte { return nil }},
		"state foreign":      {member(stateFile), func([]byte) []byte { return []byte(`{"schema":99}`) }},
		"snapshot flipped":   {snapshot, func(d []byte) []byte { d[len(d)-1] ^= 1; return d }},
		"snapshot truncated": {snapshot, func(d []byte) []byte { return d[:len(d)-3] }},
		"snapshot gone":      {snapshot, nil},
		"state gone":         {member(stateFile), nil},
		"best gone": {func(savedState) string {
			return filepath.Join("best", fmt.Sprintf("%03d", best.Member), fmt.Sprintf("%06d.safetensors", best.Iteration))
		}, nil},
		"snapshot as a path":  {member(stateFile), func(d []byte) []byte { return bytes.Replace(d, []byte(`"snapshot": "`), []byte(`"snapshot": "../`), 1) }},
		"state: other parent": {member(stateFile), func(d []byte) []byte { return bytes.Replace(d, []byte(`"steps": `), []byte(`"steps": 9`), 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := c.opt.Directory
			c := newColony(4)
			c.opt.Directory = t.TempDir()
			if err := os.CopyFS(c.opt.Directory, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(c.opt.Directory, test.file(interrupted.workers()[2].files.last.state))
			if test.change == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, test.change(read(t, path)), 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := New(c.opt)
			if err != nil {
				t.Fatal(err)
			}
			// A missing state file cannot be told from a run killed before it was first written.
			if err := p.Recovered(); (err == nil) != (name == "state gone") || err != nil && !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("what was damaged is reported as %v", err)
			}
			best, err := p.Train(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if name == "best gone" {
				if best == nil || best.Snapshot == nil || best.Iteration < 8 {
					t.Errorf("the best is %+v", best)
				}
				p.groups[0].best = want.groups[0].best
			}
			compare(t, want, p)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if again := mustTrain(t, c.opt); again.Recovered() != nil {
				t.Errorf("the damage is still there: %v", again.Recovered())
			}
		})
	}
}

func TestBothStatesDamaged(t *testing.T) {
	t.Parallel()
	dir := whole(t, 0).opt.Directory
	cp := t.TempDir()
	if err := os.CopyFS(cp, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stateFile, previousStateFile} {
		if err := os.WriteFile(filepath.Join(cp, "001", name), []byte("?"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, cp)
	c := newColony(4)
	c.opt.Directory = cp
	_, err := New(c.opt)
	if err == nil || !strings.Contains(err.Error(), stateFile) || !strings.Contains(err.Error(), previousStateFile) {
		t.Errorf("the error is %v", err)
	}
	if d := cmp.Diff(before, contents(t, cp)); d != "" {
		t.Errorf("changed were %s", d)
	}
}

func TestShortJournal(t *testing.T) {
	t.Parallel()
	c := newColony(2)
	c.opt.Directory = t.TempDir()
	if err := mustTrain(t, c.opt).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(c.opt.Directory, "001", journal.File), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), "shorter than") {
		t.Errorf("the error is %v", err)
	}
}

func TestOtherPopulationsDirectory(t *testing.T) {
	t.Parallel()
	c := newColony(2)
	c.opt.Directory = t.TempDir()
	if err := mustTrain(t, c.opt).Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, c.opt.Directory)
	for want, change := range map[string]func(o *Options){
		"the number of members is 2 there and 3 here":               func(o *Options) { o.Members = 3 },
		"the seed is 11 there and 1 here":                           func(o *Options) { o.Seed = 1 },
		"the interval in environment steps is 50 there and 51 here": func(o *Options) { o.IntervalSteps = 51 },
		"the objective is episode.return there and loss":            func(o *Options) { o.Objective = "loss" },
	} {
		opt := c.opt
		change(&opt)
		_, err := New(opt)
		if !errors.Is(err, errOtherPopulation) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	after := contents(t, c.opt.Directory)
	for path, data := range before {
		if after[path] != data {
			t.Errorf("%s changed", path)
		}
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	c := newColony(2)
	c.opt.Directory = t.TempDir()
	p := mustNew(t, c.opt)
	if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second population: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	mustNew(t, c.opt)
}

// TestFailedMemberIsSaved interrupts a run in the interval in which a member failed.
func TestFailedMemberIsSaved(t *testing.T) {
	t.Parallel()
	broken := errors.New("it cannot be saved any more")
	run := func(dir string, stop bool) (*Population, error) {
		c := newColony(3)
		c.opt.Directory, c.opt.Parallel = dir, 1
		fails := func(err error) func(m *climber) error {
			return func(m *climber) error {
				if m.id == 0 && m.steps == 70 && m == c.built[0] {
					return err
				}
				return nil
			}
		}
		c.faults.train, c.faults.snapshot = fails(errors.New("gone")), fails(broken)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if stop {
			c.opt.Progress = func(u Update) {
				if u.Iteration == 2 && u.Event == nil && u.Status.Member == 2 {
					cancel()
				}
			}
		}
		p := mustNew(t, c.opt)
		_, err := p.Train(ctx)
		return p, err
	}
	want, err := run(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p, err := run(dir, true)
	if !errors.Is(err, context.Canceled) || errors.Is(err, broken) {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p, err = run(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, want, p)
	if len(kinds(p.Journal(), journal.Failed)) != 1 {
		t.Errorf("failures are %+v", kinds(p.Journal(), journal.Failed))
	}
}
