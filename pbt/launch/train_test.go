package launch

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/simulate"
)

// What a file says of processes reaches them.
func TestTrainTakesTheFilesPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "population.yaml")
	text := "pbt: {directory: " + dir +
		", workspace: w, objective: objective, interval_steps: 10, total_steps: 50, num_policies: 2, " +
		"synchronous: true, heartbeat: 7s, silence: 22s, lease_ttl: 23s, slack: 3, save_steps: 4, restart_process: " +
		"true}"
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	places := 0
	adjust := func(o *pbt.Options, p *pbt.ProcessOptions) {
		places++
		if o.SaveSteps != 4 || o.Slack != 3 || o.Asynchronous {
			t.Errorf("SaveSteps is %d, want 4, Slack %d, want 3, Asynchronous %t", o.SaveSteps, o.Slack, o.Asynchronous)
		}
		want := pbt.ProcessOptions{Member: p.Member, Store: p.Store, Heartbeat: 7 * time.Second,
			Silence: 22 * time.Second, RestartProcess: true, Experiment: "w"}
		if !reflect.DeepEqual(*p, want) {
			t.Errorf("the place is %+v, want %+v", *p, want)
		}
		o.Asynchronous = true // nobody else comes
	}
	synthetic, err := simulate.Config{Options: pbt.Options{Members: 2, IntervalSteps: 10, TotalSteps: 50}}.Population()
	must.Do(t, err)
	program := Program{Adjust: adjust, New: synthetic.New}
	if err := program.Train(t.Context(), Process{Config: path, Member: 0}); err != nil || places != 1 {
		t.Errorf("%d places, %v", places, err)
	}
}
