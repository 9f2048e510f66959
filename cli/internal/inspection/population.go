package inspection

import (
	"slices"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Population is what a journal records.
type Population struct {
	journal.RunInfo
	Members []Member `json:"members"`
	// Copies are all events in which a member copied another's weights, in order.
	Copies []Copy `json:"copies"`
	// Best is the best result of any member at the end of an interval. It is nil if no objective is known.
	Best *Best `json:"best,omitempty"`

	keys []string // the hyperparameters that are listed
}

// Member is the latest state of one member.
type Member struct {
	Member    int          `json:"member"`
	Intervals int64        `json:"intervals"`
	Steps     int64        `json:"steps"`
	Objective *number.JSON `json:"objective,omitempty"`
	// Lineage is the member in which the present weights began. Copies counts how often the member copied another's
	// weights, Failures how often its training failed.
	Lineage         int        `json:"lineage"`
	Copies          int        `json:"copies"`
	Failures        int        `json:"failures"`
	Hyperparameters number.Map `json:"hyperparameters"`
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

// Best is the best member at the end of an interval, and the members that trained its weights.
type Best struct {
	Member    int         `json:"member"`
	Iteration int64       `json:"iteration"`
	Steps     int64       `json:"steps"`
	Objective number.JSON `json:"objective"`
	// Ancestry is oldest first. The last stretch is the member's own.
	Ancestry []journal.Ancestor `json:"ancestry"`
}

// population reads a journal, or the journals of a population's folder, and returns the best member, or -1.
func population(path string) (p *Population, winner int, err error) {
	h, err := journal.ReadHistory(path)
	if err != nil {
		return nil, -1, err
	}
	p = &Population{RunInfo: h.Run, Members: []Member{}, Copies: []Copy{}, keys: h.Tuned()}
	for _, t := range h.Members {
		m := Member{Member: t.Member, Intervals: t.Iteration, Steps: t.Steps, Lineage: t.Member, Copies: len(t.Copies),
			Failures: len(t.Failures), Hyperparameters: number.Map{}}
		if n := len(t.Objective); n > 0 {
			m.Objective = number.Optional(t.Objective[n-1].Value, true)
		}
		for key, points := range t.Hyperparameters {
			if n := len(points); n > 0 {
				m.Hyperparameters[key] = number.JSON(points[n-1].Value)
			}
		}
		for _, c := range t.Copies {
			m.Lineage = c.Founder
			p.Copies = append(p.Copies, Copy{c.Iteration, t.Member, c.Parent, c.Steps, c.ParentSteps, c.Cause})
		}
		p.Members = append(p.Members, m)
	}
	slices.SortStableFunc(p.Copies, func(a, b Copy) int { return int(a.Iteration - b.Iteration) })
	member, at, ok := h.Best()
	if !ok {
		return p, -1, nil
	}
	p.Best = &Best{member, at.Iteration, at.Steps, number.JSON(at.Value), nil}
	p.Best.Ancestry, err = h.AncestryAt(member, at.Iteration)
	return p, member, err
}
