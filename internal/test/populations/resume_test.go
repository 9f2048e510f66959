package populations

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/trainers"
)

// TestRealPopulationResumes interrupts a population of PPO agents with memory within intervals, rollouts and episodes,
// as a killed and restarted program does, and expects the journal of one that was not.
func TestRealPopulationResumes(t *testing.T) {
	agenttest.CheckLive(t)
	want, _ := untilTheEnd(t, -1)
	got, breaks := untilTheEnd(t, 83)
	if must.Equal(t, "the journal", want, got); breaks < 5 {
		t.Errorf("only %d interruptions", breaks)
	}
}

// untilTheEnd trains a population, and stops and continues it each time that so many steps of environments were made.
func untilTheEnd(t *testing.T, steps int) (text string, breaks int) {
	for dir := t.TempDir(); ; breaks++ {
		ctx, cancel := context.WithCancel(t.Context())
		left := steps
		count := trainers.StepFunc(func(*trainers.Trainer, *envs.Step) error {
			if left--; left == 0 {
				cancel()
			}
			return nil
		})
		p := must.Get(pbt.New(pbt.Options{
			Members: 3, Objective: "episode.length", Measure: pbt.Measure{Window: 8, Reducer: pbt.ReduceMedian},
			IntervalSteps: 4 * 45, TotalSteps: 4 * 200, Seed: 2, Parallel: 1, Directory: dir, Diversify: true,
			Strategy: strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.01},
			Explore: explore.Mutation{Rate: 1, Rules: explore.Rules{"learning_rate": explore.MutateFloat,
				"discount_factor": explore.MutateDiscount}},
			Copy: pbt.CopyOptions{Optimizer: pbt.DecayPart, MomentDecay: 0.5, Schedule: pbt.KeepPart},
			New: func(m pbt.Member) (pbt.Trainee, error) {
				env, err := classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 30})
				if err != nil {
					return nil, err
				}
				return trainers.NewTrainee(env, func() (agents.Agent, error) {
					return rememberingPPO(t, env.Spaces(), m.Seed), nil
				}, trainers.Config{SaveBuffers: true, Seed: m.Seed, Callbacks: []trainers.Callback{count}})
			},
		}))(t)
		_, err := p.Train(ctx)
		cancel()
		if closing := p.Close(); closing != nil || err != nil && !errors.Is(err, context.Canceled) || breaks > 50 {
			t.Fatal(err, closing)
		}
		if err != nil {
			continue
		}
		events := must.Get(journal.Read(dir))(t)
		replaced := 0
		for _, e := range events {
			if e.Kind == journal.Replace {
				replaced++
			}
		}
		if replaced < 3 {
			t.Errorf("only %d replacements: this shows little", replaced)
		}
		return fmt.Sprint(events[1:]), breaks
	}
}
