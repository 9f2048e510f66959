package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking"
)

// hostileName is the name of a run that would run a script if it became markup.
const hostileName = `<img src=x onerror="window.pwned=1">`

// servedRuns makes a folder of two runs of 50 values and a population, and returns it.
func servedRuns(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for k, name := range []string{"walk", hostileName} {
		run := get(tracking.OpenRun(filepath.Join(root, name), tracking.Options{StepsPerTimestep: 4}))(t)
		for i := range 50 {
			run.Scalar(tracking.TagReturn, int64(10*i), float64(i*(k+1)))
			run.Scalar("Loss / "+hostileName, int64(10*i), 1/float64(i+1))
		}
		must(t, run.Close())
		must(t, os.WriteFile(filepath.Join(root, name, runFile), fmt.Appendf(nil, "seed: %d\n"+
			"agent: {class: PPO, rollouts: 8}\nenvironment: {id: Walker}\ntrainer: {timesteps: 1000}\n", k), 0o644))
	}
	must(t, os.MkdirAll(filepath.Join(root, "crew", "000"), 0o755))
	write(t, filepath.Join(root, "crew", "000", journal.File), text("../pbt/report/testdata/small.jsonl"))
	return root
}

// The page in one file has runs, settings, curves and populations.
func TestServeExport(t *testing.T) {
	root := servedRuns(t)
	page := filepath.Join(t.TempDir(), "page.html")
	gorl(t, 0, "serve", root, "--export", page)
	_, after, _ := strings.Cut(text(page), `id="data">`)
	before, _, _ := strings.Cut(after, "</script>")
	var data struct {
		Runs     []struct{ ID, State string }
		Settings []struct{ Values map[string]string }
		Curves   map[string]struct {
			Panels []struct{ Curves []struct{ X []float64 } }
		}
		Populations map[string]struct{ Members int }
	}
	must(t, json.Unmarshal([]byte(before), &data))
	if len(data.Runs) != 3 || len(data.Settings) != 2 || data.Populations["crew"].Members != 4 ||
		len(data.Curves["seeds"].Panels[0].Curves) != 1 || len(data.Curves[""].Panels[0].Curves[0].X) != 50 {
		t.Errorf("%+v", data)
	}
	if strings.Contains(text(page), hostileName) {
		t.Error("a name became markup")
	}
}

func TestServeRefuses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, _, stderr := use(ctx, "serve", filepath.Join(t.TempDir(), "none")); status == commandline.Done {
		t.Errorf("a folder that is not there: %s", stderr)
	}
	_, stdout, _ := use(ctx, "serve", t.TempDir(), "--address", "0.0.0.0", "--port", "0")
	if _, token, _ := strings.Cut(stdout, "/?token="); len(token) < 20 {
		t.Errorf("no token: %s", stdout)
	}
}
