package populations

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// page is gorl serve beside a population, and what became of comparing it with the files.
type page struct {
	t         *testing.T
	dir, url  string
	members   int
	stop      chan struct{}
	ended     sync.WaitGroup
	samples   int // moments
	compared  int // members
	whole     int // sums over all members
	unsettled int // members whose files changed in every try
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
	for end := time.Now().Add(time.Minute); p.whole == 0 && time.Now().Before(end); { // a short run on a busy machine
		time.Sleep(100 * time.Millisecond)
		p.sample()
	}
	p.t.Logf("the page at %d moments: %d members compared with their files, and %d times the sums; %d left out "+
		"because their files changed in every try", p.samples, p.compared, p.whole, p.unsettled)
	if p.whole == 0 || p.unsettled > p.samples*p.members/10 {
		p.t.Error("too little could be compared")
	}
}

// files is what a member's journal and heartbeat say. This test reads them without the packages under test.
type files struct {
	journal []byte
	beat    health
	written time.Time // the heartbeat
}

// read reads a member's files.
func (p *page) read(id int) (f files, err error) {
	folder := filepath.Join(p.dir, fmt.Sprintf("%03d", id))
	f.journal, err = os.ReadFile(filepath.Join(folder, "journal.jsonl"))
	if err == nil && !bytes.Contains(f.journal, []byte("\n")) {
		err = errors.New("not begun")
	}
	path := filepath.Join(folder, "heartbeat.json")
	text, err1 := os.ReadFile(path)
	info, err2 := os.Stat(path)
	if err = errors.Join(err, err1, err2); err != nil {
		return f, err
	}
	var beat struct {
		health
		Frame int64
	}
	err = json.Unmarshal(text, &beat)
	f.beat, f.written = beat.health, info.ModTime()
	f.beat.Member, f.beat.Steps, f.beat.Objective = id, beat.Frame, figure(f.beat.Objective)
	return f, err
}

// all reads the files of all members. Those that cannot be read are empty: they are being replaced.
func (p *page) all() (all []files, whole bool) {
	whole = true
	for id := range p.members {
		f, err := p.read(id)
		if err != nil {
			f, whole = files{}, false
		}
		all = append(all, f)
	}
	return all, whole
}

// health is what the page says of a member's process, and a heartbeat in the same words.
type health struct {
	Member                  int
	Phase, Owner, Note      string
	Iteration, Steps, Total int64
	Objective               any
}

// lane is what the page says of a member's past, and a journal in the same words.
type lane struct {
	Member, Took int
	Steps        int64
	Last         any
}

// answer is what the page shows of a population, as far as it is compared.
type answer struct {
	Members     int
	EventsTotal int `json:"events_total"`
	Intervals   int64
	Lanes       []struct {
		lane
		Copied int
	}
	Health []health
}

// ask returns what the page shows, and the state of the run in its list.
func (p *page) ask() (a answer, state string, err error) {
	get := func(path string, into any) error {
		got, err := http.Get(p.url + path)
		if err != nil {
			return err
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err == nil && got.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", got.Status, text)
		}
		return errors.Join(err, json.Unmarshal(text, into))
	}
	var list struct{ Runs []struct{ ID, State string } }
	run := filepath.Base(p.dir)
	err = errors.Join(get("/api/runs", &list), get("/api/population?run="+url.QueryEscape(run), &a))
	for _, r := range list.Runs {
		if r.ID == run {
			state = r.State
		}
	}
	return a, state, err
}

// sample compares the page with the files of the members that were the same before and after it was asked. Members
// whose files changed in between are compared again.
func (p *page) sample() {
	if _, begun := p.all(); !begun && p.samples == 0 {
		return
	}
	p.samples++
	done := make(map[int]bool)
	for range 20 {
		before, _ := p.all()
		a, state, err := p.ask()
		if err != nil || state != "training" || len(a.Lanes) != p.members || len(a.Health) != p.members {
			p.t.Errorf("moment %d: state %q, %d lanes, %d heartbeats, %v", p.samples, state, len(a.Lanes),
				len(a.Health), err)
			return
		}
		after, _ := p.all()
		changed := false
		sums := sums{copied: make([]int, p.members)}
		for id, f := range before {
			if f.written.IsZero() || !reflect.DeepEqual(f, after[id]) {
				changed = true
				continue
			}
			past := sums.add(id, f.journal)
			if done[id] {
				continue
			}
			done[id] = true
			p.compared++
			got, want := a.Health[id], f.beat
			got.Objective, a.Lanes[id].Last = figure(got.Objective), figure(a.Lanes[id].Last)
			if got != want || a.Lanes[id].lane != past {
				p.t.Errorf("moment %d: the page says %+v, %+v, and the files %+v, %+v", p.samples, got,
					a.Lanes[id].lane, want, past)
			}
		}
		if changed {
			continue
		}
		p.whole++
		got := sums
		got.events, got.intervals, got.copied = a.EventsTotal, a.Intervals, nil
		for _, l := range a.Lanes {
			got.copied = append(got.copied, l.Copied)
		}
		must.Equal(p.t, "sums of the page", fmt.Sprint(sums), fmt.Sprint(got))
		return
	}
	p.unsettled += p.members - len(done)
}

// sums are of the journals of all members.
type sums struct {
	events    int
	intervals int64
	copied    []int // by member, how often it was copied
}

// add adds a member's journal, and returns what it says of the member.
func (s *sums) add(id int, text []byte) lane {
	l := lane{Member: id, Last: figure(nil)}
	for line := range bytes.Lines(text) {
		var e struct {
			Event            string
			Iteration, Steps int64
			Parent           *int
			Objective        any
		}
		if json.Unmarshal(line, &e) != nil || e.Event == "population" {
			continue
		}
		s.events++
		l.Steps, s.intervals = max(l.Steps, e.Steps), max(s.intervals, e.Iteration)
		if e.Objective != nil {
			l.Last = figure(e.Objective)
		}
		if e.Event == "replace" {
			l.Took++
			s.copied[*e.Parent]++
		}
	}
	return l
}

// figure is a number of the page or of a file with the seven digits that the page has.
func figure(value any) any {
	if v, ok := value.(float64); ok {
		return fmt.Sprintf("%.7g", v)
	}
	return "none"
}
