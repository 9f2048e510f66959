package trainers_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// TensorBoard reads of a run that was interrupted and resumed what the run's JSON lines say.
func TestPeersTensorBoard(t *testing.T) {
	python := peers.Python(t, "tensorboard")
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			began := time.Now()
			cfg := trainers.Config{Timesteps: 48, Directory: t.TempDir(), Name: "Läufer 1", WriteInterval: every(8), CheckpointInterval: every(16), Seed: 1}
			var dir string
			train := func() {
				t.Helper()
				trainer, done := sc.start(t, cfg)
				defer done()
				if err := trainer.Train(context.Background()); err != nil {
					t.Fatal(err)
				}
				dir = trainer.Dir()
			}
			train()
			if err := os.RemoveAll(filepath.Join(dir, "checkpoints", "agent_48")); err != nil { // the last values are those of nothing that was kept
				t.Fatal(err)
			}
			cfg.Timesteps, cfg.Resume = 80, true
			train()

			path := filepath.Join(t.TempDir(), "runs.json")
			peers.Run(t, python, filepath.Join("..", "tracking", "testdata", "accumulator.py"), dir, path)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var runs map[string]map[string][][3]any
			if err := json.Unmarshal(text, &runs); err != nil {
				t.Fatal(err)
			}
			got := runs["."]
			lines, err := tracking.ReadFile(filepath.Join(dir, tracking.ScalarsFile))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string][]tracking.Scalar{}
			for _, x := range lines {
				want[x.Tag] = append(want[x.Tag], x)
			}
			if len(runs) != 1 || len(got) != len(want) || len(want) < 10 {
				t.Fatalf("%d runs with %d tags, want one with %d", len(runs), len(got), len(want))
			}
			for tag, list := range want {
				if len(got[tag]) != len(list) {
					t.Errorf("%q: %d values, want %d", tag, len(got[tag]), len(list))
					continue
				}
				for i, x := range list {
					row := got[tag][i]
					at, value := hexadecimal(t, row[1]), hexadecimal(t, row[2])
					if int64(row[0].(float64)) != x.Step || math.Float64bits(value) != math.Float64bits(float64(float32(x.Value))) {
						t.Errorf("%q: value %d is %g at %v, want %g at %d", tag, i, value, row[0], x.Value, x.Step)
					}
					if at < float64(began.UnixMicro())/1e6 || at > float64(time.Now().UnixMicro())/1e6 {
						t.Errorf("%q: value %d was written at %f", tag, i, at)
					}
				}
			}
			if last := lines[len(lines)-1]; last.Step != 80 {
				t.Errorf("the last value is %v, want one of step 80", last)
			}
			t.Logf("%d tags, %d values: equal", len(want), len(lines))
		})
	}
}

func hexadecimal(t *testing.T, x any) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(x.(string), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
