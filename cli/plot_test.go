package cli

import (
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
	const raw, shaped, loss = "Episode / return", "Reward / Total reward (mean)", "Loss / Value loss"
	own := record{scalars: []tracking.Scalar{{Tag: loss}, {Tag: raw}, {Tag: shaped}}}
	skrls := record{scalars: []tracking.Scalar{{Tag: loss}, {Tag: shaped}}}
	same(t, "gorl's tags", []string{raw, loss}, get(tags([]record{own}, nil))(t))
	same(t, "skrl's tags", []string{shaped, loss}, get(tags([]record{skrls}, nil))(t))
	same(t, "both", []string{raw, shaped, loss}, get(tags([]record{own, skrls}, nil))(t))
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
		{"--tag reward* --tag *total* --tag 'Loss / *' runs", "4 panels of 2 runs\n"},
		{"-x time runs/slow", ""},
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
	// Event files and JSON lines are runs, too. A file is named after its folder.
	events := globbed(t, in("runs/fast/events*"), 1)
	matches(t, says(t, "plot", "--list", "-t", "*policy*", events[0], in("runs/slow/scalars.jsonl")), `(?m)^fast`,
		`(?m)^slow`, `Loss / Policy loss +20 +1 +20 +-1 +-0.05 +-1 +-0.05\n`)
}

func TestPlotRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	tracked(t, "run", 1, time.Minute)
	must(t, os.MkdirAll("population/000", 0o755))
	write(t, "population/000/journal.jsonl", "")
	refuses(t, commandline.WrongUse, [][2]string{
		{"plot --smooth NaN run", "--smooth is NaN"}, {"plot --out a.svg run", "ends in .png"},
	})
	refuses(t, commandline.Failed, [][2]string{
		{"plot --tag nonesuch run", "no tag matches"}, {"plot population", "population has no runs"},
	})
	// Of a damaged run the part before the damage is drawn, with a note. A run that has just begun is left out.
	good := `{"time":1,"step":1,"tag":"a","value":2}` + "\n"
	for name, lines := range map[string]string{"damaged": good + "{\n" + good, "begun": `{"ti`} {
		must(t, os.Mkdir("population/"+name, 0o777))
		write(t, "population/"+name+"/scalars.jsonl", lines)
	}
	_, said := gorl(t, 0, "plot", "population")
	has(t, said, "the run is left out", "what stands before that is used")
}
