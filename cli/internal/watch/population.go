package watch

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/pbt/report"
)

// maxJournals limits the total size in bytes of a population's journals.
const maxJournals = 256 << 20

// Population is the page's data of a population: its history and, if its members write heartbeats, their state.
type Population struct {
	*report.Population
	Health []Member `json:"health,omitempty"`
}

// Member is the state of a member by its last heartbeat.
type Member struct {
	Member    int            `json:"member"`
	Phase     string         `json:"phase"`
	Iteration int64          `json:"iteration"`
	Steps     int64          `json:"steps"`
	Total     int64          `json:"total"`
	Objective *report.Number `json:"objective"`
	Owner     string         `json:"owner,omitempty"`
	Note      string         `json:"note,omitempty"`
}

// population reads the population of a folder.
func (s *Server) population(f *folder, events int) (*report.Population, error) {
	size := int64(0)
	for _, name := range f.journals {
		info, err := s.root.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if size += info.Size(); size > maxJournals {
			return nil, fmt.Errorf("the journals in %s have more than %d MiB; gorl-pbt report reads them", f.id,
				maxJournals>>20)
		}
	}
	dir, _ := fs.Sub(s.root.FS(), f.id) // an ID is a valid path
	list, err := s.journal(f.id, events == 0, dir)
	if err != nil {
		return nil, err
	}
	history, err := journal.NewHistory(list)
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("%s, population of %d", s.name(f.id), history.Run.Members)
	return report.Of(history, report.Options{Title: title, MaxEvents: events})
}

// journal reads a population's journals. Those of the population that a page asked for last are kept, so that only what
// they add is decoded: while it trains they are read again every few seconds.
func (s *Server) journal(id string, asked bool, dir fs.FS) ([]journal.Event, error) {
	s.following.Lock()
	defer s.following.Unlock()
	if asked && s.watched != id {
		s.watched, s.journals = id, journal.Follower{}
	}
	if s.watched == id {
		return s.journals.ReadFS(dir)
	}
	return journal.ReadFS(dir)
}

// health reads the state of the members by their heartbeats, or nil if they write none.
func (s *Server) health(f *folder) (list []Member) {
	rows, err := f.follow()
	beats := slices.ContainsFunc(rows, func(r launch.Row) bool { return r.Beat != nil })
	if err != nil || !beats {
		return nil
	}
	for _, r := range rows {
		m := Member{Member: r.Member, Phase: r.Phase, Note: r.Note}
		if b := r.Beat; b != nil {
			m.Iteration, m.Steps, m.Total, m.Owner = b.Iteration, b.Steps, b.Total, b.Owner
			if b.HasObjective {
				m.Objective = (*report.Number)(&b.Objective)
			}
		}
		list = append(list, m)
	}
	return list
}

// readPopulation reads a population's row.
func (s *Server) readPopulation(f *folder, settings runfile.Sections) {
	r := &f.row
	r.Members = len(f.journals)
	if n, ok := config.Whole(settings.Section("pbt")["total_steps"]); ok {
		r.Total = int64(n)
	}
	p, err := s.population(f, 1)
	if err != nil {
		r.Words = err.Error()
		return
	}
	f.facts, r.Step, r.Words = p.State, p.Steps, p.State
	if p.Best != nil {
		r.Return = &p.Best.Value
	}
}
