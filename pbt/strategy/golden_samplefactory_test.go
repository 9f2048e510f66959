package strategy

import "testing"

func TestGoldenSampleFactory(t *testing.T) {
	golden(t, "samplefactory", func(t *testing.T, args map[string]string, input []string) string {
		s := DefaultSampleFactory()
		s.ReplaceFraction = argument(t, args, "fraction", s.ReplaceFraction)
		s.RewardGap = argument(t, args, "gap", s.RewardGap)
		s.RewardGapAbsolute = argument(t, args, "abs", s.RewardGapAbsolute)
		_, s.Strict = args["strict"]
		return verdicts(t, args, s, scores(t, input[0]))
	})
}
