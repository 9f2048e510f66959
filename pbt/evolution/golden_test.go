package evolution

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/pbt"
)

var rewrite = flag.Bool("rewrite", false, "write what the golden dialogues get into their files; then judge the difference")

// dialogue runs every case of the files in testdata/<dir>. A case is a command line, input lines, "----", and the
// expected answer up to an empty line; lines that begin with # before a case are comments.
func dialogue(t *testing.T, dir string, answer func(t *testing.T, args map[string]string, input []string) string) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files in testdata/%s (%v)", dir, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for i, block := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
				if i > 0 {
					out.WriteString("\n")
				}
				lines := strings.Split(block, "\n")
				for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
					fmt.Fprintln(&out, lines[0])
					lines = lines[1:]
				}
				if len(lines) == 0 {
					continue
				}
				words := strings.Fields(lines[0])
				args := make(map[string]string)
				for _, word := range words[1:] {
					key, value, _ := strings.Cut(word, "=")
					args[key] = value
				}
				rule := slices.Index(lines, "----")
				if rule < 0 {
					t.Fatalf("%s: the case %q has no ----", path, lines[0])
				}
				want := strings.Join(lines[rule+1:], "\n") + "\n"
				t.Run(words[0], func(t *testing.T) {
					got := answer(t, args, lines[1:rule])
					fmt.Fprintf(&out, "%s\n%s", strings.Join(lines[:rule+1], "\n"), got)
					if !*rewrite && got != want {
						t.Errorf("%s\n%s", strings.Join(lines[:rule], "\n"), cmp.Diff(want, got))
					}
				})
			}
			if *rewrite {
				if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func whole(t *testing.T, args map[string]string, key string, usual int) int {
	t.Helper()
	if text, ok := args[key]; ok {
		return int(number(t, text))
	}
	return usual
}

// generation reads members: a number, or several with commas for scores of which the last is the objective; nan, inf; ?
// where none is known yet, x for a failed member, - for an absent one.
func generation(t *testing.T, args map[string]string, text string) pbt.Generation {
	g := pbt.Generation{Iteration: int64(whole(t, args, "iteration", 1))}
	for i, word := range strings.Fields(text) {
		s := pbt.Status{Member: i, Steps: 100}
		switch word {
		case "?":
		case "x":
			s.Failed = true
		case "-":
			s.Absent = true
		default:
			for _, score := range strings.Split(word, ",") {
				s.Objective, s.HasObjective = number(t, score), true
				s.Scores = append(s.Scores, s.Objective)
			}
		}
		g.Members = append(g.Members, s)
	}
	return g
}

func verdicts(t *testing.T, args map[string]string, s pbt.Strategy, g pbt.Generation) string {
	var out strings.Builder
	rng := rand.New(rand.NewPCG(uint64(whole(t, args, "seed", 1)), 0))
	for _, d := range s.Decide(g, rng) {
		fmt.Fprintf(&out, "%d %s", d.Member, d.Action)
		if d.Action == pbt.Replace {
			fmt.Fprintf(&out, " from %d", d.Source)
		}
		if d.Unmutated {
			out.WriteString(" unmutated")
		}
		if d.OthersHyperparameters {
			fmt.Fprintf(&out, " with hyperparameters of %d", d.Other)
		}
		fmt.Fprintf(&out, " (%s)\n", d.Reason)
	}
	return out.String()
}

func TestGoldenTournament(t *testing.T) {
	dialogue(t, "tournament", func(t *testing.T, args map[string]string, input []string) string {
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
	dialogue(t, "multifrequency", func(t *testing.T, args map[string]string, input []string) string {
		s := MultiFrequency{Subpopulations: whole(t, args, "subs", 0), EvalLoop: whole(t, args, "loop", 0)}
		s.Winners, s.Survivors, s.Open, s.Losers = whole(t, args, "winners", 0), whole(t, args, "survivors", 0), whole(t, args, "open", 0), whole(t, args, "losers", 0)
		if text, ok := args["ratios"]; ok {
			for _, r := range strings.Split(text, ",") {
				s.Ratios = append(s.Ratios, int(number(t, r)))
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
