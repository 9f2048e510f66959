package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/dialogue"
)

// golden runs the dialogues in testdata/<dir>. The arguments of a case are key=value.
func golden(t *testing.T, dir string, answer func(t *testing.T, args map[string]string, input []string) string) {
	dialogue.Run(t, filepath.Join("testdata", dir, "*.txt"), func(t *testing.T, c dialogue.Case) string { return answer(t, c.Args(), c.Input) })
}

func parse(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// scores reads objectives: a number, nan, inf, ? where none is known yet, x for a failed member, - for an absent one. A
// peak follows after ^, as in 3^5.
func scores(t *testing.T, text string) Generation {
	g := Generation{Iteration: 1}
	for i, word := range strings.Fields(text) {
		s := Status{Member: i, Steps: 100}
		word, peak, hasPeak := strings.Cut(word, "^")
		if s.HasPeak = hasPeak; hasPeak {
			s.Peak = parse(t, peak)
		}
		switch word {
		case "?":
		case "x":
			s.Failed = true
		case "-":
			s.Absent = true
		default:
			s.Objective, s.HasObjective = parse(t, word), true
		}
		g.Members = append(g.Members, s)
	}
	return g
}

// verdicts writes what a strategy decides; the argument seed is the generator's (1 by default).
func verdicts(t *testing.T, args map[string]string, s Strategy, g Generation) string {
	if v, ok := s.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err.Error() + "\n"
		}
	}
	var out strings.Builder
	for _, d := range s.Decide(g, rand.New(rand.NewPCG(uint64(argument(t, args, "seed", 1)), 0))) {
		fmt.Fprintf(&out, "%d %s", d.Member, d.Action)
		if d.Action == Replace {
			fmt.Fprintf(&out, " from %d", d.Source)
		}
		if d.Action == Replace && d.Origin() == d.Member {
			out.WriteString(" own hyperparameters")
		}
		if d.Action == Replace && !d.Mutate {
			out.WriteString(" unmutated")
		}
		if d.Action == Replace && d.Origin() != d.Source && d.Origin() != d.Member {
			fmt.Fprintf(&out, " with hyperparameters of %d", d.Origin())
		}
		fmt.Fprintf(&out, " (%s)\n", d.Reason)
	}
	return out.String()
}

// argument reads an argument.
func argument(t *testing.T, args map[string]string, key string, usual float64) float64 {
	t.Helper()
	if v, ok := args[key]; ok {
		return parse(t, v)
	}
	return usual
}

func TestGoldenIsaacLab(t *testing.T) {
	golden(t, "isaaclab", func(t *testing.T, args map[string]string, input []string) string {
		_, strict := args["strict"]
		s := IsaacLab{ThresholdStd: parse(t, args["std"]), ThresholdAbs: parse(t, args["abs"]), Strict: strict}
		g := scores(t, input[0])
		b := s.Bands(g)
		var out strings.Builder
		fmt.Fprintf(&out, "mean %.6g std %.6g cuts %.6g %.6g\n", b.Mean, b.Std, b.Lower, b.Upper)
		fmt.Fprintf(&out, "leaders %v underperformers %v diverged %v\n", b.Leaders, b.Underperformers, b.Diverged)
		return out.String() + verdicts(t, args, s, g)
	})
}

func TestDrawsOfIsaacLabAreUniformOverLeaders(t *testing.T) {
	g := Generation{}
	for i := range 4 {
		g.Members = append(g.Members, Status{Member: i, Objective: math.Min(float64(i), 1), HasObjective: true})
	}
	counts := make(map[int]int)
	rng := rand.New(rand.NewPCG(7, 7))
	const n = 3000
	for range n {
		counts[DefaultIsaacLab().Decide(g, rng)[0].Source]++
	}
	// The standard deviation of each count is 26.
	for _, leader := range []int{1, 2, 3} {
		if d := counts[leader] - n/3; d < -130 || d > 130 {
			t.Errorf("leader %d was drawn %d times of %d, want about a third: %v", leader, counts[leader], n, counts)
		}
	}
	if len(counts) != 3 {
		t.Errorf("drawn were %v, want leaders 1 to 3 only", counts)
	}
}
