package watch

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/pbt/workspace"
	"github.com/gorl-dev/gorl/tracking"
)

// Row is a run or a population in the list of the page.
type Row struct {
	// ID is the folder's path below the folder of all runs, with slashes.
	ID string `json:"id"`
	// Members is the number of members of a population, 0 for a run. Of is the population of a member's run.
	Members int    `json:"members,omitempty"`
	Of      string `json:"of,omitempty"`
	// State is starting, training, finished, stopped or failed. Words has details, such as the error.
	State string `json:"state"`
	Words string `json:"words,omitempty"`
	// Step counts timesteps; in a population it is the largest number of environment steps of a member. Total is 0 if
	// unknown.
	Step  int64 `json:"step"`
	Total int64 `json:"total"`
	// Return is the last return; in a population it is the present best objective.
	Return *report.Number `json:"return"`
	// Rate is in steps per second over the last values.
	Rate report.Number `json:"rate"`
	// Updated is when the run last wrote, in milliseconds since 1970.
	Updated     int64  `json:"updated"`
	Agent       string `json:"agent,omitempty"`
	Environment string `json:"environment,omitempty"`
}

// The largest sizes in bytes of a small file and of the end of a log that are read.
const (
	maxSmall  = 4 << 20
	tailBytes = 32 << 10
)

// fresh is the age of the last write up to which a run without a lock counts as training.
const fresh = time.Minute

// folder is the folder of a run or population, with the data last read from it.
type folder struct {
	id, of     string
	population bool
	log        string   // path of scalars.jsonl
	journals   []string // paths of the members' journals
	stamp      string   // identifies the versions of the files that were read
	ended      *runfile.Start
	facts      string                       // the state by the journals
	follow     func() ([]launch.Row, error) // of a population, reads heartbeats
	health     []Member
	began      time.Time // when the population was first seen, after beganAt steps
	beganAt    int64
	beat, seen int64 // when the latest heartbeat was written, and the one that health was read at; in milliseconds
	row        Row
}

// walk finds the folders of runs and populations. It follows no links.
func (s *Server) walk() error {
	found := map[string]*folder{}
	at := func(id string) *folder {
		if found[id] == nil {
			found[id] = &folder{id: id}
		}
		return found[id]
	}
	err := fs.WalkDir(s.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		dir, base := path.Dir(name), path.Base(name)
		switch {
		case err != nil && name != ".":
			return nil // removed, or not for this user
		case err != nil:
			return err
		case e.IsDir() && name != "." && (base[0] == '.' || base == "checkpoints" || strings.Count(name, "/") > 8 ||
			len(found) > maxRuns):
			return fs.SkipDir
		case !e.Type().IsRegular():
		case base == journal.File && isMember(path.Base(dir)):
			p := at(path.Dir(dir))
			p.population, p.journals = true, append(p.journals, name)
		case base == tracking.ScalarsFile:
			at(dir).log = name
		case base == runFile:
			at(dir)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	for id, f := range found {
		if p := found[path.Dir(id)]; p != nil && p.population && isMember(path.Base(id)) {
			f.of = p.id
		}
		if old := s.folders[id]; old != nil && old.population == f.population {
			old.log, old.journals, old.of = f.log, f.journals, f.of
			found[id] = old
		} else if f.population {
			f.follow = launch.Follow(filepath.Join(s.dir, filepath.FromSlash(id)), launch.DefaultSilence)
		}
	}
	s.folders, s.walked = found, time.Now()
	return nil
}

// maxRuns limits the folders that are listed, and runFile is the name of a run's configuration.
const (
	maxRuns = 20_000
	runFile = "run.yaml"
)

// isMember reports whether a name is that of a member's folder: 000, 001 and so on.
func isMember(name string) bool { return len(name) >= 3 && strings.Trim(name, "0123456789") == "" }

// refresh reads the files that have changed, latest runs first, for at most the given time. more reports whether files
// are left to read.
func (s *Server) refresh(budget time.Duration) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.walked) > s.every {
		if err := s.walk(); err != nil {
			return false, err
		}
	}
	order := make([]*folder, 0, len(s.folders))
	stamps := map[*folder]string{}
	for _, f := range s.folders {
		stamps[f] = s.look(f)
		order = append(order, f)
	}
	slices.SortFunc(order, func(a, b *folder) int {
		return cmp.Or(cmp.Compare(b.row.Updated, a.row.Updated), cmp.Compare(a.id, b.id))
	})
	rows := make([]Row, 0, len(order))
	end, held := time.Now().Add(budget), durable.Locks()
	for _, f := range order {
		if f.stamp != stamps[f] {
			if time.Now().Before(end) {
				f.stamp = stamps[f]
				s.read(f)
			} else {
				more = true
			}
		}
		if f.seen != f.beat && time.Now().Before(end) {
			f.seen, f.health = f.beat, s.health(f)
		}
		s.judge(f, held)
		rows = append(rows, f.row)
	}
	if !reflect.DeepEqual(rows, s.rows) {
		s.rows, s.version = rows, s.version+1
	}
	return more, nil
}

// look returns a stamp of the files of a row, and sets the time of the latest write.
func (s *Server) look(f *folder) string {
	var stamp strings.Builder
	latest := int64(0)
	names := []string{path.Join(f.id, runFile), path.Join(f.id, runfile.ProvenanceFile), f.log}
	for i, name := range slices.Concat(names, f.journals) {
		if info, err := s.root.Stat(name); err == nil {
			fmt.Fprint(&stamp, i, " ", info.Size(), " ", info.ModTime().UnixNano(), ";")
			latest = max(latest, info.ModTime().UnixMilli())
		}
	}
	for _, name := range f.journals {
		if info, err := s.root.Stat(path.Join(path.Dir(name), "heartbeat.json")); err == nil {
			f.beat = max(f.beat, info.ModTime().UnixMilli())
		}
	}
	latest = max(latest, f.beat)
	f.row.ID, f.row.Of, f.row.Updated = f.id, f.of, latest
	return stamp.String()
}

