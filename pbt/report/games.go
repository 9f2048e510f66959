package report

import (
	"fmt"

	"github.com/gorl-dev/gorl/tracking"
)

// maxRatings is the number of rows of the table of ratings. Of more intervals, evenly spread ones are shown.
const maxRatings = 40

// games returns the tables of populations whose members play against each other: how many games each played against
// whom with the shares won and drawn, and the Elo ratings along the lineage of the best. Other populations have neither.
func (f *facts) games() (played, rated *Table) {
	// By member: games against each of the others, then past selves and the random player.
	n := len(f.Members)
	type tally struct{ games, wins, draws int }
	met := make([][]tally, n)
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
		if met[e.Member] == nil {
			met[e.Member] = make([]tally, n+2)
		}
		for _, g := range e.SelfPlay.Games {
			at := g.Opponent
			switch {
			case at < 0 || at >= n:
				at = n + 1
			case g.Past:
				at = n
			}
			t := &met[e.Member][at]
			t.games, t.wins, t.draws = t.games+g.Games, t.wins+g.Wins, t.draws+g.Draws
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
			if met[i] != nil && met[i][at].games > 0 {
				t := met[i][at]
				cell = fmt.Sprintf("%d (%.0f %%, %.0f %%)", t.games, percent(t.wins, t.games), percent(t.draws, t.games))
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
	if rows := rated.Rows; len(rows) > maxRatings {
		rated.Rows = nil
		for k := range maxRatings {
			rated.Rows = append(rated.Rows, rows[k*(len(rows)-1)/(maxRatings-1)])
		}
	}
	return played, rated
}

// percent is a share of n games in per cent.
func percent(part, n int) float64 { return 100 * float64(part) / float64(n) }
