package timeline_test

import (
	"context"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/timeline"
	"github.com/gorl-dev/gorl/trainers"
)

func cartPole(t *testing.T, seed int64) *trainers.Trainee {
	t.Helper()
	env := must.Get(classic.NewCartPole(classic.Config{NumEnvs: 4, Seed: seed}))(t)
	return must.Get(trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"), Seed: seed,
			Dict: map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2,
				"observation_preprocessor": "RunningStandardScaler"},
		})
	}, trainers.Config{Seed: seed}))(t)
}

// noting notes the hyperparameters before each timestep.
type noting struct {
	pbt.Trainee
	at map[int64]map[string]float64
}

func (n noting) Train(ctx context.Context, steps int64) error {
	n.at[n.Steps()] = n.Hyperparameters()
	return n.Trainee.Train(ctx, steps)
}

// Replayed from the founder's seed, every member's hyperparameters come again; weights that nobody ever replaced come
// again bit by bit.
func TestReplayOfPPO(t *testing.T) {
	p := must.Get(pbt.New(pbt.Options{
		Members: 2, Objective: "episode.length", IntervalSteps: 160, TotalSteps: 640, Seed: 3, Parallel: 2,
		Strategy: strategy.IsaacLab{ThresholdStd: 0.8},
		Explore: explore.Mutation{Rate: 1, Rules: explore.Rules{"learning_rate": explore.MutateFloat,
			"discount_factor": explore.MutateDiscount}},
		Sample: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 1e-2, Log: true}},
		New:    func(m pbt.Member) (pbt.Trainee, error) { return cartPole(t, m.Seed), nil },
	}))(t)
	defer p.Close()
	must.Get(p.Train(t.Context()))(t)
	h := must.Get(journal.NewHistory(p.Journal()))(t)
	copied, untouched := 0, 0
	for id := range 2 {
		s := must.Get(timeline.Extract(h, id))(t)
		replayed := cartPole(t, s.Seed)
		defer replayed.Close()
		got := map[int64]map[string]float64{}
		play(t, noting{replayed, got}, s)
		for steps, values := range got {
			for key, want := range s.At(min(steps, s.Steps-1)) {
				if values[key] != want {
					t.Errorf("member %d at step %d: %s is %v, want %v", id, steps, key, values[key], want)
				}
			}
		}
		was := p.Trainee(id)
		if replayed.Steps() != was.Steps() || len(got) < 50 {
			t.Errorf("member %d: %d steps told %d times, want %d steps", id, replayed.Steps(), len(got), was.Steps())
		}
		if len(h.Members[id].Copies) > 0 {
			copied++
			continue
		}
		untouched++
		a, b := must.Get(was.Snapshot())(t), must.Get(replayed.Snapshot())(t)
		must.Equal(t, "the arrays of a member that was never replaced", a.Arrays, b.Arrays)
	}
	if copied == 0 || untouched == 0 {
		t.Errorf("%d replaced and %d untouched members: the test shows nothing", copied, untouched)
	}
}
