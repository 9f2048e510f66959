package report

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// Games are added up over intervals, and ratings follow the weights of the best through its copies.
func TestGames(t *testing.T) {
	event := func(kind journal.Kind, member, parent int, iteration int64, objective, rating float64,
		games ...journal.Games) journal.Event {
		return journal.Event{Kind: kind, Member: member, Parent: parent, Iteration: iteration, Steps: 100 * iteration,
			ParentSteps: 100 * iteration, Objective: objective, HasObjective: true,
			SelfPlay: &journal.SelfPlay{Rating: rating, Games: games}}
	}
	random := journal.Games{Opponent: -1, Past: true, Games: 10, Wins: 5, Draws: 1}
	h := must.Get(journal.NewHistory([]journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Members: 2, IntervalSteps: 100}},
		event(journal.Keep, 0, -1, 1, 1010, 1010, random),
		event(journal.Replace, 1, 0, 1, 990, 990, random),
		event(journal.Final, 0, -1, 2, 1020, 1020, journal.Games{Opponent: 1, Interval: 1, Games: 4, Wins: 1}),
		event(journal.Final, 1, -1, 2, 1050, 1050, journal.Games{Opponent: 0, Interval: 1, Games: 3, Wins: 3},
			journal.Games{Opponent: 0, Interval: 1, Past: true, Games: 2, Draws: 2}),
	}))(t)
	f := must.Get(gather(h))(t)
	met, ratings := f.games()
	must.Equal(t, "met.Rows", [][]string{
		{"0", "–", "4 (25 %, 0 %)", "–", "10 (50 %, 10 %)"},
		{"1", "3 (100 %, 0 %)", "–", "2 (0 %, 100 %)", "10 (50 %, 10 %)"},
	}, met.Rows)
	must.Equal(t, "ratings.Rows", [][]string{{"1", "0", "1010"}, {"2", "1", "1050"}}, ratings.Rows)
	if small, err := gather(recorded(t, "small")); err != nil {
		t.Fatal(err)
	} else if none, _ := small.games(); none != nil {
		t.Error("a population without games has a table of them")
	}
}
