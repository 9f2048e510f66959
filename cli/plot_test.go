package cli

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/tracking"
)

// tracked writes a run of a few tags, whose values are factor times the step.
func tracked(t *testing.T, dir string, factor float64, each time.Duration) {
	t.Helper()
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	run, err := tracking.OpenRun(dir, tracking.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for step := int64(1); step <= 20; step++ {
		now = now.Add(each)
		run.Scalar("Reward / Total reward (mean)", step, factor*float64(step))
		run.Scalar("Reward / Total reward (max)", step, 2*factor*float64(step))
		run.Scalar("Loss / Policy loss", step, -factor/float64(step))
		run.Scalar("Loss / Value loss", step, factor/float64(step*step))
		run.Scalar("Stats / Inference time (ms)", step, 1)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}

func picture(t *testing.T, path string) image.Image {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// ink counts the pixels of a colour.
func ink(img image.Image, c color.NRGBA) (n int) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if color.NRGBAModel.Convert(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

var (
	blue     = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	paleBlue = color.NRGBA{0xbf, 0xdb, 0xeb, 0xff}
	orange   = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
)

// Without --tag the raw returns are drawn, and those that agents were given only of runs that have no others.
func TestPlotsRawReturns(t *testing.T) {
	scalars := func(tags ...string) (list []tracking.Scalar) {
		for _, tag := range tags {
			list = append(list, tracking.Scalar{Tag: tag, Step: 1, Value: 1})
		}
		return list
	}
	const raw, shaped, loss = "Episode / return", "Reward / Total reward (mean)", "Loss / Value loss"
	own, skrls := record{"own", scalars(loss, raw, shaped)}, record{"skrl's", scalars(loss, shaped)}
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

func TestPlot(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	tracked(t, in("runs/slow"), 1, time.Minute)
	tracked(t, in("runs/fast"), 3, time.Second)

	if said := must(t, "plot", "--out", in("one.png"), in("runs/slow")); said != in("one.png")+": 3 panels of 1 run\n" {
		t.Errorf("it says %q", said)
	}
	one := picture(t, in("one.png"))
	if ink(one, blue) == 0 || ink(one, paleBlue) > 0 || ink(one, orange) > 0 {
		t.Error("a single run is not blue alone")
	}
	if said := must(t, "plot", "--smooth", "0.9", "--out", in("smooth.png"), in("runs/slow")); !strings.Contains(said, "3 panels") {
		t.Errorf("it says %q", said)
	}
	if smooth := picture(t, in("smooth.png")); ink(smooth, blue) == 0 || ink(smooth, paleBlue) == 0 || smooth.Bounds() != one.Bounds() {
		t.Error("a smoothed curve has no raw one behind it, or has a legend")
	}
	if said := must(t, "plot", "--out", in("two.png"), in("runs")); !strings.Contains(said, "3 panels of 2 runs") {
		t.Errorf("it says %q", said)
	}
	two := picture(t, in("two.png"))
	if ink(two, blue) == 0 || ink(two, orange) == 0 {
		t.Error("two runs do not have two colours")
	}
	// One column makes a higher picture, and a panel for every tag that is asked for.
	said := must(t, "plot", "--columns", "1", "-t", "reward*", "--tag", "*total*", "--tag", "Loss / *", "--out", in("column.png"), in("runs"))
	if column := picture(t, in("column.png")); !strings.Contains(said, "4 panels") || column.Bounds().Dy() <= two.Bounds().Dy() || column.Bounds().Dx() >= two.Bounds().Dx() {
		t.Errorf("%s, %v beside %v", said, column.Bounds(), two.Bounds())
	}
	// A logarithmic axis is another picture; where there is nothing above 0 it stays as it is.
	draw := func(name string, args ...string) string {
		must(t, append(append([]string{"plot", "--out", in(name)}, args...), in("runs/slow"))...)
		data, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if draw("a.png", "--tag", "*value loss") == draw("b.png", "--tag", "*value loss", "--log", "loss*") {
		t.Error("--log changes nothing")
	}
	if draw("a.png", "--tag", "*policy loss") != draw("b.png", "--tag", "*policy loss", "--log", "loss*") {
		t.Error("--log hides a curve below 0")
	}
	if draw("a.png") == draw("b.png", "--x", "time") || draw("a.png") == draw("b.png", "--title", "other") {
		t.Error("--x or --title changes nothing")
	}
	// Event files and CSV are runs too; a file is named after its folder.
	events, err := filepath.Glob(in("runs/fast/events*"))
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	if said := must(t, "plot", "--list", "-t", "*mean*", events[0], in("runs/slow/scalars.jsonl")); strings.Count(said, "fast") != 1 || strings.Count(said, "slow") != 1 {
		t.Errorf("it lists\n%s", said)
	}
}

func TestPlotList(t *testing.T) {
	dir := t.TempDir()
	tracked(t, filepath.Join(dir, "slow"), 1, time.Minute)
	said := must(t, "plot", "--list", filepath.Join(dir, "slow"))
	rows := strings.Split(strings.TrimSpace(said), "\n")
	if len(rows) != 2+5 || strings.Join(strings.Fields(rows[0]), " ") != "tag values from step to step first last min max" || strings.Join(strings.Fields(rows[2]), " ") != "Loss / Policy loss 20 1 20 -1 -0.05 -1 -0.05" {
		t.Errorf("it lists\n%s", said)
	}
	if few := must(t, "plot", "--list", "--tag", "*reward (m?x)", dir); len(strings.Split(strings.TrimSpace(few), "\n")) != 3 {
		t.Errorf("it lists\n%s", few)
	}
}

func TestPlotRefuses(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	tracked(t, in("run"), 1, time.Minute)
	csv, err := tracking.OpenCSV(in("table.csv"), tracking.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		csv.Scalar(fmt.Sprintf("tag %d", i), 1, 2)
	}
	if err := csv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in("empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("nothing.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("bad.jsonl"), []byte("{\n{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(in("population/000"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("population/000/journal.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out := in("out.png")
	wrong := commandline.WrongUse
	refuses(t, dir, []refusal{
		{[]string{"plot"}, wrong, "0 arguments: want the folder of a run"},
		{[]string{"plot", "--smooth", "1", in("run")}, wrong, "--smooth is 1"},
		{[]string{"plot", "--smooth", "NaN", in("run")}, wrong, "--smooth is NaN"},
		{[]string{"plot", "--columns", "-1", in("run")}, wrong, "--columns is -1"},
		{[]string{"plot", "--x", "epoch", in("run")}, wrong, "want step or time"},
		{[]string{"plot", "--out", in("a.svg"), in("run")}, wrong, "ends in .png"},
		{[]string{"plot", "--out", out, "--x", "time", "--tag", "tag 1", in("table.csv")}, wrong, "has no times"},
		{[]string{"plot", "--out", out, in("table.csv")}, wrong, "there are 30 tags: choose some with --tag"},
		{[]string{"plot", "--out", out, "--tag", "nonesuch", in("run")}, commandline.Failed, "no tag matches"},
		{[]string{"plot", "--out", out, in("nothing.jsonl")}, commandline.Failed, "there are no scalars"},
		{[]string{"plot", "--out", out, in("bad.jsonl")}, commandline.Failed, "bad.jsonl"},
		{[]string{"plot", "--out", out, in("empty")}, commandline.Failed, "has no runs"},
		{[]string{"plot", "--out", out, in("population")}, commandline.Failed, "gorl-pbt report " + in("population") + " draws it"},
		{[]string{"plot", "--out", out, in("nowhere")}, commandline.Failed, "nowhere"},
		{[]string{"plot", "--out", in("no/such/folder.png"), in("run")}, commandline.Failed, "folder.png"},
	})
	// What stands before a damaged place is drawn, and told; what a run has half written is not worth a word.
	good := `{"time":1,"step":1,"tag":"a","value":2}` + "\n"
	for text, note := range map[string]bool{good + "{\n" + good: true, good + `{"time":`: false} {
		if err := os.WriteFile(in("damaged.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := use(t.Context(), "plot", "--out", out, in("damaged.jsonl"))
		if status != commandline.Done || strings.Contains(stderr, "what stands before that is used") != note {
			t.Errorf("%q ends with %d and says %q", text, status, stderr)
		}
	}
}
