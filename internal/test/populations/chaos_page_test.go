package populations

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// page is gorl serve beside a population, and what became of comparing it with the files.
type page struct {
	t           *testing.T
	dir, url    string
	members     int
	stop        chan struct{}
	ended       sync.WaitGroup
	samples     int // moments
	compared    int // values
	differences int
	unsettled   int // moments at which files changed too fast, in each of so many tries
	silent      int // members seen silent
	slowest     time.Duration
}

// watchPage starts gorl serve in a process of its own, and compares what it says with journals and heartbeats every
// second, until end.
func watchPage(t *testing.T, dir string, members int) *page {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChaos$")
	cmd.Env = append(os.Environ(), "GORL_CHAOS_SERVE="+filepath.Dir(dir))
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must.Do(t, err)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := &page{t: t, dir: dir, members: members, url: strings.TrimSpace(line), stop: make(chan struct{})}
	p.ended.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-ticker.C:
				p.sample()
			}
		}
	})
	return p
}

// end ends the comparisons and says what they came to.
func (p *page) end() {
	close(p.stop)
	p.ended.Wait()
	p.t.Logf("the page at %d moments: %d values compared with journals and heartbeats, %d differences; %d moments "+
		"left out because files changed during every try; members were seen silent %d times; the slowest answer took %v",
		p.samples, p.compared, p.differences, p.unsettled, p.silent, p.slowest.Round(time.Millisecond))
	if p.samples == 0 || p.unsettled > p.samples/10 {
		p.t.Error("too few moments could be compared")
	}
}

// lines and beat are what this test reads of a member's files, without the packages under test.
type lines struct {
	text    []byte
	beat    beat
	written time.Time // the heartbeat
}

type beat struct {
	Phase, Owner, Note      string
	Iteration, Frame, Total int64
	Objective               json.RawMessage
}

func (b beat) String() string {
	return fmt.Sprintf("%s, owner %s, interval %d, %d of %d steps, objective %s, %q", b.Phase, b.Owner, b.Iteration,
		b.Frame, b.Total, b.Objective, b.Note)
}

// files reads the files of all members.
func (p *page) files() ([]lines, error) {
	all := make([]lines, p.members)
	for id := range all {
		l := &all[id]
		folder := filepath.Join(p.dir, fmt.Sprintf("%03d", id))
		var err error
		if l.text, err = os.ReadFile(filepath.Join(folder, "journal.jsonl")); err != nil {
			return nil, err
		}
		file, err := os.Open(filepath.Join(folder, "heartbeat.json"))
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		text, fault := io.ReadAll(file)
		file.Close()
		if err == nil && fault == nil {
			err = json.Unmarshal(text, &l.beat)
		}
		if err != nil || fault != nil {
			return nil, fmt.Errorf("%s: %v, %v", folder, err, fault)
		}
		l.written = info.ModTime()
	}
	return all, nil
}

// answer is what the page shows of a population, as far as it is compared.
type answer struct {
	Members     int
	EventsTotal int `json:"events_total"`
	Intervals   int64
	Lanes       []struct {
		Member, Took, Copied int
		Steps                int64
		Last                 json.RawMessage
	}
	Health []struct {
		Member                  int
		Phase, Owner, Note      string
		Iteration, Steps, Total int64
		Objective               json.RawMessage
	}
}

// get asks the server.
func (p *page) get(path string, into any) error {
	began := time.Now()
	got, err := http.Get(p.url + path)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", got.Status, text)
	}
	p.slowest = max(p.slowest, time.Since(began))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// sample compares the page with the files, as they were before and after it was asked. If a file has changed twice in
