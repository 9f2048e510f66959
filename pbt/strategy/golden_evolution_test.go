package strategy

import (
	"fmt"
	"strings"
	"testing"
)

func whole(t *testing.T, args map[string]string, key string, usual int) int {
	t.Helper()
	if text, ok := args[key]; ok {
		return int(parse(t, text))
	}
	return usual
}

// generation reads members: a number, or several with commas for scores of which the last is the objective; nan, inf; ?
// where none is known yet, x for a failed member, - for an absent one.
func generation(t *testing.T, args map[string]string, text string) Generation {
	g := Generation{Iteration: int64(whole(t, args, "iteration", 1))}
	for i, word := range strings.Fields(text) {
		s := Status{Member: i, Steps: 100}
		switch word {
		case "?":
		case "x":
			s.Failed = true
		case "-":
			s.Absent = true
		default:
			for _, score := range strings.Split(word, ",") {
				s.Objective, s.HasObjective = parse(t, score), true
				s.Scores = append(s.Scores, s.Objective)
			}
		}
		g.Members = append(g.Members, s)
	}
	return g
}

func TestGoldenTournament(t *testing.T) {
	golden(t, "tournament", func(t *testing.T, args map[string]string, input []string) string {
		s := DefaultTournament()
		s.TournamentSize, s.EvalLoop = whole(t, args, "size", 2), whole(t, args, "loop", 1)
		_, no := args["open"]
		s.Elitism = !no
		_, s.MutateElite = args["mutate_elite"]
		_, s.Strict = args["strict"]
		if err := s.Validate(); err != nil {
			return err.Error() + "\n"
		}
		g := generation(t, args, input[0])
		return fmt.Sprintf("ranks %v\n", s.Ranks(g)) + verdicts(t, args, s, g)
	})
}

func TestGoldenMultiFrequency(t *testing.T) {
	golden(t, "multifrequency", func(t *testing.T, args map[string]string, input []string) string {
		s := MultiFrequency{Subpopulations: whole(t, args, "subs", 0), EvalLoop: whole(t, args, "loop", 0)}
		s.Winners, s.Survivors, s.Open, s.Losers = whole(t, args, "winners", 0), whole(t, args, "survivors", 0), whole(t, args, "open", 0), whole(t, args, "losers", 0)
		if text, ok := args["ratios"]; ok {
			for _, r := range strings.Split(text, ",") {
				s.Ratios = append(s.Ratios, int(parse(t, r)))
			}
		}
		_, s.Strict = args["strict"]
		members := len(strings.Fields(input[0]))
		b, err := s.Brackets(members)
		if err != nil {
			return err.Error() + "\n"
		}
		return fmt.Sprintf("winners %d survivors %d open %d losers %d\n", b.Winners, b.Survivors, b.Open, b.Losers) + verdicts(t, args, s, generation(t, args, input[0]))
	})
}
