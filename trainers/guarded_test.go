package trainers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/trainers"
)

// gated is an environment whose first Step waits.
type gated struct {
	envs.Env
	entered, release chan struct{}
}

func (g *gated) Step(actions []float32) (*envs.Step, error) {
	if g.entered != nil {
		close(g.entered)
		<-g.release
		g.entered = nil
	}
	return g.Env.Step(actions)
}

// While a trainer trains, every call that uses agent and environment is refused, and Close closes nothing.
func TestTrainerRefusesOverlap(t *testing.T) {
	checkLiveTensors(t)
	env, other := scenes[0].make(t)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	g := &gated{env, entered, make(chan struct{})}
	tr, err := trainers.New(g, smallPPO(t, env.Spaces(), 1, nil), trainers.Config{Timesteps: 8})
	if err != nil {
		t.Fatal(err)
	}
	member, ctx := tr.Trainee(), context.Background()
	trained := make(chan error)
	go func() { trained <- tr.Train(ctx) }()
	<-entered
	calls := map[string]func() error{
		"Train":           func() error { return tr.Train(ctx) },
		"Step":            func() error { _, err := tr.Step(ctx); return err },
		"Evaluate":        func() error { _, err := tr.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 1}); return err },
		"EvaluateMetrics": func() error { _, err := tr.EvaluateMetrics(ctx, 1, 1); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, exclusive.ErrOverlap) ||
			!strings.HasPrefix(err.Error(), "trainers: the trainer: "+name+" was called while Train is running") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, call := range map[string]func() error{"Trainer": tr.Close, "Trainee": member.Close,
		"Trainee.Train": func() error { return member.Train(ctx, 1) }} {
		if err := call(); !errors.Is(err, exclusive.ErrOverlap) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(g.release)
	if err := <-trained; err != nil || tr.Timestep() != 8 {
		t.Errorf("training ended with %v at timestep %d", err, tr.Timestep())
	}
	for range 2 {
		if err := member.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, call := range calls {
		if err := call(); err == nil || !strings.Contains(err.Error(), name+" was called after Close") {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