// between, or a journal at all, it tries again.
func (p *page) sample() {
	if _, err := p.files(); err != nil && p.samples == 0 {
		return // not all have begun
	}
	p.samples++
	for range 40 {
		before, err := p.files()
		if err != nil { // a heartbeat that is being replaced by its next
			continue
		}
		var rows struct{ Runs []struct{ ID, State string } }
		var a answer
		asked := time.Now()
		if err := p.get("/api/runs", &rows); err != nil {
			p.differ("no list: %v", err)
			return
		}
		if err := p.get("/api/population?run="+url.QueryEscape(filepath.Base(p.dir)), &a); err != nil {
			p.differ("no population: %v", err)
			return
		}
		after, err := p.files()
		if err == nil && !slices.EqualFunc(before, after, func(b, a lines) bool { return bytes.Equal(b.text, a.text) }) {
			err = fmt.Errorf("a journal has changed")
		}
		if err != nil || !p.healthy(a, before, after, asked, false) {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		p.journals(a, after)
		p.healthy(a, before, after, asked, true)
		state := ""
		for _, r := range rows.Runs {
			if r.ID == filepath.Base(p.dir) {
				state = r.State
			}
		}
		p.same("state", state, "training")
		return
	}
	p.unsettled++
}

// differ notes a difference.
func (p *page) differ(format string, args ...any) {
	p.differences++
	p.t.Errorf("moment %d: the page: "+format, append([]any{p.samples}, args...)...)
}

// same compares a value.
func (p *page) same(what string, page, file any) {
	if p.compared++; page != file {
		p.differ("%s is %v, and by the files %v", what, page, file)
	}
}

// journals compares what the page says of each member's past.
func (p *page) journals(a answer, all []lines) {
	events, intervals := 0, int64(0)
	copied := make(map[int]int)
	type track struct {
		took  int
		steps int64
		last  string
	}
	tracks := make([]track, len(all))
	for id, l := range all {
		tracks[id].last = figure(nil)
		for text := range bytes.Lines(l.text) {
			var e struct {
				Event, Cause     string
				Iteration, Steps int64
				Parent           *int
				Objective        json.RawMessage
			}
			if json.Unmarshal(text, &e) != nil || e.Event == "population" {
				continue
			}
			events++
			intervals = max(intervals, e.Iteration)
			t := &tracks[id]
			t.steps = max(t.steps, e.Steps)
			if e.Objective != nil {
				t.last = figure(e.Objective)
			}
			if e.Event == "replace" {
				t.took++
				copied[*e.Parent]++
			}
		}
	}
	p.same("number of members", len(a.Lanes), len(all))
	p.same("number of events", a.EventsTotal, events)
	p.same("number of intervals", a.Intervals, intervals)
	for _, l := range a.Lanes {
		t := tracks[l.Member]
		p.same(fmt.Sprintf("member %d's steps", l.Member), l.Steps, t.steps)
		p.same(fmt.Sprintf("member %d's copies", l.Member), l.Took, t.took)
		p.same(fmt.Sprintf("copies of member %d", l.Member), l.Copied, copied[l.Member])
		p.same(fmt.Sprintf("member %d's objective", l.Member), figure(l.Last), t.last)
	}
}

// healthy compares what the page says of each member's process. Without count it only reports whether that is equal to
// the heartbeat before or after.
func (p *page) healthy(a answer, before, after []lines, asked time.Time, count bool) bool {
	if len(a.Health) != len(after) {
		if count {
			p.differ("%d members' states, want %d", len(a.Health), len(after))
		}
		return len(a.Health) == 0 // which is a difference
	}
	for _, h := range a.Health {
		got := beat{Phase: h.Phase, Owner: h.Owner, Iteration: h.Iteration, Frame: h.Steps, Total: h.Total,
			Note: h.Note, Objective: json.RawMessage(figure(h.Objective))}
		var want []string
		for _, l := range []lines{before[h.Member], after[h.Member]} {
			b := l.beat
			b.Objective = json.RawMessage(figure(b.Objective))
			if age := asked.Sub(l.written); age > time.Minute && (b.Phase == "training" || b.Phase == "waiting") {
				b.Note = strings.TrimSuffix(fmt.Sprintf("%s when last seen %v ago; %s", b.Phase,
					age.Round(time.Second), b.Note), "; ")
				if b.Phase = "silent"; h.Phase == "silent" && strings.HasSuffix(h.Note, l.beat.Note) {
					b.Note = h.Note // the seconds may differ by one
				}
			}
			want = append(want, b.String())
		}
		equal := slices.Contains(want, got.String())
		switch {
		case !count && !equal && before[h.Member].written != after[h.Member].written:
			return false // there may have been another in between
		case count:
			if h.Phase == "silent" {
				p.silent++
			}
			p.compared += 6
			if !equal {
				p.differ("member %d is %v, and by its heartbeats %q", h.Member, got, want)
			}
		}
	}
	return true
}

// figure is a number of the page or of a file with the seven digits that the page has.
func figure(text json.RawMessage) string {
	var v *float64
	if json.Unmarshal(text, &v) != nil || v == nil {
		return "none"
	}
	return fmt.Sprintf("%.7g", *v)
}
