package pbt

import "github.com/gorl-dev/gorl/internal/number"

// savedMember is what a member's next process needs beside its snapshot. Objectives are the figures themselves.
type savedMember struct {
	Steps           int64        `json:"steps"`
	Parent          *int         `json:"parent,omitempty"`
	Objective       *number.JSON `json:"objective,omitempty"`
	Failure         string       `json:"failure,omitempty"`
	FailedIteration int64        `json:"failed_iteration,omitempty"`
	Hyperparameters number.Map   `json:"hyperparameters"`
	// CopiedAt are the member's steps when it last took over weights, Inherited the steps behind those.
	CopiedAt  int64 `json:"copied_at,omitempty"`
	Inherited int64 `json:"inherited,omitempty"`
	// ChangedAt are the member's steps when it last mutated itself, where that was after CopiedAt.
	ChangedAt int64 `json:"changed_at,omitempty"`
	// MeasuredAt is the interval that Objective belongs to.
	MeasuredAt int64         `json:"measured_at,omitempty"`
	Samples    int           `json:"samples,omitempty"`
	Readings   []number.JSON `json:"readings,omitempty"`
	Figure     string        `json:"figure,omitempty"`
	Peak       *number.JSON  `json:"peak,omitempty"`
	Diverged   string        `json:"diverged,omitempty"`
	// Scores are those that the weights went through, the last of them of the interval ScoredAt.
	Scores   []number.JSON `json:"scores,omitempty"`
	ScoredAt int64         `json:"scored_at,omitempty"`
	// Snapshot is the name of the member's snapshot in its folder, "" for none.
	Snapshot string `json:"snapshot,omitempty"`
}

// state is the member's, with the name of its snapshot.
func (m *member) state(snapshot string) savedMember {
	s := savedMember{
		Steps: m.steps, Failure: m.failure, FailedIteration: m.failedIteration, Hyperparameters: number.MapOf(m.hyperparameters),
		CopiedAt: m.copiedAt, Inherited: m.inherited, MeasuredAt: m.measuredAt, Samples: m.samples, Figure: m.figure, Diverged: m.diverged,
		ScoredAt: m.scoredAt, Snapshot: snapshot,
	}
	if parent := m.parent; parent >= 0 {
		s.Parent = &parent
	}
	if m.hasObjective {
		objective := number.JSON(m.opt.Measure.signed(m.objective))
		s.Objective = &objective
	}
	if m.hasPeak {
		peak := number.JSON(m.opt.Measure.signed(m.peak))
		s.Peak = &peak
	}
	if m.changedAt > m.copiedAt {
		s.ChangedAt = m.changedAt
	}
	for _, r := range m.readings {
		s.Readings = append(s.Readings, number.JSON(r))
	}
	for _, x := range m.scores {
		s.Scores = append(s.Scores, number.JSON(m.opt.Measure.signed(x)))
	}
	return s
}

// load is the reverse of state.
func (m *member) load(s savedMember) {
	m.steps, m.parent, m.saved = s.Steps, s.parent(), s.Snapshot
	m.failure, m.failedIteration = s.Failure, s.FailedIteration
	m.copiedAt, m.inherited, m.measuredAt = s.CopiedAt, s.Inherited, s.MeasuredAt
	m.changedAt = max(s.CopiedAt, s.ChangedAt)
	m.samples, m.figure, m.diverged = s.Samples, s.Figure, s.Diverged
	if s.Objective != nil {
		m.objective, m.hasObjective = m.opt.Measure.signed(float64(*s.Objective)), true
	}
	if s.Peak != nil {
		m.peak, m.hasPeak = m.opt.Measure.signed(float64(*s.Peak)), true
	}
	for _, r := range s.Readings {
		m.readings = append(m.readings, float64(r))
	}
	m.scoredAt = s.ScoredAt
	for _, x := range s.Scores {
		m.scores = append(m.scores, m.opt.Measure.signed(float64(x)))
	}
}

func (s savedMember) parent() int {
	if s.Parent == nil {
		return -1
	}
	return *s.Parent
}
