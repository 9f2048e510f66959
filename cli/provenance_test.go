package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/tensor"
)

// Every start of a run is recorded with its program and machine, and a resume with the settings that it changes.
func TestProvenance(t *testing.T) {
	here(t, "pole.yaml", short)
	gorl(t, 0, "train", "-c", "pole.yaml", "-q")
	first := text("runs/pole/" + runfile.ProvenanceFile)
	gorl(t, 0, "train", "--resume", "runs/pole", "-q") // nothing is left to train, so that nothing is recorded
	gorl(t, 0, "train", "--resume", "runs/pole", "--timesteps", "128", "-s", "agent.learning_rate=1e-7", "-q")
	if all := text("runs/pole/" + runfile.ProvenanceFile); !strings.HasPrefix(all, first) {
		t.Errorf("the first start was not kept:\n%s", all)
	}
	var r inspection.Report
	must(t, json.Unmarshal([]byte(says(t, "inspect", "--json", "runs/pole")), &r))
	if len(r.Starts) != 2 {
		t.Fatalf("%d starts: %+v", len(r.Starts), r.Starts)
	}
	for i, s := range r.Starts {
		if s.Host != get(os.Hostname())(t) || s.Libtorch != tensor.TorchVersion() || s.Timestep != []int64{0, 96}[i] {
			t.Errorf("start %d is %+v", i, s)
		}
	}
	changed := map[string]string{}
	for _, c := range r.Starts[1].Changes {
		changed[c.Key] = strings.Trim(fmt.Sprint(c.Old), "[]") + " " + strings.Trim(fmt.Sprint(c.New), "[]")
	}
	if got := fmt.Sprint(changed); len(r.Starts[0].Changes) > 0 || got !=
		"map[agent.learning_rate:0.001 1e-07 trainer.timesteps:96 128]" {
		t.Errorf("changes are %s", got)
	}
	matches(t, says(t, "inspect", "-k", "", "runs/pole"), `(?m)^ +2 .* timestep 96 .*`+tensor.TorchVersion(),
		`(?m)^ +2  agent.learning_rate +\[?0.001\]? +\[?1e-07\]?$`)
}
