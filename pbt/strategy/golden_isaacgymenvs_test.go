package strategy

import (
	"fmt"
	"testing"
)

func TestGoldenIsaacGymEnvs(t *testing.T) {
	golden(t, "isaacgymenvs", func(t *testing.T, args map[string]string, input []string) string {
		s := DefaultIsaacGymEnvs()
		s.ReplaceFractionWorst = argument(t, args, "worst", s.ReplaceFractionWorst)
		s.ReplaceFractionBest = argument(t, args, "best", s.ReplaceFractionBest)
		s.ThresholdFracStd = argument(t, args, "std", s.ThresholdFracStd)
		s.ThresholdFracAbsolute = argument(t, args, "abs", s.ThresholdFracAbsolute)
		_, s.Strict = args["strict"]
		_, s.Debug = args["debug"]
		g := scores(t, input[0])
		if s.Validate() != nil {
			return verdicts(t, args, s, g)
		}
		r := s.ranks(g)
		return fmt.Sprintf("best %v worst %v floor %.6g spread %.6g\n", r.sources, r.lowest, r.floor, r.spread) + verdicts(t, args, s, g)
	})
}
