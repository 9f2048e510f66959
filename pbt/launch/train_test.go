package launch

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt"
)

// walker is a trainee whose objective grows with its steps, at the rate of its talent.
type walker struct{ steps, talent int64 }

func (w *walker) Train(_ context.Context, steps int64) error { w.steps += steps; return nil }
func (w *walker) Steps() int64                               { return w.steps }
func (w *walker) Close() error                               { return nil }
func (w *walker) Hyperparameters() map[string]float64 {
	return map[string]float64{"learning_rate": 0.1}
}
func (w *walker) SetHyperparameters(map[string]float64) error { return nil }
func (w *walker) Metrics() map[string]float64 {
	return map[string]float64{"episode.return": float64(w.steps * w.talent)}
}
func (w *walker) Snapshot() (*checkpoint.Snapshot, error) {
	return &checkpoint.Snapshot{Values: map[string]any{"steps": w.steps}}, nil
}
func (w *walker) Restore(s *checkpoint.Snapshot) (err error) {
	w.steps, err = s.Int("steps")
	return err
}

// What a file says of processes reaches them.
func TestTrainTakesTheFilesPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "population.yaml")
	text := "pbt: {directory: " + dir +
		", workspace: w, objective: episode.return, interval_steps: 10, total_steps: 50, num_policies: 2, " +
		"synchronous: true, heartbeat: 7s, silence: 22s, lease_ttl: 23s, slack: 3, save_steps: 4, restart_process: " +
		"true}"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	places := 0
	adjust := func(o *pbt.Options, p *pbt.ProcessOptions) {
		places++
		if o.SaveSteps != 4 || o.Slack != 3 || o.Asynchronous {
			t.Errorf("SaveSteps is %d, want 4, Slack %d, want 3, Asynchronous %t", o.SaveSteps, o.Slack, o.Asynchronous)
		}
		want := pbt.ProcessOptions{
			Member: p.Member, Store: p.Store, Heartbeat: 7 * time.Second, Silence: 22 * time.Second,
			RestartProcess: true,
			Experiment:     "w",
		}
		if !reflect.DeepEqual(*p, want) {
			t.Errorf("the place is %+v, want %+v", *p, want)
		}
		o.Asynchronous = true // nobody else comes
	}
	program := Program{Adjust: adjust, New: func(m pbt.Member) (pbt.Trainee, error) { return &walker{talent: 1}, nil }}
	if err := program.Train(t.Context(), Process{Config: path, Member: 0}); err != nil || places != 1 {
		t.Errorf("%d places, %v", places, err)
	}
}
