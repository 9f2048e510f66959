package workspace

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// writeForever goes on from the newest record, and publishes, offers for the best, beats and prunes as fast as it can.
// It prints each iteration once it is published, and returns only where something is wrong.
func writeForever(f *Folder) error {
	s, err := f.Join(context.Background(), 0)
	if err != nil {
		return err
	}
	v, err := f.View()
	if err != nil {
		return err
	}
	next := int64(1)
	if p := v.Members[0]; len(p.Damaged) > 0 {
		return p.Damaged[0]
	} else if len(p.Records) > 0 {
		// The last interval is published once more, as after a restart from the state before.
		next = p.Records[0].Iteration
	}
	go func() { // ends with the test, however that ends
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	fmt.Println("ready")
	for i := next; ; i++ {
		r := record(0, i, float64(i))
		if _, err := s.Publish(r, weights(0, i)); err != nil {
			return err
		}
		fmt.Println(i)
		if i%2 == 0 {
			if err := s.PublishBest(r, weights(0, i), false); err != nil {
				return err
			}
			fmt.Println("best", i)
		}
		beat := s.Beat(Heartbeat{Phase: Training, Parent: -1, Iteration: i + 1})
		if err := errors.Join(beat, s.Prune(i)); err != nil {
			return err
		}
	}
}

var kills = flag.Int("kills", 12, "how often TestKillNine kills the process that publishes")

// A process is killed at a random moment of a loop of publishing, a dozen times (-kills says how often), while another
// reads all that is on the store. What was published stays; nothing half-written is ever seen; each restart goes on in
// the sequence.
func TestKillNine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFolder(t, dir, 2, FolderOptions{LeaseTTL: 2 * time.Second})
	reading, stop := context.WithCancel(t.Context())
	reader := make(chan error, 1)
	go func() {
		var err error
		for reading.Err() == nil && err == nil {
			err = readAll(f)
		}
		reader <- err
	}()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	last, best := int64(0), int64(0)
	for range *kills {
		p := start(t, "write", dir, 2*time.Second)
		first := true
		for lines := bufio.NewScanner(p.out); lines.Scan(); {
			text := lines.Text()
			if text == "ready" {
				time.AfterFunc(time.Duration(1+r.IntN(120))*time.Millisecond, func() { p.Process.Kill() })
				continue
			}
			if b, isBest := strings.CutPrefix(text, "best "); isBest {
				best = max(best, whole(t, b))
				continue
			}
			n := whole(t, text)
			// A kill between the rename and the line leaves one more than was printed.
			if first && (n < last || n > last+1) {
				t.Fatalf("a restart began with iteration %d after %d", n, last)
			}
			first, last = false, n
		}
		if err := p.Wait(); err == nil || p.ProcessState.ExitCode() != -1 {
			t.Fatalf("the writer ended by itself: %v\n%s", err, p.words.String())
		}
		records := mustView(t, f).Members[0].Records
		if last > 0 && (len(records) == 0 || records[0].Iteration < last) {
			t.Fatalf("iteration %d was published, there are %v", last, iterations(records))
		}
		if len(records) > 0 {
			last = records[0].Iteration
		}
		must.Do(t, readAll(f))
		if b, ok, err := f.Best(false); err != nil || best > 0 && !ok || b.Iteration < best {
			t.Fatalf("the best of iteration %d was published, there is %+v, %t, %v", best, b, ok, err)
		}
	}
	stop()
	must.Do(t, <-reader)
	must.Not(t, last == 0, "nothing was written")
	// The next owner clears away what the killed have left.
	s := join(t, f, 0)
	mustPublish(t, s, record(0, last+1, 1e9))
	must.Do(t, errors.Join(s.PublishBest(record(0, last+1, 1e9), weights(0, last+1), false), s.Prune(last+1000)))
	name := fmt.Sprintf("%06d", last+1)
	for _, file := range files(t, dir) {
		base := filepath.Base(file)
		if !strings.HasPrefix(base, name) && !strings.HasPrefix(strings.TrimPrefix(base, "."), "lease-") &&
			base != clockName && base != heartbeatName {
			t.Errorf("left behind: %q", file)
		}
	}
}
