package trainers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// A run that is killed at any timestep and resumed writes the figures of an uninterrupted run, each once: also if it is
// killed before its first checkpoint, if updates overlap, and if figures are written at other timesteps than
// checkpoints.
func TestFiguresOfResumedRuns(t *testing.T) {
	for _, s := range []scene{scenes[0], overlapping[0]} {
		for _, interval := range []int{8, 5, 24} {
			dir := t.TempDir()
			cfg := trainers.Config{Timesteps: 52, Directory: dir, Name: "whole", Seed: 11, SaveBuffers: true,
				Resume:        true,
				WriteInterval: every(interval), CheckpointInterval: every(8), EvaluationInterval: every(20),
				EvaluationEpisodes: 4}
			killed := []int64{3, 11, 26, 40, 52}
			cfg.Callbacks = []trainers.Callback{trainers.StepFunc(func(tr *trainers.Trainer, _ *envs.Step) error {
				for _, at := range killed {
					if tr.Timestep() == at { // the files that a kill leaves
						return os.CopyFS(filepath.Join(dir, fmt.Sprint(at)), os.DirFS(tr.Dir()))
					}
				}
				return nil
			})}
			train(t, s, cfg)
			want := figures(t, filepath.Join(dir, "whole"))
			for _, at := range killed {
				resumed := cfg
				resumed.Name, resumed.Callbacks = fmt.Sprint(at), nil
				train(t, s, resumed)
				if d := cmp.Diff(want, figures(t, filepath.Join(dir, resumed.Name))); d != "" {
					t.Errorf("%s, written every %d timesteps, killed at %d: %s", s.name, interval, at, d)
				}
			}
		}
	}
}

// train runs a scene to its end.
func train(t *testing.T, s scene, cfg trainers.Config) {
	t.Helper()
	tr, done := s.start(t, cfg)
	defer done()
	must(t, tr.Train(t.Context()))
}

// figures returns a run's rows in order, without measured times.
func figures(t *testing.T, run string) (rows []string) {
	t.Helper()
	scalars := value(tracking.ReadRun(run))(t)
	for _, s := range scalars {
		if !strings.HasPrefix(s.Tag, "Stats / ") {
			rows = append(rows, fmt.Sprintf("%d %s %v", s.Step, s.Tag, s.Value))
		}
	}
	return rows
}
