package watch

import (
	"fmt"
	"path/filepath"

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
	Member    int     `json:"member"`
	Phase     string  `json:"phase"`
	Iteration int64   `json:"iteration"`
	Steps     int64   `json:"steps"`
	Total     int64   `json:"total"`
	Objective *number `json:"objective"`
	Owner     string  `json:"owner,omitempty"`
	Note      string  `json:"note,omitempty"`
}

// population reads the population of a folder.
func (s *Server) population(f *folder, events int) (*Population, error) {
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
	dir, err := s.root.OpenRoot(filepath.FromSlash(f.id))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	list, err := journal.ReadFS(dir.FS())
	if err != nil {
		return nil, err
	}
	history, err := journal.NewHistory(list)
	if err != nil {
		return nil, err
	}
	p, err := report.Of(history, report.Options{Title: fmt.Sprintf("%s, population of %d", s.name(f.id), history.Run.Members), MaxEvents: events})
	if err != nil {
		return nil, err
	}
	return &Population{Population: p, Health: f.health}, nil
}

// health returns the state of the members, or nil if they write no heartbeats.
func (s *Server) health(f *folder) (list []Member) {
	rows, err := launch.Status(filepath.Join(s.dir, filepath.FromSlash(f.id)), launch.DefaultSilence)
	if err != nil {
		return nil
	}
	beats := false
	for _, r := range rows {
		m := Member{Member: r.Member, Phase: r.Phase, Note: r.Note}
		if b := r.Beat; b != nil {
			beats = true
			m.Iteration, m.Steps, m.Total, m.Owner = b.Iteration, b.Steps, b.Total, b.Owner
			if b.HasObjective {
				value := number(b.Objective)
				m.Objective = &value
			}
		}
		list = append(list, m)
	}
	if !beats {
		return nil
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
		value := number(p.Best.Value)
		r.Return = &value
	}
}
