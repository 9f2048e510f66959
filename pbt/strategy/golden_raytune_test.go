package strategy

import (
	"fmt"
	"testing"
)

func TestGoldenRayTune(t *testing.T) {
	golden(t, "raytune", func(t *testing.T, args map[string]string, input []string) string {
		_, strict := args["strict"]
		s := Quantile{Fraction: argument(t, args, "fraction", DefaultQuantile().Fraction), Strict: strict}
		g := scores(t, input[0])
		if s.Validate() != nil {
			return verdicts(t, args, s, g)
		}
		lower, upper := s.Quantiles(g)
		return fmt.Sprintf("lower %v upper %v\n", lower, upper) + verdicts(t, args, s, g)
	})
}

func TestGoldenLimited(t *testing.T) {
	golden(t, "limited", func(t *testing.T, args map[string]string, input []string) string {
		s := Limited{Strategy: DefaultIsaacLab(), MaxCopies: int(argument(t, args, "copies", 1))}
		return verdicts(t, args, s, scores(t, input[0]))
	})
}
