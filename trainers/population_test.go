package trainers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

// A population that tunes the environment's parameters and was interrupted goes on to the very journal of one that was
// not: members come back with the figures of their episodes, which an interval has only few of, with the parameters
// that wait, and with the curriculum. So it is with action masks, which every action must obey.
func TestPopulationResumes(t *testing.T) {
	t.Run("parameters", func(t *testing.T) {
		populationResumes(t, func() envs.Env { return lessons(t, 4, true) },
			map[string]explore.Range{"env.scale": {Low: 0.5, High: 2}})
	})
	t.Run("masks", func(t *testing.T) {
		populationResumes(t, func() envs.Env { return value(newConnectFour(4))(t) }, nil)
	})
}

func populationResumes(t *testing.T, newEnv func() envs.Env, sample map[string]explore.Range) {
	t.Helper()
	rules := explore.Rules{"learning_rate": explore.MutateFloat}
	for key := range sample {
		rules[key] = explore.MutateFloat
	}
	train := func(ctx context.Context, dir string, progress func(pbt.Update)) error {
		population, err := pbt.New(pbt.Options{
			Members: 3, Objective: "episode.return", IntervalSteps: 40, TotalSteps: 320, Seed: 5, Directory: dir,
			Parallel: 1, Progress: progress,
			Strategy: strategy.IsaacLab{},
			Explore:  explore.Mutation{Rate: 0.9, Rules: rules}, Sample: sample,
			New: func(m pbt.Member) (pbt.Trainee, error) {
				env := newEnv()
				build := func() (agents.Agent, error) { return smallPPO(t, env.Spaces(), m.Seed, nil), nil }
				return trainers.NewTrainee(env, build, trainers.Config{Seed: m.Seed, SaveBuffers: true})
			},
		})
		if err != nil {
			return err
		}
		_, err = population.Train(ctx)
		return errors.Join(err, population.Close())
	}
	recorded := func(dir string) []byte {
		events, err := journal.Read(dir)
		must(t, err)
		return fmt.Append(nil, events[1:])
	}
	whole, cut := t.TempDir(), t.TempDir()
	replaced := 0
	if err := train(context.Background(), whole, func(u pbt.Update) {
		if u.Event != nil && u.Event.Kind == journal.Replace {
			replaced++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if replaced < 3 {
		t.Errorf("only %d members were replaced", replaced)
	}
	for k, done := 1, false; !done; k++ { // every life lasts one interval and a bit
		ctx, cancel := context.WithCancel(context.Background())
		first := int64(0)
		err := train(ctx, cut, func(u pbt.Update) {
			if first == 0 {
				first = u.Iteration
			}
			if u.Iteration > first {
				cancel()
			}
		})
		cancel()
		if done = err == nil; !done && !errors.Is(err, context.Canceled) || k > 20 {
			t.Fatal(err)
		}
	}
	if a, b := recorded(whole), recorded(cut); !bytes.Equal(a, b) {
		t.Errorf("the journals differ:\n%s\n%s", a, b)
	}
	starts := value(runfile.Starts(cut))(t)
	if len(value(runfile.Starts(whole))(t)) != 1 || len(starts) < 3 {
		t.Errorf("the starts of the population are recorded as %+v", starts)
	}
	for i, s := range starts {
		if s.Interval != int64(i+1) || s.Libtorch != tensor.TorchVersion() || len(s.Command) == 0 {
			t.Errorf("start %d is recorded as %+v", i, s)
		}
	}
}

// Members that share an environment or an agent are refused before the population trains. (Networks that agents share
// are in TestNetworkBelongsToOneAgent of package agents.)
func TestPopulationSharesNothing(t *testing.T) {
	for _, what := range []string{"environment", "agent"} {
		env := lessons(t, 4, true)
		agent := smallPPO(t, env.Spaces(), 1, nil)
		refused(pbt.New(pbt.Options{Members: 2, Objective: "episode.return", IntervalSteps: 40, TotalSteps: 80,
			Parallel: 1, Strategy: strategy.IsaacLab{}, Explore: explore.Mutation{},
			New: func(m pbt.Member) (pbt.Trainee, error) {
				if what == "agent" {
					same := func() (agents.Agent, error) { return agent, nil }
					return trainers.NewTrainee(lessons(t, 4, true), same, trainers.Config{})
				}
				build := func() (agents.Agent, error) { return smallPPO(t, env.Spaces(), m.Seed, nil), nil }
				return trainers.NewTrainee(env, build, trainers.Config{})
			}}))(t, what, "members 0 and 1 have the same "+what)
		must(t, errors.Join(agent.Close(), env.Close()))
	}
}

// A population whose members cannot be evaluated is refused before anything is trained.
func TestPopulationChecksEvaluation(t *testing.T) {
	refused(pbt.New(pbt.Options{Members: 2, Objective: "episode.return", IntervalSteps: 64, TotalSteps: 128,
		Measure: pbt.Measure{EvaluationEpisodes: 4},
		New: func(m pbt.Member) (pbt.Trainee, error) {
			env, agent := scenes[0].make(t)
			return trainers.NewTrainee(&faulty{Env: env}, func() (agents.Agent, error) { return agent, nil },
				trainers.Config{})
		}}))(t, "no evaluation", "measure.evaluation_episodes", "(*trainers_test.faulty) cannot restore its state")
}
