package checkpoint

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/testmain"
)

var kills = flag.Int("kills", 12, "how often TestKillNine kills the process that saves")

const childDir = "GORL_CHECKPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, writeForever(dir))
		os.Exit(1)
	}
	testmain.SideBySide()
	os.Exit(m.Run())
}

// writeForever is the child. It continues from the latest snapshot, saves one after the other, and prints each step
// when it is committed. It returns only after an error.
func writeForever(dir string) error {
	s, err := NewStore(dir, Options{Keep: 3})
	if err != nil {
		return err
	}
	step := int64(0)
	switch got, _, err := s.Latest(); {
	case errors.Is(err, ErrNone):
	case err != nil:
		return err
	default:
		if err := verify(got); err != nil {
			return err
		}
		step = got.Manifest.Step
	}
	fmt.Println("ready")
	for {
		step++
		if _, err := s.Save(fmt.Sprintf("agent_%d", step), step, contents(step)); err != nil {
			return err
		}
		if step%3 == 0 {
			if _, err := s.SaveBest("best", step, contents(step)); err != nil {
				return err
			}
			fmt.Println("best", step)
		}
		fmt.Println(step)
	}
}

// A process is killed at random moments of a checkpoint loop (-kills is how often). Every restart finds a valid
// snapshot that is no older than the last one reported as saved.
func TestKillNine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := must.Get(NewStore(dir, Options{Keep: 3}))(t)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	committed, best, interrupted := int64(0), int64(0), 0
	for range *kills {
		step, bestStep := killed(t, dir, time.Duration(1+r.IntN(60))*time.Millisecond)
		committed, best = max(committed, step, bestStep), max(best, bestStep)
		got, damaged, err := s.Latest()
		if committed == 0 && errors.Is(err, ErrNone) {
			continue // killed before its first save was complete
		}
		must.Do(t, err)
		must.Do(t, verify(got))
		if got.Manifest.Step < committed {
			t.Fatalf("step %d was saved, the latest valid is %d", committed, got.Manifest.Step)
		}
		for _, d := range damaged {
			if !errors.Is(d, ErrUncommitted) {
				t.Errorf("a kill damaged a committed snapshot: %v", d)
			}
		}
		switch got, _, err := s.Best(); {
		case errors.Is(err, ErrNone) && best == 0:
		case err != nil || verify(got) != nil || got.Manifest.Step < best:
			t.Fatalf("the best of step %d was saved, there is %+v, %v", best, got, err)
		}
		for _, name := range fileNames(t, dir) {
			if strings.Contains(name, durable.Temporary) {
				interrupted++
				break
			}
		}
	}
	t.Logf("%d steps saved; %d of %d kills came in the middle of a save", committed, interrupted, *kills)
	if committed == 0 {
		t.Fatal("no child ever saved anything")
	}
	// The next save deletes the leftovers.
	mustSave(t, s, committed+1000)
	if left := fileNames(t, dir); len(left) != 2*3+1 {
		t.Errorf("left behind: %q", left)
	}
}

// killed runs the child, kills it, and returns the last step it reported as saved and as saved as best, or 0.
func killed(t *testing.T, dir string, after time.Duration) (last, best int64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	var complaints strings.Builder
	child.Stderr = &complaints
	out := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "ready" {
			time.AfterFunc(after, func() { child.Process.Kill() })
			continue
		}
		if text, isBest := strings.CutPrefix(lines.Text(), "best "); isBest {
			best = parseStep(t, text)
		} else {
			last = parseStep(t, text)
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v\n%s", err, complaints.String())
	}
	return last, best
}

// parseStep reads what the child printed; it prints a line in one write, which a kill does not divide.
func parseStep(t *testing.T, text string) int64 {
	t.Helper()
	step := must.Get(strconv.ParseInt(text, 10, 64))(t)
	return step
}
