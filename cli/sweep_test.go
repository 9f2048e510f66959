package cli

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// A grid trains every combination for every seed in run folders, and its table has the best first.
func TestSweepGrid(t *testing.T) {
	here(t, "pole.yaml", short)
	write(t, "sweep.yaml", `
config: pole.yaml
seeds: [2, 3]
metric: {name: episode.length, goal: minimize}
parameters:
  models.mlp: [[16], [8, 8]]
  agent.learning_rate: {values: [1.0e-3, 1.0e-2]}
  agent.learning_epochs: {value: 1}
`)
	asChild(t)
	stdout, _ := gorl(t, 0, "sweep", "sweep.yaml", "--check")
	matches(t, stdout, `(?m)^trial-001/seed-2: seed 2, map\[agent.learning_epochs:1 agent.learning_rate:0.001 `+
		`models.mlp:\[16\]\]$`, `(?m)^trial-004/seed-3`)
	if entries, _ := os.ReadDir("runs"); len(entries) > 0 {
		t.Error("--check has written")
	}
	gorl(t, 0, "sweep", "sweep.yaml", "-q")
	stdout, _ = gorl(t, 0, "train", "--resume", "runs/pole-sweep") // nothing is left to train
	matches(t, stdout,
		`^trial +agent.learning_epochs +agent.learning_rate +models.mlp +episode.length +95 % from +to\n`)
	c := get(runfile.Read("runs/pole-sweep/trial-004/seed-3/run.yaml"))(t)
	same(t, "seed, networks and epochs of trial 4", "3 [8 8] 1",
		fmt.Sprint(c["seed"], at(c, "models.mlp"), at(c, "agent.learning_epochs")))
	rows := get(csv.NewReader(strings.NewReader(text("runs/pole-sweep/results.csv"))).ReadAll())(t)
	var lengths []float64
	for _, row := range rows[1:] {
		lengths = append(lengths, get(strconv.ParseFloat(row[4], 64))(t))
	}
	if len(lengths) != 4 || !slices.IsSorted(lengths) {
		t.Errorf("lengths are %v, want four, the shortest first", lengths)
	}
}

// Random trials lie in their ranges, and equal seeds draw equal ones.
func TestSweepDraws(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "sweep.yaml", `
method: random
trials: 200
parameters:
  a.log: {min: 1e-5, max: 1e-1, distribution: log_uniform_values}
  a.uniform: {min: 0.5, max: 2}
  a.whole: {min: 2, max: 4}
  a.text: {values: [x, y]}
`)
	s := get(readSweep("sweep.yaml"))(t)
	b := get(s.batch())(t)
	again := get(s.batch())(t)
	if fmt.Sprint(b.Runs) != fmt.Sprint(again.Runs) {
		t.Error("the same seed draws other trials")
	}
	counts := map[any]int{}
	for _, r := range b.Runs {
		log, uniform := r.Settings["a.log"].(float64), r.Settings["a.uniform"].(float64)
		if log < 1e-5 || log > 1e-1 || uniform < 0.5 || uniform > 2 {
			t.Errorf("outside the ranges: %v", r.Settings)
		}
		counts[log < 1e-3]++
		counts[r.Settings["a.whole"]]++
		counts[r.Settings["a.text"]]++
	}
	for _, v := range []any{true, false, 2, 3, 4, "x", "y"} { // true: below the middle of the logarithmic range
		if counts[v] < 40 || v == true && counts[v] > 125 {
			t.Errorf("%v is drawn %d times of 200", v, counts[v])
		}
	}
}

func TestSweepWrongUse(t *testing.T) {
	here(t, "pole.yaml", short)
	var calls [][2]string
	for i, x := range [][2]string{
		{"", `"parameters" is null: want settings with their values`},
		{"method: bayes, parameters: {seed: [1]}", `"method" is "bayes": want grid`},
		{"program: train.py, parameters: {seed: [1]}", "leave it out, and give config: FILE"},
		{"parameters: {agent.learning_rate: {min: 1, max: 2}}", "a grid needs values"},
		{"method: random, parameters: {agent.learning_rate: [1]}", `"trials" is 0: want 1 or more`},
		{"method: random, trials: 2, parameters: {agent.a: {min: 0, max: 2, distribution: log_uniform_values}}",
			"above 0 for log_uniform_values"},
		{"parameters: {agent.learning_rat: [1]}", `did you mean "agent.learning_rate"?`},
		{"parameters: {agent.learning_rate: [1.0e-3, -1]}", "trial-002: "},
		{"metric: {goal: high}, parameters: {agent.learning_rate: [1]}", `"metric.goal" is "high"`},
	} {
		name := fmt.Sprintf("%d.yaml", i)
		write(t, name, "{config: pole.yaml, "+x[0]+"}")
		calls = append(calls, [2]string{"sweep " + name, x[1]})
	}
	refuses(t, commandline.WrongUse, calls)
}
