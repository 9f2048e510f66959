package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/trainers"
)

// Only a run that goes on writes into a folder that holds a run, and none into a population's.
func TestFoldersAreNotMixed(t *testing.T) {
	checkLiveTensors(t)
	cfg := run(t, 12)
	cfg.Resume, cfg.WriteInterval = false, every(4)
	dir := filepath.Join(cfg.Directory, cfg.Name)
	if err := os.MkdirAll(filepath.Join(dir, "checkpoints"), 0o755); err != nil { // a start that has failed at once
		t.Fatal(err)
	}
	train(t, scenes[0], cfg)
	const taken = "holds a run already; set Resume"
	withoutCheckpoints := func() error { return os.RemoveAll(filepath.Join(dir, "checkpoints")) }
	withJournal := func() error {
		member := filepath.Join(dir, "000")
		return errors.Join(os.Mkdir(member, 0o755), os.WriteFile(filepath.Join(member, "journal.jsonl"), []byte("{}\n"), 0o644))
	}
	for name, c := range map[string]struct {
		prepare func() error
		resume  bool
		want    string
	}{
		"a run":        {func() error { return nil }, false, taken},
		"figures":      {withoutCheckpoints, false, taken},
		"a population": {withJournal, true, "holds a population"},
	} {
		if err := c.prepare(); err != nil {
			t.Fatal(err)
		}
		second := cfg
		second.Timesteps, second.Resume = 10, c.resume
		before := files(t, dir)
		tr, done := scenes[0].start(t, second)
		if err := tr.Train(t.Context()); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), dir+" "+c.want) {
			t.Errorf("%s: error %v, want one that names the folder and says %q", name, err, c.want)
		}
		if after := files(t, dir); after != before {
			t.Errorf("%s: files changed:\n%s\nwere\n%s", name, after, before)
		}
		done()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		train(t, scenes[0], cfg)
	}
}

// The error of a cancelled run is the context's and its cause's, whatever was cancelled.
func TestCause(t *testing.T) {
	checkLiveTensors(t)
	cause := errors.New("the power is needed elsewhere")
	for name, call := range map[string]func(ctx context.Context, tr *trainers.Trainer) error{
		"Train":         func(ctx context.Context, tr *trainers.Trainer) error { return tr.Train(ctx) },
		"Trainee.Train": func(ctx context.Context, tr *trainers.Trainer) error { return tr.Trainee().Train(ctx, 400) },
		"Evaluate": func(ctx context.Context, tr *trainers.Trainer) error {
			_, err := tr.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 4})
			return err
		},
	} {
		for _, early := range []bool{true, false} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cfg := trainers.Config{Timesteps: 100}
			cfg.Callbacks = after(func(*trainers.Trainer) error { cancel(cause); return nil })
			tr, done := scenes[0].start(t, cfg)
			if early || name == "Evaluate" {
				cancel(cause)
			}
			if err := call(ctx, tr); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v, want one that wraps context.Canceled and the cause", name, err)
			}
			cancel(nil)
			done()
		}
	}
}

// The error by which a callback ends a run is kept, the first one if there are several.
func TestStopReason(t *testing.T) {
	checkLiveTensors(t)
	reason := fmt.Errorf("the loss is flat: %w", trainers.ErrStop)
	ended := false
	cfg := trainers.Config{Timesteps: 20, Callbacks: append(after(func(tr *trainers.Trainer) error {
		if tr.Timestep() == 5 && !ended {
			return reason
		}
		return nil
	}), after(func(tr *trainers.Trainer) error {
		if tr.Timestep() == 5 && !ended {
			return trainers.ErrStop
		}
		return nil
	})...)}
	tr, done := scenes[0].start(t, cfg)
	defer done()
	if err := tr.Train(t.Context()); err != nil || tr.Timestep() != 5 || tr.StopReason() != reason {
		t.Errorf("%v at timestep %d, because %v; want %v", err, tr.Timestep(), tr.StopReason(), reason)
	}
	ended = true
	if err := tr.Train(t.Context()); err != nil || tr.Timestep() != 20 || tr.StopReason() != nil {
		t.Errorf("after the end: %v at timestep %d, because %v", err, tr.Timestep(), tr.StopReason())
	}
}

// Every method of a closed trainer, or member of a population, that can fail returns an error.
func TestMethodsAfterClose(t *testing.T) {
	checkLiveTensors(t)
	for _, name := range []string{"trainer", "trainee"} {
		env, agent := scenes[0].make(t)
		tr := sequential(t, env, agent, trainers.Config{Timesteps: 4, Seed: 1})
		m := tr.Trainee()
		if err := tr.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
		snap, err := tr.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		closing := tr.Close
		if name == "trainee" {
			closing = m.Close
		}
		if err := errors.Join(closing(), closing()); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
		_, step := tr.Step(t.Context())
		_, evaluation := tr.Evaluate(t.Context(), trainers.EvaluateOptions{})
		_, figures := tr.EvaluateMetrics(t.Context(), 1, 1)
		_, snapshot := tr.Snapshot()
		for what, err := range map[string]error{
			"Train": tr.Train(t.Context()), "Open": tr.Open(t.Context()), "Step": step, "Evaluate": evaluation,
			"EvaluateMetrics": figures, "Snapshot": snapshot, "Restore": tr.Restore(snap),
			"RestoreStatistics":  tr.RestoreStatistics(snap),
			"RestoreCurriculum":  tr.RestoreCurriculum(snap),
			"SetHyperparameters": tr.SetHyperparameters(map[string]float64{"learning_rate": 1}),
			"Trainee.Train":      m.Train(t.Context(), 4), "Reseed": m.Reseed(1), "LimitEvaluation": m.LimitEvaluation(1, 1),
		} {
			if err == nil || !strings.Contains(err.Error(), "after Close") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		tr.Metrics()
		tr.Samples("episode.return", 1)
		m.Plan(100)
		if name == "trainer" { // whose agent is open
			tr.Hyperparameters()
			if err := errors.Join(agent.Close(), env.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}
