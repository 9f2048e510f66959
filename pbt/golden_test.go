package pbt

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what the golden dialogues get into their files; then judge the difference")

// dialogue runs every case of the files in testdata/<dir>. A case is a command line, input lines, "----", and the
// expected answer up to an empty line; lines that begin with # between cases are comments.
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
				args := make(map[string]string)
				words := strings.Fields(lines[0])
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
					fmt.Fprintf(&out, "%s\n", strings.Join(lines[:rule+1], "\n"))
					out.WriteString(got)
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
		if d.OwnHyperparameters {
			out.WriteString(" own hyperparameters")
		}
		if d.Unmutated {
			out.WriteString(" unmutated")
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
	dialogue(t, "isaaclab", func(t *testing.T, args map[string]string, input []string) string {
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

// draws are given uniform numbers.
type draws struct {
	t    *testing.T
	list []float64
	used int
}

func (d *draws) Float64() float64 {
	if d.used == len(d.list) {
		d.t.Fatalf("more than the %d given numbers were drawn", len(d.list))
	}
	d.used++
	return d.list[d.used-1]
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
