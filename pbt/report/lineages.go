package report

// maxLineages is the number of lineages whose sizes are drawn one by one.
const maxLineages = 8

// Lineages are the sizes of lineages over time, for a population of more members than have a lane. Sizes are taken at
// the ends of intervals 0, Every, 2·Every and so on, after decisions.
type Lineages struct {
	Every int64 `json:"every"`
	// Lines begin with the best member's lineage. The largest present lineages follow. The last line, with founder -1,
	// sums all others.
	Lines []Size `json:"lines"`
}

// Size is how many members had weights that began with Founder.
type Size struct {
	Founder int   `json:"founder"`
	Color   int   `json:"color"`
	Members []int `json:"members"`
}

// lineages returns the sizes of lineages, nil if every member has a lane.
func (f *facts) lineages() *Lineages {
	if len(f.lanes) == len(f.Members) {
		return nil
	}
	every := f.page.Intervals/200 + 1
	l := &Lineages{Every: every, Lines: make([]Size, maxLineages+1)}
	for i := range l.Lines {
		l.Lines[i] = Size{Founder: -1, Color: i, Members: make([]int, f.page.Intervals/every+1)}
	}
	for founder, rank := range f.rank {
		if rank < maxLineages {
			l.Lines[rank].Founder = founder
		}
	}
	for i, course := range f.courses {
		for j, s := range course {
			end := f.Members[i].Iteration + 1
			if j+1 < len(course) {
				end = course[j+1].Interval
			}
			sizes := l.Lines[min(f.rank[s.Founder], maxLineages)].Members
			for k := (max(0, s.Interval) + every - 1) / every; k*every < end && int(k) < len(sizes); k++ {
				sizes[k]++
			}
		}
	}
	return l
}
