package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/test/commandtest"
	"github.com/gorl-dev/gorl/tracking"
)

// tracked writes a run of a few tags, whose values are factor times the step.
func tracked(t *testing.T, dir string, factor float64, each time.Duration) {
	t.Helper()
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	run := get(tracking.OpenRun(dir, tracking.Options{Now: func() time.Time { return now }}))(t)
	for step := int64(1); step <= 20; step++ {
		now = now.Add(each)
		run.Scalar("Reward / Total reward (mean)", step, factor*float64(step))
		run.Scalar("Reward / Total reward (max)", step, 2*factor*float64(step))
		run.Scalar("Loss / Policy loss", step, -factor/float64(step))
		run.Scalar("Loss / Value loss", step, factor/float64(step*step))
		run.Scalar("Stats / Inference time (ms)", step, 1)
	}
	must(t, run.Close())
}

// Without --tag the raw returns are drawn, and those that agents were given only of runs that have no others.
func TestPlotsRawReturns(t *testing.T) {
	scalars := func(tags ...string) (list []tracking.Scalar) {
		for _, tag := range tags {
			list = append(list, tracking.Scalar{Tag: tag, Step: 1, Value: 1})
		}
		return list
	}
	const raw, shaped, loss = "Episode / return", "Reward / Total reward (mean)", "Loss / Value loss"
	own := record{name: "own", scalars: scalars(loss, raw, shaped)}
	skrls := record{name: "skrl's", scalars: scalars(loss, shaped)}
	for want, records := range map[string][]record{
		raw + "|" + loss:                {own},
		shaped + "|" + loss:             {skrls},
		raw + "|" + shaped + "|" + loss: {own, skrls},
	} {
		if got, err := tags(records, nil); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q are drawn, want %q (%v)", got, want, err)
		}
	}
	if got, err := tags([]record{own}, []string{"*reward*"}); err != nil || len(got) != 1 || got[0] != shaped {
		t.Errorf("%q are drawn where asked for: %v", got, err)
	}
}

func TestPlotList(t *testing.T) {
	dir := t.TempDir()
	tracked(t, filepath.Join(dir, "slow"), 1, time.Minute)
	said := says(t, "plot", "--list", filepath.Join(dir, "slow"))
	rows := strings.Split(strings.TrimSpace(said), "\n")
	if len(rows) != 2+5 || strings.Join(strings.Fields(rows[0]),
		" ") != "tag values from step to step first last min max" ||
		strings.Join(strings.Fields(rows[2]), " ") != "Loss / Policy loss 20 1 20 -1 -0.05 -1 -0.05" {
		t.Errorf("it lists\n%s", said)
	}
	if few := says(t, "plot", "--list", "--tag", "*reward (m?x)",
		dir); len(strings.Split(strings.TrimSpace(few), "\n")) != 3 {
		t.Errorf("it lists\n%s", few)
	}
}

// A picture has a panel for each tag and a colour for each run, and its flags change it.
func TestPlot(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	tracked(t, in("runs/slow"), 1, time.Minute)
	tracked(t, in("runs/fast"), 3, time.Second)
	seen := map[string]string{}
	for _, x := range []struct{ args, said string }{
		{"runs/slow", "3 panels of 1 run\n"}, {"runs", "3 panels of 2 runs\n"}, {"--smooth 0.9 runs/slow",
			"3 panels of 1 run\n"},
		{"--columns 1 --tag reward* --tag *total* --tag 'Loss / *' runs", "4 panels of 2 runs\n"},
		{"-x time runs/slow", ""}, {"--title other runs/slow", ""},
		{"--tag '*value loss' runs/slow", ""}, {"--tag '*value loss' --log loss* runs/slow", ""},
	} {
		words := commandtest.Words(x.args)
		words[len(words)-1] = in(words[len(words)-1])
		said := says(t, append([]string{"plot", "--out", in("plot.png")}, words...)...)
		picture := text(in("plot.png"))
		if !strings.HasSuffix(said, x.said) || !strings.HasPrefix(picture, "\x89PNG") {
			t.Errorf("%s: it says %q", x.args, said)
		}
		if other, taken := seen[picture]; taken {
			t.Errorf("%s draws the same as %s", x.args, other)
		}
		seen[picture] = x.args
	}
	// A logarithmic axis without anything above 0 stays linear.
	below := []string{"plot", "--tag", "*policy loss", in("runs/slow"), "--out"}
	says(t, append(below, in("a.png"))...)
	says(t, append(below, in("b.png"), "--log", "loss*")...)
	if text(in("a.png")) != text(in("b.png")) {
		t.Error("--log hides a curve below 0")
	}
	// Event files and JSON lines are runs, too. A file is named after its folder.
	events := globbed(t, in("runs/fast/events*"), 1)
	said := says(t, "plot", "--list", "-t", "*mean*", events[0], in("runs/slow/scalars.jsonl"))
	if strings.Count(said, "fast") != 1 || strings.Count(said, "slow") != 1 {
		t.Errorf("it lists\n%s", said)
	}
}

func TestPlotRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	tracked(t, "run", 1, time.Minute)
	many := ""
	for i := range 30 {
		many += fmt.Sprintf(`{"time":1,"step":1,"tag":"tag %d","value":2}`+"\n", i)
	}
	write(t, "many.jsonl", many)
	must(t, os.MkdirAll("population/000", 0o755))
	write(t, "population/000/journal.jsonl", "")
	write(t, "bad.jsonl", "{\n{\n")
	refuses(t, commandline.WrongUse, [][2]string{
		{"plot --smooth NaN run", "--smooth is NaN"}, {"plot --columns -1 run", "--columns is -1"},
		{"plot --out a.svg run", "ends in .png"}, {"plot many.jsonl", "there are 30 tags: choose some with --tag"},
	})
	refuses(t, commandline.Failed, [][2]string{
		{"plot --tag nonesuch run", "no tag matches"}, {"plot bad.jsonl", "bad.jsonl"},
		{"plot population", "population has no runs"},
	})
	// Of a damaged run the part before the damage is drawn, with a note. A run that has just begun is left out.
	good := `{"time":1,"step":1,"tag":"a","value":2}` + "\n"
	for name, lines := range map[string]string{"half": good + `{"time":`, "damaged": good + "{\n" + good,
		"begun": `{"ti`} {
		must(t, os.Mkdir("population/"+name, 0o777))
		write(t, "population/"+name+"/scalars.jsonl", lines)
	}
	status, _, said := use(t.Context(), "plot", "population")
	if status != commandline.Done || strings.Count(said, "note: ") != 2 ||
		!strings.Contains(said, "the run is left out") || !strings.Contains(said, "what stands before that is used") {
		t.Errorf("it ends with %d and says %q", status, said)
	}
}
