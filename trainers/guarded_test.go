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
	entered := make(chan struct{})
	g := &gated{newCartPoles(t), entered, make(chan struct{})}
	tr := sequential(t, g, smallPPO(t, g.Spaces(), 1, nil), trainers.Config{Timesteps: 8})
	member, ctx := tr.Trainee(), context.Background()
	trained := make(chan error)
	go func() { trained <- tr.Train(ctx) }()
	<-entered
	for name, call := range map[string]func() error{
		"Train": func() error { return tr.Train(ctx) },
		"Step":  func() error { _, err := tr.Step(ctx); return err },
		"Evaluate": func() error {
			_,
				err := tr.Evaluate(ctx, trainers.EvaluateOptions{Episodes: 1})
			return err
		},
		"EvaluateMetrics": func() error { _, err := tr.EvaluateMetrics(ctx, 1, 1); return err },
		"Close":           tr.Close,
		"Trainee.Close":   member.Close,
		"Trainee.Train":   func() error { return member.Train(ctx, 1) },
	} {
		want := "trainers: the trainer: " + strings.TrimPrefix(name, "Trainee.") + " was called while Train is running"
		if err := call(); !errors.Is(err, exclusive.ErrOverlap) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(g.release)
	if err := <-trained; err != nil || tr.Timestep() != 8 {
		t.Errorf("training ended with %v at timestep %d", err, tr.Timestep())
	}
	must(t, errors.Join(member.Close(), member.Close()))
}