// read reads a folder's row again. Errors are noted in the row.
func (s *Server) read(f *folder) {
	f.row.Words, f.row.Total = "", 0
	settings, err := s.settings(f.id)
	if err != nil {
		f.row.Words = err.Error()
	}
	f.row.Agent, _ = settings.Section("agent")["class"].(string)
	f.row.Environment, _ = settings.Section("environment")["id"].(string)
	if n, ok := config.Whole(settings.Section("trainer")["timesteps"]); ok {
		f.row.Total = int64(n)
	}
	if f.population {
		s.readPopulation(f, settings)
		return
	}
	starts, err := s.starts(f.id)
	if f.ended = nil; len(starts) > 0 {
		f.ended = &starts[len(starts)-1]
	}
	if err != nil {
		f.row.Words = err.Error()
	}
	if err := s.readLatest(f); err != nil {
		f.row.Words = err.Error()
	}
}

// open opens a regular file below the folder of all runs.
func (s *Server) open(name string) (*os.File, fs.FileInfo, error) {
	file, err := s.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, nil, err
	}
	return file, info, nil
}

// small reads a file of at most maxSmall bytes. A file that does not exist is empty.
func (s *Server) small(name string) ([]byte, error) {
	file, info, err := s.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxSmall {
		return nil, fmt.Errorf("%s has more than %d bytes; it is not read", name, maxSmall)
	}
	return io.ReadAll(io.LimitReader(file, maxSmall))
}

// settings reads the configuration of a run: run.yaml, or the file of a population across processes.
func (s *Server) settings(id string) (runfile.Sections, error) {
	text, err := s.small(path.Join(id, runFile))
	if err == nil && text == nil {
		text, err = s.small(path.Join(id, "config.yaml"))
	}
	if err != nil || text == nil {
		return runfile.Sections{}, err
	}
	settings, err := runfile.Parse([]byte(config.Redact(string(text))))
	if err != nil {
		return runfile.Sections{}, fmt.Errorf("the settings of %s: %w", id, err)
	}
	return settings, nil
}

// starts reads the record of a run's starts.
func (s *Server) starts(id string) (list []runfile.Start, err error) {
	text, err := s.small(path.Join(id, runfile.ProvenanceFile))
	if err == nil && text != nil {
		err = yaml.Unmarshal(text, &list)
	}
	return list, err
}

// readLatest reads the latest step and return, and the rate, from the end of a run's log.
func (s *Server) readLatest(f *folder) error {
	if f.log == "" {
		return nil
	}
	var first, last tracking.Scalar
	each := func(v tracking.Scalar) {
		if first.Tag == "" {
			first = v
		}
		if last.Tag == "" || v.Step >= last.Step {
			last = v
		}
		if v.Tag == tracking.TagReturn || v.Tag == tracking.TagTotalReward+" (mean)" && f.row.Return == nil {
			value := report.Number(v.Value)
			f.row.Return = &value
		}
	}
	err := s.tail(f.log, each)
	f.row.Step = last.Step
	if seconds := last.Time.Sub(first.Time).Seconds(); seconds > 0 && last.Step > first.Step {
		f.row.Rate = report.Number(float64(last.Step-first.Step) / seconds)
	}
	return err
}

// tail calls each for the last scalars of a log.
func (s *Server) tail(name string, each func(tracking.Scalar)) error {
	file, info, err := s.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	from := max(0, info.Size()-tailBytes)
	end := bufio.NewReaderSize(io.NewSectionReader(file, from, info.Size()-from), tailBytes)
	if from > 0 {
		_, _ = end.ReadSlice('\n') // the incomplete first line
	}
	_, err = tracking.DecodeLines(end, each)
	return err
}

// judge sets the state of a run or population from its lock, its recorded end, heartbeats or the last write.
func (s *Server) judge(f *folder, held func(fs.FileInfo) bool) {
	r := &f.row
	if p := s.folders[f.of]; p != nil && f.of != "" {
		r.State = p.row.State
		return
	}
	info, err := s.root.Stat(path.Join(f.id, "lock"))
	locked, recent := err == nil && held(info), time.Since(time.UnixMilli(r.Updated)) < fresh
	if f.population {
		for _, m := range f.health {
			r.Step, r.Total = max(r.Step, m.Steps), max(r.Total, m.Total)
			recent = recent && m.Phase != string(workspace.Stopped)
		}
		if f.began.IsZero() {
			f.began, f.beganAt = time.Now(), r.Step
		}
		if r.Rate = 0; r.Step > f.beganAt {
			r.Rate = report.Number(float64(r.Step-f.beganAt) / time.Since(f.began).Seconds())
		}
	}
	ended := f.ended != nil && !f.ended.Ended.IsZero()
	switch {
	case f.facts == "finished":
		r.State = "finished"
	case strings.HasPrefix(f.facts, "given up"):
		r.State = "failed"
	case locked && !f.population && r.Step == 0:
		r.State = "starting"
	case locked:
		r.State = "training"
	case ended && f.ended.Stopped:
		r.State = "stopped"
	case ended && f.ended.Error != "":
		r.State, r.Words = "failed", f.ended.Error
	case ended, !f.population && r.Total > 0 && r.Step >= r.Total:
		r.State = "finished"
	case recent:
		r.State = "training"
	default:
		r.State = "stopped"
	}
}
