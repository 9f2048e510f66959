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
	unsettled   int // heartbeats that changed too fast in every try
	silent      int // members seen silent
	slowest     time.Duration
}

// watchPage starts gorl serve in a process of its own, and compares what it says with journals and heartbeats every
// second, until end.
func watchPage(t *testing.T, dir string, members int) *page {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChaos$")
	cmd.Env = append(os.Environ(), "GORL_CHAOS_SERVE="+filepath.Dir(dir))
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
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
	for end := time.Now().Add(time.Minute); p.samples == 0 && time.Now().Before(end); { // a short run on a busy machine
		time.Sleep(100 * time.Millisecond)
		p.sample()
	}
	p.t.Logf("the page at %d moments: %d values compared with journals and heartbeats, %d differences; %d "+
		"heartbeats left out because they changed twice in every try; members were seen silent %d times; the slowest "+
		"answer took %v",
		p.samples, p.compared, p.differences, p.unsettled, p.silent, p.slowest.Round(time.Millisecond))
	if p.samples == 0 || p.unsettled > p.samples*p.members/10 {
		p.t.Error("too little could be compared")
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
		if !bytes.Contains(l.text, []byte("\n")) {
			return nil, fmt.Errorf("%s: not begun", folder)
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

// sample compares the page with the files, as they were before and after it was asked. A member whose heartbeat changed
// twice in between is compared again.
func (p *page) sample() {
	if _, err := p.files(); err != nil && p.samples == 0 {
		return // not all have begun
	}
	p.samples++
	open := make(map[int]bool) // members whose heartbeat is not compared yet
	for id := range p.members {
		open[id] = true
	}
	for try := 0; len(open) > 0; try++ {
		if try == 20 {
			p.unsettled += len(open)
			return
		}
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
		if err != nil {
			continue
		}
		p.healthy(a, before, after, asked, open)
		if try > 0 {
			continue
		}
		p.journals(a, before, after)
		state := ""
		for _, r := range rows.Runs {
			if r.ID == filepath.Base(p.dir) {
				state = r.State
			}
		}
		p.same("state", state, "training")
	}
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

// track is what a journal says of its member.
type track struct {
	events, took int
	steps        int64
	last         string
}

// tracks returns what a journal says after each of its lines from the first on, and which members it copied.
func tracks(text []byte, first int) (all []track, interval int64, copied map[int]int) {
	t := track{last: figure(nil)}
	copied = make(map[int]int)
	n := 0
	for line := range bytes.Lines(text) {
		var e struct {
			Event            string
			Iteration, Steps int64
			Parent           *int
			Objective        json.RawMessage
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		if e.Event != "population" {
			t.events++
			t.steps, interval = max(t.steps, e.Steps), max(interval, e.Iteration)
			if e.Objective != nil {
				t.last = figure(e.Objective)
			}
			if e.Event == "replace" {
				t.took++
				copied[*e.Parent]++
			}
		}
		if n++; n >= first {
			all = append(all, t)
		}
	}
	return all, interval, copied
}

// journals compares what the page says of each member's past. A journal may have grown or been cut back meanwhile: the
// page must say what it said at some moment in between.
func (p *page) journals(a answer, before, after []lines) {
	type bounds struct{ low, high int64 }
	within := func(what string, v int64, b bounds) {
		if p.compared++; v < b.low || v > b.high {
			p.differ("%s is %d, and by the files %d to %d", what, v, b.low, b.high)
		}
	}
	var events, intervals bounds
	copied := make([]bounds, len(after))
	p.same("number of members", len(a.Lanes), len(after))
	for id, l := range a.Lanes {
		past, was, from := tracks(before[id].text, 1)
		common := 0
		for x := range bytes.Lines(before[id].text) {
			if !bytes.HasPrefix(after[id].text[common:], x) {
				break
			}
			common += len(x)
		}
		between, is, to := tracks(after[id].text, bytes.Count(after[id].text[:common], []byte("\n")))
		old := append(between, past[len(past)-1])
		got := track{took: l.Took, steps: l.Steps, last: figure(l.Last)}
		low, high := old[0].events, 0
		fits := false
		for _, t := range old {
			low, high = min(low, t.events), max(high, t.events)
			t.events = 0
			fits = fits || t == got
		}
		if p.compared += 3; !fits || l.Member != id {
			p.differ("member %d is %+v, and by its journal one of %+v", l.Member, got, old)
		}
		events.low, events.high = events.low+int64(low), events.high+int64(high)
		intervals.low, intervals.high = max(intervals.low, min(was, is)), max(intervals.high, was, is)
		for m := range copied {
			copied[m].low += int64(min(from[m], to[m]))
			copied[m].high += int64(max(from[m], to[m]))
		}
	}
	within("number of events", int64(a.EventsTotal), events)
	within("number of intervals", a.Intervals, intervals)
	for _, l := range a.Lanes {
		within(fmt.Sprintf("copies of member %d", l.Member), int64(l.Copied), copied[l.Member])
	}
}

// healthy compares what the page says of the process of each open member, which is then no longer open, unless its
// heartbeat may have changed twice.
func (p *page) healthy(a answer, before, after []lines, asked time.Time, open map[int]bool) {
	if len(a.Health) != len(after) {
		p.differ("%d members' states, want %d", len(a.Health), len(after))
		clear(open)
		return
	}
	for _, h := range a.Health {
		if !open[h.Member] {
			continue
		}
		got := beat{Phase: h.Phase, Owner: h.Owner, Iteration: h.Iteration, Frame: h.Steps, Total: h.Total,
			Note: h.Note, Objective: json.RawMessage(figure(h.Objective))}
		var want []string
		for _, l := range []lines{before[h.Member], after[h.Member]} {
			b := l.beat
			b.Objective = json.RawMessage(figure(b.Objective))
			if age := asked.Sub(l.written); age > time.Minute && (b.Phase == "training" || b.Phase == "waiting") {
				b.Phase = "silent"
				if strings.HasPrefix(h.Note, l.beat.Phase+" when last seen 1m") &&
					strings.HasSuffix(h.Note, l.beat.Note) {
					b.Note = h.Note // the seconds may differ by one
				}
			}
			want = append(want, b.String())
		}
		equal := slices.Contains(want, got.String())
		if !equal && before[h.Member].written != after[h.Member].written {
			continue // there may have been another in between
		}
		delete(open, h.Member)
		if h.Phase == "silent" {
			p.silent++
		}
		if p.compared += 7; !equal {
			p.differ("member %d is %v, and by its heartbeats %q", h.Member, got, want)
		}
	}
}

// figure is a number of the page or of a file with the seven digits that the page has.
func figure(text json.RawMessage) string {
	var v *float64
	if json.Unmarshal(text, &v) != nil || v == nil {
		return "none"
	}
	return fmt.Sprintf("%.7g", *v)
}
