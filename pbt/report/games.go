package report

import (
	"fmt"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// games returns the tables of populations whose members play against each other: how many games each played against
// whom with the shares won and drawn, and the Elo ratings along the lineage of the best. Other populations have none.
func (f *facts) games() (played, rated *Table) {
	// By member and opponent: one of the others, or n for past selves, or n+1 for the random player.
	n, met := len(f.Members), map[[2]int]journal.Games{}
	type end struct {
		member   int
		interval int64
	}
	ratings := map[end]float64{}
	for _, e := range f.Events {
		if e.SelfPlay == nil {
			continue
		}
		ratings[end{e.Member, e.Iteration}] = e.SelfPlay.Rating
		for _, g := range e.SelfPlay.Games {
			pair := [2]int{e.Member, g.Opponent}
			switch {
			case g.Opponent < 0 || g.Opponent >= n:
				pair[1] = n + 1
			case g.Past:
				pair[1] = n
			}
			t := met[pair]
			t.Games, t.Wins, t.Draws = t.Games+g.Games, t.Wins+g.Wins, t.Draws+g.Draws
			met[pair] = t
		}
	}
	if len(ratings) == 0 {
		return nil, nil
	}
	played = &Table{Header: []string{"member"}}
	for _, i := range f.lanes {
		played.Header = append(played.Header, fmt.Sprintf("against %d", i))
	}
	played.Header = append(played.Header, "past selves", "random player")
	for _, i := range f.lanes {
		r := tracking.Cells(i)
		for _, at := range append(f.lanes[:len(f.lanes):len(f.lanes)], n, n+1) {
			cell := "–"
			if t := met[[2]int{i, at}]; t.Games > 0 {
				cell = fmt.Sprintf("%d (%.0f %%, %.0f %%)", t.Games, percent(t.Wins, t.Games), percent(t.Draws,
					t.Games))
			}
			r = append(r, cell)
		}
		played.Rows = append(played.Rows, r)
	}
	rated = &Table{Header: []string{"interval", "member", "rating"}}
	for _, a := range f.ancestry {
		for i := a.From + 1; i <= a.To; i++ {
			if rating, ok := ratings[end{a.Member, i}]; ok {
				rated.Rows = append(rated.Rows, tracking.Cells(i, a.Member, fmt.Sprintf("%.5g", rating)))
			}
		}
	}
	return played, rated
}

// percent is a share of n games in per cent.
func percent(part, n int) float64 { return 100 * float64(part) / float64(n) }
