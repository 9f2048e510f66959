package cli

import (
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// Values that a tracker has not received are named at the end of a run, with the command that sends them, once.
func TestSync(t *testing.T) {
	here(t, "c.yaml", poles+"models: {mlp: [8]}\ntrainer: {timesteps: 32, write_interval: 8, directory: runs, "+
		"name: pole, trackers: [heard: {deaf: true}]}\n")
	_, stderr := gorl(t, 0, "train", "-c", "c.yaml", "-q")
	matches(t, stderr, `tracker heard: it has not received (\d+) of the run's \d+ values. `+
		`To send them: gorl sync \S+/runs/pole`)
	_, stderr = gorl(t, 1, "sync", "runs/pole")
	matches(t, stderr, `tracker heard: it is deaf.*0 values and 0 files were sent`)
	for _, want := range []string{`^heard: [1-9]\d+ values and 0 files sent\n$`,
		`^heard: 0 values and 0 files sent\n$`} {
		heard.runs = map[string]*heardRun{}
		stdout, _ := gorl(t, 0, "sync", "runs/pole", "-s", "trainer.trackers=[heard]")
		matches(t, stdout, want)
		if run := heard.runs["pole"]; run != nil && (len(run.steps["Episode / return"]) == 0 ||
			at(run.Config, "agent.class") != "PPO") {
			t.Errorf("the tracker got %+v", run)
		}
	}
	write(t, "p.yaml", crew)
	gorl(t, 0, "train", "-c", "p.yaml", "-q")
	// Members have the counts of a single run, so that their curves have its axes.
	list := get(gather([]string{"runs/crew"}, os.Stderr))(t)
	if len(list) != 3 {
		t.Errorf("%d members have curves", len(list))
	}
	checkAxes(t, list, "episode.return", map[string]float64{"steps": 1536, "timesteps": 384, "updates": 24})
	must(t, os.Mkdir("empty", 0o700))
	refuses(t, commandline.WrongUse, [][2]string{
		{"sync empty", "empty has no run.yaml"},
		{"sync runs/pole -s trainer.trackers=[]", "runs/pole has no trackers"},
	})
}
