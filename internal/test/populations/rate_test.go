package populations

import (
	"context"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// scripted is agenttest's world as an environment.
type scripted struct {
	sp      spaces.Set
	seeds   []int64
	world   *agenttest.World
	returns []float64
	lengths []int
}

func newScripted(sp spaces.Set, n int, seed int64) *scripted {
	return &scripted{sp: sp, seeds: agenttest.Seeds(seed, n)}
}

func (s *scripted) NumEnvs() int       { return len(s.seeds) }
func (s *scripted) Spaces() spaces.Set { return s.sp }
func (s *scripted) Close() error       { return nil }

func (s *scripted) Reset(int64) (*envs.Step, error) {
	s.world = agenttest.NewWorld(s.sp, s.seeds...)
	s.returns, s.lengths = make([]float64, len(s.seeds)), make([]int, len(s.seeds))
	return &envs.Step{Observations: s.world.Now().Observations}, nil
}

func (s *scripted) Step(actions []float32) (*envs.Step, error) {
	t := s.world.Step(actions)
	out := &envs.Step{Observations: t.NextObservations, Rewards: t.Rewards, Terminated: t.Terminated, Truncated: t.Truncated,
		FinalObservations: t.FinalObservations, AMPObservations: t.AMPObservations}
	for i := range s.seeds {
		s.returns[i] += float64(t.Rewards[i])
		s.lengths[i]++
		if t.Terminated[i] || t.Truncated[i] {
			out.Episodes = append(out.Episodes, envs.Episode{Env: i, Return: s.returns[i], Length: s.lengths[i]})
			s.returns[i], s.lengths[i] = 0, 0
		}
	}
	return out, nil
}

// learner is an agent whose learning rate can be read from its optimizer.
type learner interface {
	agenttest.Agent
	LearningRate() float64
}

// realColony is a population of gorl's own agents.
type realColony struct {
	opt    pbt.Options
	agents []learner
	envs   []*scripted
}

func newRealColony(t *testing.T, members int, sp spaces.Set, make func(m pbt.Member) learner) *realColony {
	c := &realColony{}
	c.opt = pbt.Options{
		Members: members, Objective: "episode.return", IntervalSteps: 2 * 21, TotalSteps: 2 * 60, Seed: 3, Parallel: 1, // 2 environments, rollouts of 8
		New: func(m pbt.Member) (pbt.Trainee, error) {
			env, agent := newScripted(sp, 2, int64(100*m.ID)), make(m)
			c.agents, c.envs = append(c.agents, agent), append(c.envs, env)
			build := func() (agents.Agent, error) { return agent, nil }
			return trainers.NewTrainee(env, build, trainers.Config{SaveBuffers: true, Seed: m.Seed})
		},
	}
	return c
}

// place is what an agent is.
type place struct {
	snapshot *checkpoint.Snapshot
	rate     float64 // in its optimizer
	base     float64 // as a hyperparameter
}

func (c *realColony) placesOf(t *testing.T) []place {
	t.Helper()
	var all []place
	for _, a := range c.agents {
		all = append(all, place{agenttest.Snapshot(t, a), a.LearningRate(), a.Hyperparameters()["learning_rate"]})
	}
	return all
}

// TestLearningRateAfterReplacement: what is in the optimizer after a copy is the mutated rate, not the one that came with
// the weights; a schedule scales it as far as it is inherited.
func TestLearningRateAfterReplacement(t *testing.T) {
	ppoOf := func(settings map[string]any) func(t *testing.T) func(m pbt.Member) learner {
		return func(t *testing.T) func(m pbt.Member) learner {
			return func(m pbt.Member) learner { return smallPPO(t, boxed, m.Seed, settings) }
		}
	}
	adaptive := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": 1e-8, "min_lr": 1e-9}}
	for name, test := range map[string]struct {
		sp       spaces.Set
		make     func(t *testing.T) func(m pbt.Member) learner
		schedule pbt.Part
	}{
		"PPO":                                {boxed, ppoOf(nil), pbt.CopyPart},
		"PPO, KLAdaptive copied":             {boxed, ppoOf(adaptive), pbt.CopyPart},
		"PPO, KLAdaptive kept":               {boxed, ppoOf(adaptive), pbt.KeepPart},
		"PPO, KLAdaptive from its beginning": {boxed, ppoOf(adaptive), pbt.ResetPart},
		"AMP": {styled, func(t *testing.T) func(m pbt.Member) learner {
			return func(m pbt.Member) learner { return smallAMP(t, m.Seed, nil) }
		}, pbt.CopyPart},
		"AMP, KLAdaptive copied": {styled, func(t *testing.T) func(m pbt.Member) learner {
			return func(m pbt.Member) learner { return smallAMP(t, m.Seed, adaptive) }
		}, pbt.CopyPart},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			c := newRealColony(t, 3, test.sp, test.make(t))
			c.opt.Strategy = decided{{Member: 2, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "test"}, {Member: 1, Action: strategy.SelfMutate}}
			c.opt.Explore = explore.Mutation{Rate: 1, ChangeRange: [2]float64{1.5, 1.7}, Rules: explore.Rules{"learning_rate": explore.MutateFloat}}
			c.opt.Initial = []map[string]float64{{"learning_rate": 2e-3}, {"learning_rate": 4e-3}, {"learning_rate": 1e-4}}
			c.opt.Copy.Schedule = test.schedule
			var before, after []place
			checked := 0
			c.opt.Progress = func(u pbt.Update) {
				switch {
				case u.Event == nil && u.Iteration == 1 && u.Status.Member == 2:
					before = c.placesOf(t)
				case u.Event != nil && u.Iteration == 1 && after == nil:
					after = c.placesOf(t)
				}
				if u.Event == nil || u.Iteration != 1 || u.Event.Kind == journal.Keep {
					return
				}
				checked++
				id := u.Event.Member
				scheduled := map[strategy.Action]place{strategy.Replace: before[0], strategy.SelfMutate: before[1]}[strategy.Action(u.Event.Kind)]
				if test.schedule == pbt.KeepPart {
					scheduled = before[id]
				}
				factor := scheduled.rate / scheduled.base
				if test.schedule == pbt.ResetPart && id == 2 {
					factor = 1
				}
				mutated := u.Event.After["learning_rate"]
				if a := after[id]; a.base != mutated || math.Abs(a.rate/(mutated*factor)-1) > 1e-12 {
					t.Errorf("member %d trains at %v with a learning rate of %v, want %v times %v", id, a.rate, a.base, mutated, factor)
				}
				old := before[id].base
				if id == 2 {
					old = before[0].base
				}
				if ratio := math.Abs(math.Log(mutated / old)); ratio < math.Log(1.5)-1e-9 || ratio > math.Log(1.7)+1e-9 {
					t.Errorf("member %d went from %v to %v", id, old, mutated)
				}
			}
			p, err := pbt.New(c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Train(context.Background()); err != nil {
				t.Error(err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if checked != 2 {
				t.Fatalf("%d members were looked at", checked)
			}
			// The copied rollout ends where the member's own episodes go on.
			if d := agenttest.Differences(before[0].snapshot, after[2].snapshot, "random", "hyperparameters", "scheduler_state", "learning_rate",
				layout.Rollout("truncated"), layout.Rollout("final_values")); len(d) > 0 {
				t.Errorf("beside hyperparameters the copy differs in %q", d)
			}
			if name != "PPO" && name != "AMP" && before[0].rate == before[0].base {
				t.Error("the schedule did nothing: this shows little")
			}
		})
	}
}
