package watch

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tracking"
)

var (
	viewers = flag.Int("viewers", 10, "number of pages of TestViewers; 50 is the figure of the guides")
	writes  = flag.Int("writes", 2, "number of values that TestViewers writes, one a second")
	serving = flag.String("serving", "", "`host:port` of another server, of the folder -served, that TestViewers asks")
	served  = flag.String("served", "", "the `folder`")
)

// Many pages watch a run while it is written: all see the last value, within two ticks of the server.
func TestViewers(t *testing.T) {
	root, address := cmp.Or(*served, t.TempDir()), *serving
	writeRun(t, filepath.Join(root, "a"), 2000, "b", "c", "d")
	if address == "" {
		s, err := New(Config{Root: root, Tags: func(all []string) []string { return all }})
		must.Do(t, err)
		s.tick = 100 * time.Millisecond
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must.Do(t, err)
		address = l.Addr().String()
		go func() { _ = s.Serve(t.Context(), l) }()
		defer func() {
			l.Close()
			must.Do(t, s.Close())
		}()
	}
	run, err := tracking.OpenRun(filepath.Join(root, "a"), tracking.Options{StepsPerTimestep: 4})
	must.Do(t, err)
	var mu sync.Mutex // guards written and late
	written := map[int64]time.Time{}
	var late []time.Duration
	last := int64(20000 + *writes)
	get := func(path string) (text []byte) {
		answer, err := http.Get("http://" + address + path)
		if err == nil {
			var rows list
			err = json.NewDecoder(answer.Body).Decode(&rows)
			answer.Body.Close()
			text, _ = json.Marshal(rows)
		}
		must.Do(t, err)
		return text
	}
	page := func() {
		stream, err := http.Get("http://" + address + "/api/events")
		must.Do(t, err)
		defer stream.Body.Close()
		seen := int64(0)
		for lines := bufio.NewScanner(stream.Body); seen < last && lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "data: ") {
				continue
			}
			at := time.Now()
			var rows list
			must.Do(t, json.Unmarshal(get("/api/runs"), &rows))
			curves, err := http.Get("http://" + address + "/api/curves?run=a")
			must.Do(t, err)
			curves.Body.Close()
			for _, r := range rows.Runs {
				mu.Lock()
				if since, ok := written[r.Step]; ok && r.Step > seen {
					late = append(late, at.Sub(since))
				}
				mu.Unlock()
				seen = max(seen, r.Step)
			}
		}
		if seen < last {
			t.Errorf("a page saw step %d of %d", seen, last)
		}
	}
	var wait sync.WaitGroup
	for range *viewers {
		wait.Go(page)
	}
	for k := range *writes {
		time.Sleep(time.Second)
		step := int64(20001 + k)
		mu.Lock()
		written[step] = time.Now()
		mu.Unlock()
		run.Scalar(tracking.TagReturn, step, float64(k))
		must.Do(t, run.Sync())
	}
	wait.Wait()
	must.Do(t, run.Close())
	slices.Sort(late)
	if len(late) == 0 {
		t.Fatal("no page saw a value")
	}
	t.Logf("%d pages, process %d: from a value to its event: median %v, largest %v", *viewers, os.Getpid(),
		late[len(late)/2].Round(time.Millisecond), late[len(late)-1].Round(time.Millisecond))
}
