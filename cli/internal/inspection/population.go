package inspection

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Population is what a journal tells.
type Population struct {
	Objective     string   `json:"objective"`
	Minimise      bool     `json:"minimise,omitempty"`
	Strategy      string   `json:"strategy"`
	IntervalSteps int64    `json:"interval_steps"`
	Seed          int64    `json:"seed"`
	Tuned         []string `json:"tuned,omitempty"`
	Members       []Member `json:"members"`
	// Copies are all events in which a member copied another's weights, in order.
	Copies []Copy `json:"copies"`
	// Best is the best that any member was at an interval's end; nil where no objective is known.
	Best *Best `json:"best,omitempty"`
}

// Member says how far one member has come.
type Member struct {
	Member    int          `json:"member"`
	Intervals int64        `json:"intervals"`
	Steps     int64        `json:"steps"`
	Objective *number.JSON `json:"objective,omitempty"`
	// Lineage is the member that its present weights began with, Copies how often it copied another's weights, Failures
	// how often its training failed.
	Lineage         int                    `json:"lineage"`
	Copies          int                    `json:"copies"`
	Failures        int                    `json:"failures"`
	Hyperparameters map[string]number.JSON `json:"hyperparameters"`
}

// Copy says that Member replaced its weights by those of Parent.
type Copy struct {
	Iteration   int64  `json:"iteration"`
	Member      int    `json:"member"`
	Parent      int    `json:"parent"`
	Steps       int64  `json:"steps"`
	ParentSteps int64  `json:"parent_steps"`
	Cause       string `json:"cause,omitempty"`
}

// Best is the best member at an interval's end, and which members trained its weights.
type Best struct {
	Member    int         `json:"member"`
	Iteration int64       `json:"iteration"`
	Steps     int64       `json:"steps"`
	Objective number.JSON `json:"objective"`
	// Ancestry is oldest first; the last stretch is the member's own.
	Ancestry []Stretch `json:"ancestry"`
}

// Stretch is a part of a member's training, in its own environment steps.
type Stretch struct {
	Member    int   `json:"member"`
	FromSteps int64 `json:"from_steps"`
	ToSteps   int64 `json:"to_steps"`
}

// population reads the journal and the checkpoints of a population's folder, or a journal alone.
func population(path string, o Options) (*Report, error) {
	h, err := journal.ReadHistory(path)
	if err != nil {
		return nil, err
	}
	r := &Report{Path: path, Kind: "population", Population: ofHistory(h)}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		r.Kind = "journal of a population"
		return r, err
	}
	if r.Checkpoints, err = list(path, check); err != nil {
		return nil, err
	}
	kept := r.Checkpoints
	if b := r.Population.Best; b != nil {
		kept = preferred(kept, b.Member)
	}
	if chosen, ok := choose(kept); ok {
		r.Checkpoint, err = file(filepath.Join(path, filepath.FromSlash(chosen.File)), o)
	}
	return r, err
}

func ofHistory(h *journal.History) *Population {
	p := &Population{
		Objective: h.Run.Objective, Minimise: h.Run.Minimise, Strategy: h.Run.Strategy, IntervalSteps: h.Run.IntervalSteps,
		Seed: h.Run.Seed, Tuned: h.Run.Tuned, Members: []Member{}, Copies: []Copy{},
	}
	for _, t := range h.Members {
		m := Member{Member: t.Member, Intervals: t.Iteration, Steps: t.Steps, Lineage: t.Member, Copies: len(t.Copies),
			Failures: len(t.Failures), Hyperparameters: map[string]number.JSON{}}
		if n := len(t.Objective); n > 0 {
			x := number.JSON(t.Objective[n-1].Value)
			m.Objective = &x
		}
		for key, points := range t.Hyperparameters {
			if len(points) > 0 {
				m.Hyperparameters[key] = number.JSON(points[len(points)-1].Value)
			}
		}
		for _, c := range t.Copies {
			m.Lineage = c.Founder
			p.Copies = append(p.Copies, Copy{c.Iteration, t.Member, c.Parent, c.Steps, c.ParentSteps, c.Cause})
		}
		p.Members = append(p.Members, m)
	}
	slices.SortStableFunc(p.Copies, func(a, b Copy) int { return int(a.Iteration - b.Iteration) })
	if member, at, ok := h.Best(); ok {
		p.Best = &Best{Member: member, Iteration: at.Iteration, Steps: at.Steps, Objective: number.JSON(at.Value),
			Ancestry: []Stretch{}}
		if ancestry, err := h.AncestryAt(member, at.Iteration); err == nil {
			for _, a := range ancestry {
				p.Best.Ancestry = append(p.Best.Ancestry, Stretch{a.Member, a.FromSteps, a.ToSteps})
			}
		}
	}
	return p
}

// tuned are the hyperparameters to show: those that the population tunes, else all.
func (p *Population) tuned() []string {
	if len(p.Tuned) > 0 {
		return p.Tuned
	}
	all := map[string]bool{}
	for _, m := range p.Members {
		for key := range m.Hyperparameters {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
