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

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/trainers"
)

// Only a run that resumes writes into a folder that holds a run, and none into a population's.
func TestFoldersAreNotMixed(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string) error
		resume  bool
		want    string
	}{
		"figures": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "checkpoints")) }, false,
			"holds a run already; set Resume"},
		"a population": {func(dir string) error {
			file := filepath.Join(dir, "000", "journal.jsonl")
			return errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("{}\n"), 0o644))
		}, true, "holds a population"},
	} {
		cfg := run(t, 12)
		cfg.Resume, cfg.WriteInterval = false, every(4)
		dir := filepath.Join(cfg.Directory, cfg.Name)
		must(t, os.MkdirAll(filepath.Join(dir, "checkpoints"), 0o755)) // as a start that has failed at once leaves it
		train(t, scenes[0], cfg)
		must(t, c.prepare(dir))
		cfg.Resume = c.resume
		before := files(t, dir)
		tr, done := scenes[0].start(t, cfg)
		err := tr.Train(t.Context())
		if wantError(t, name, err, dir+" "+c.want); !errors.Is(err, fs.ErrExist) || files(t, dir) != before {
			t.Errorf("%s: error %v; files:\n%s\nwere\n%s", name, err, files(t, dir), before)
		}
		done()
	}
}

// The error of a cancelled run wraps the context's error and its cause.
func TestCause(t *testing.T) {
	cause := errors.New("the power is needed elsewhere")
	for name, call := range map[string]func(ctx context.Context, tr *trainers.Trainer) error{
		"Train":         func(ctx context.Context, tr *trainers.Trainer) error { return tr.Train(ctx) },
		"Trainee.Train": func(ctx context.Context, tr *trainers.Trainer) error { return tr.Trainee().Train(ctx, 400) },
		"Evaluate": func(ctx context.Context, tr *trainers.Trainer) error {
			_, err := tr.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 4})
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if err := call(ctx, scenes[0].open(t, trainers.Config{Timesteps: 100})); !errors.Is(err, cause) ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want one that wraps context.Canceled and the cause", name, err)
		}
	}
}

// The error by which a callback ends a run is kept, the first one if there are several. Step and a member's Train
// return it.
func TestStopReason(t *testing.T) {
	reason := fmt.Errorf("the loss is flat: %w", trainers.ErrStop)
	stopBy := func(err error) trainers.Callback {
		return after(func(tr *trainers.Trainer) error {
			if tr.Timestep() == 5 || tr.Timestep() > 20 {
				return err
			}
			return nil
		})[0]
	}
	tr := scenes[0].open(t, trainers.Config{Timesteps: 20, Callbacks: []trainers.Callback{stopBy(reason),
		stopBy(trainers.ErrStop)}})
	for _, x := range []struct {
		at     int64
		reason error
	}{{5, reason}, {20, nil}} {
		if err := tr.Train(t.Context()); err != nil || tr.Timestep() != x.at || tr.StopReason() != x.reason {
			t.Errorf("%v at timestep %d, because %v; want %+v", err, tr.Timestep(), tr.StopReason(), x)
		}
	}
	s, step := tr.Step(t.Context())
	member := tr.Trainee().Train(t.Context(), 100)
	if !errors.Is(step, trainers.ErrStop) || s == nil || !errors.Is(member, trainers.ErrStop) || tr.Timestep() != 22 {
		t.Errorf("Step: %v; a member: %v; at timestep %d", step, member, tr.Timestep())
	}
}

// Every method of a closed trainer that can fail returns an error, and the others do not panic.
func TestMethodsAfterClose(t *testing.T) {
	tr := scenes[0].open(t, trainers.Config{Timesteps: 4, Seed: 1})
	m := tr.Trainee()
	must(t, tr.Train(t.Context()))
	snap := value(tr.Snapshot())(t)
	must(t, errors.Join(tr.Close(), tr.Close()))
	_, step := tr.Step(t.Context())
	_, evaluation := tr.Evaluate(t.Context(), trainers.EvaluateOptions{})
	_, snapshot := tr.Snapshot()
	for what, err := range map[string]error{
		"Train": tr.Train(t.Context()), "Open": tr.Open(t.Context()), "Step": step, "Evaluate": evaluation,
		"Snapshot": snapshot, "Restore": tr.Restore(snap), "RestoreStatistics": tr.RestoreStatistics(snap),
		"SetHyperparameters": tr.SetHyperparameters(map[string]float64{"learning_rate": 1}),
		"Trainee.Train":      m.Train(t.Context(), 4), "Reseed": m.Reseed(1),
		"LimitEvaluation": m.LimitEvaluation(1, 1),
	} {
		wantError(t, what, err, "after Close")
	}
	tr.Metrics()
	tr.Samples("episode.return", 1)
	m.Plan(100)
	tr.Hyperparameters()
}

// While a trainer trains, every call that uses agent and environment is refused, and Close closes nothing.
func TestTrainerRefusesOverlap(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	g := &faulty{Env: newCartPoles(t), at: 2, fault: func(s *envs.Step) (*envs.Step, error) {
		close(entered)
		<-release
		return s, nil
	}}
	tr := sequential(t, g, smallPPO(t, g.Spaces(), 1, nil), trainers.Config{Timesteps: 8})
	member, ctx := tr.Trainee(), context.Background()
	trained := make(chan error)
	go func() { trained <- tr.Train(ctx) }()
	<-entered
	for name, call := range map[string]func() error{
		"Train":           func() error { return tr.Train(ctx) },
		"Step":            func() error { _, err := tr.Step(ctx); return err },
		"EvaluateMetrics": func() error { _, err := tr.EvaluateMetrics(ctx, 1, 1); return err },
		"Close":           tr.Close,
		"Trainee.Train":   func() error { return member.Train(ctx, 1) },
	} {
		want := "trainers: the trainer: " + strings.TrimPrefix(name, "Trainee.") + " was called while Train is running"
		if err := call(); !errors.Is(err, exclusive.ErrOverlap) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(release)
	if err := <-trained; err != nil || tr.Timestep() != 8 {
		t.Errorf("training ended with %v at timestep %d", err, tr.Timestep())
	}
	must(t, errors.Join(member.Close(), member.Close()))
}
