package cli

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// asChild makes processes that the command starts the command again.
func asChild(t *testing.T) { t.Setenv(beGorl, "1") }

// Several seeds train side by side below one folder. Each run is the run that --seed trains, and the table has all with
// their mean.
func TestTrainSeeds(t *testing.T) {
	here(t, "pole.yaml", short)
	gorl(t, 0, "train", "-c", "pole.yaml", "--seed", "4", "--name", "alone", "-q")
	asChild(t)
	matches(t, says(t, "train", "-c", "pole.yaml", "--seeds", "4,5", "--check"), `(?m)^seed: 4$`,
		`(?m)^  learning_epochs: 2`)
	stdout, stderr := gorl(t, 0, "train", "-c", "pole.yaml", "--seeds", "1,4,5..6", "--jobs", "2", "--name", "seeds")
	matches(t, stderr, `(?m)^runs/seeds: 4 runs, 2 side by side$`, `(?m)^seed-4 +100 %  384/384 .*return`)
	matches(t, stdout, `(?m)^run +timestep +episode.return`, `(?m)^seed-6 +96 +\d`, `(?m)^mean +96 +\d`,
		`(?m)^interquartile mean`, `gorl eval runs/seeds, gorl plot runs/seeds`)
	same(t, "seed 4 is another run than with --seed 4", loaded(t, "runs/alone/checkpoints/agent_96.safetensors"),
		loaded(t, "runs/seeds/seed-4/checkpoints/agent_96.safetensors"))
	// A link to a run is not another one.
	must(t, os.Symlink("seed-6", "runs/seeds/latest"))
	same(t, "the runs", 4, len(runsBelow("runs/seeds")))
	must(t, os.Remove("runs/seeds/latest"))
	// A longer run of all.
	stdout, _ = gorl(t, 0, "train", "--resume", "runs/seeds", "--timesteps", "128", "-q")
	if stdout != "runs/seeds\n" || len(loaded(t, "runs/seeds/seed-6/checkpoints/agent_128.safetensors")) == 0 {
		t.Errorf("going on says %q", stdout)
	}

	// Evaluation and curves join the seeds, and only these.
	gorl(t, 0, "train", "-c", "pole.yaml", "--seed", "1", "--name", "other", "-s", "agent.learning_rate=1e-2", "-q")
	var e struct {
		Groups []struct {
			Name    string
			Seeds   int
			Figures map[string]struct {
				Runs map[string]float64
				Mean struct{ Value, Low, High float64 }
			}
		}
	}
	stdout, _ = gorl(t, 0, "eval", "--json", "--episodes", "8", "runs/seeds")
	must(t, json.Unmarshal([]byte(stdout), &e))
	if len(e.Groups) != 1 || e.Groups[0].Name != "seeds" || e.Groups[0].Seeds != 4 {
		t.Fatalf("groups are %+v", e.Groups)
	}
	f := e.Groups[0].Figures["return"]
	mean := (f.Runs["seed-1"] + f.Runs["seed-4"] + f.Runs["seed-5"] + f.Runs["seed-6"]) / 4
	one := evaluated(t, "runs/seeds/seed-4", "--episodes", "8").Figures["return"].Mean
	if m := f.Mean; f.Runs["seed-4"] != one || !(m.Low <= m.Value && m.Value <= m.High) ||
		math.Abs(m.Value-mean) > 1e-9 {
		t.Errorf("%+v, and seed 4 alone %v", f, one)
	}
	stdout, _ = gorl(t, 0, "eval", "--episodes", "8", "--table", "markdown", "runs")
	matches(t, stdout, `^\| runs \| seeds \| return, mean \(95 % interval\) \|`, `(?m)^\| seeds \| 4 \| [\d.]+ \(`+
		`[\d.]+ to [\d.]+\) \|`, `(?m)^\| other \| 1 \| [\d.]+ \(- to -\) \|`)
	stdout, _ = gorl(t, 0, "eval", "--episodes", "8", "--table", "latex", "runs/seeds")
	matches(t, stdout, `^\\begin\{tabular\}\{lrllll\}`, `mean \(95 \\% interval\) &`, `\\\\\n\\hline\n\\end`)
	const seeds = "train -c pole.yaml --seeds "
	refuses(t, commandline.WrongUse, [][2]string{
		{seeds + "5..1", `"5..1" is not a seed or a range`}, {seeds + "1,1", "seed 1 is given twice"},
		{seeds + "1,2 --seed 3", "one of the two"}, {"train -c pole.yaml --jobs 2", "give --seeds"},
		{seeds + "1,2 --name seeds", "there is a run in runs/seeds already"},
		{"train --resume runs/seeds -s agent.learning_rate=1", "--set does not go with --resume runs/seeds"},
		{seeds + "1,2 -s 'pbt={total_steps: 64}'", "a population trains its members side by side itself"},
	})
}

// Ctrl-C saves all runs; --resume continues those that are unfinished, also if one of them has failed.
func TestTrainSeedsStops(t *testing.T) {
	here(t, "pole.yaml", short)
	asChild(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if found, _ := filepath.Glob("runs/pole/seed-*/checkpoints/*.json"); len(found) > 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	status, _, stderr := use(ctx, "train", "-c", "pole.yaml", "--seeds", "1..3", "--jobs", "2", "--timesteps",
		"1000000")
	if status != commandline.Stopped || !strings.Contains(stderr, "stopped with 0 of 3 runs finished; all are saved "+
		"in runs/pole. Go on with: gorl train --resume runs/pole") {
		t.Fatalf("it ends with %d and says\n%s", status, stderr)
	}
	must(t, os.MkdirAll("runs/pole/seed-1", 0o777))
	write(t, "runs/pole/seed-1/run.yaml", "agent: 3")
	status, _, stderr = use(t.Context(), "train", "--resume", "runs/pole", "--timesteps", "100")
	if status != commandline.Failed || !strings.Contains(stderr, "1 of 3 runs have not finished") ||
		!strings.Contains(stderr, "seed-1: exit status 2; its last lines:") {
		t.Errorf("with a damaged run it ends with %d and says\n%s", status, stderr)
	}
	must(t, os.RemoveAll("runs/pole/seed-1"))
	stdout, _ := gorl(t, 0, "train", "--resume", "runs/pole")
	matches(t, stdout, `(?m)^seed-1 +100 `, `(?m)^mean`)
}
