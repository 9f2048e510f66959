package agents_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// A rank's agent acts in a part of the environments that one process has all of. Nothing in these is random: rows,
// actions and rewards are functions of the update, the step and the environment, so that parts and whole can be
// compared.
const (
	ranksSteps, ranksEnvs, ranksEpochs, ranksBatches = 8, 8, 2, 2
	ranksObservation, ranksAction, ranksAMP          = 5, 2, 6
)

// numbers are n numbers that the others say which.
func numbers(n int, which ...uint64) []float32 {
	seed := uint64(7)
	for _, w := range which {
		seed = seed*1_000_003 + w
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// partOf is an agent that acts in the environments [first, first + envs) of all. parts is among how many ranks all of
// them are shared out, also where one process has them all.
type partOf struct {
	agent              onpolicy.Algorithm
	core               onpolicy.Parts
	policy             *told
	first, envs, parts int
	update, epoch      int
}

// newPart makes an agent whose networks begin with the given seed.
func newPart(algorithm string, g *distributed.Group, parts int, seed int64, dict map[string]any) (p *partOf,
	err error) {
	p = &partOf{envs: ranksEnvs / g.Size(), parts: parts}
	p.first = p.envs * g.Rank()
	sp := spaces.Set{Observation: spaces.Unbounded(ranksObservation), Action: spaces.Unbounded(ranksAction),
		AMPObservation: spaces.Unbounded(ranksAMP)}
	var m amp.Models
	if m.Policy, m.Value, err = ppo.MLPs(sp, []int{16}, "elu").Make(seed); err != nil {
		return nil, err
	}
	p.policy = &told{Policy: m.Policy}
	m.Policy = p.policy
	const scaler = "RunningStandardScaler"
	settings := map[string]any{"rollouts": ranksSteps, "learning_epochs": ranksEpochs, "mini_batches": ranksBatches,
		"learning_rate": 1e-3, "learning_rate_scheduler": "KLAdaptiveLR", "entropy_loss_scale": 0.01,
		"grad_norm_clip": 0.5, "learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": 0.004},
		"observation_preprocessor": scaler, "value_preprocessor": scaler}
	if algorithm == "amp" {
		settings["amp_observation_preprocessor"] = scaler
		if m.Discriminator, err = models.NewMLP(models.MLPConfig{Inputs: ranksAMP, Outputs: 1, Hidden: []int{16},
			Activation: "relu"}, seed+1); err != nil {
			return nil, err
		}
		p.agent, err = amp.New(amp.Options{Spaces: sp, NumEnvs: p.envs, Dict: both(dict, settings), Seed: 3,
			Motions: stillness(ranksAMP), Models: m, Group: g})
	} else {
		p.agent, err = ppo.New(ppo.Options{Spaces: sp, NumEnvs: p.envs, Dict: both(dict, settings), Seed: 3,
			Models: ppo.Models{Policy: m.Policy, Value: m.Value}, Group: g})
	}
	if err != nil {
		return nil, err
	}
	p.core = inside(p.agent, "Parts").Interface().(onpolicy.Parts)
	p.core.Shuffle = p.shuffle
	if algorithm == "amp" {
		inside(p.agent, "Draw").Set(reflect.ValueOf(&drawn{p}))
		p.core.NoReplays = true
	}
	return p, nil
}

// shuffle orders the rows so that a minibatch of one process has the rows of that minibatch of all its parts.
func (p *partOf) shuffle(s *tensor.Scope, _ int64) tensor.Tensor {
	own := ranksEnvs / p.parts // environments of a part
	perm := func(part int) []int {
		return rand.New(rand.NewPCG(uint64(1000*p.update+p.epoch), uint64(part))).Perm(ranksSteps * own)
	}
	var order []int64
	for m := range ranksBatches {
		for part := p.first / own; part*own < p.first+p.envs; part++ {
			all := perm(part)
			each := len(all) / ranksBatches
			for _, row := range all[m*each:][:each] {
				step, env := row/own, row%own
				order = append(order, int64(step*p.envs+part*own-p.first+env))
			}
		}
	}
	p.epoch++
	return tensor.From(s, order)
}

// drawn gives the discriminator rows that follow from the update and the minibatch: a part of those of one process.
type drawn struct{ p *partOf }

func (d *drawn) Begin(*tensor.Scope, int) {}

func (d *drawn) Rows(s *tensor.Scope, index int, n int64) (motion, replay tensor.Tensor) {
	return d.rows(s, index, n, 1), d.rows(s, index, n, 2)
}

func (d *drawn) rows(s *tensor.Scope, index int, n int64, kind uint64) tensor.Tensor {
	own := ranksEnvs / d.p.parts
	count := d.p.envs / own // parts that this agent has
	var all []float32
	for part := d.p.first / own; part < d.p.first/own+count; part++ {
		all = append(all, numbers(int(n)/count*ranksAMP, kind, uint64(d.p.update), uint64(d.p.epoch), uint64(index),
			uint64(part))...)
	}
	return tensor.From(s, all, n, ranksAMP)
}

// advance fills a rollout and updates.
func (p *partOf) advance(ctx context.Context) error {
	p.epoch = 0
	rows := func(width, step int, kind uint64) (out []float32) {
		for e := range p.envs {
			out = append(out, numbers(width, kind, uint64(p.update), uint64(step), uint64(p.first+e))...)
		}
		return out
	}
	for t := range ranksSteps {
		now := agents.Observation{Observations: rows(ranksObservation, t, 3)}
		p.policy.next = rows(ranksAction, t, 4)
		if _, err := p.agent.Act(now); err != nil {
			return err
		}
		step := agents.Transition{Rewards: rows(1, t, 5), Terminated: make([]bool, p.envs), Truncated: make([]bool,
			p.envs),
			NextObservations: rows(ranksObservation, t+1, 3), AMPObservations: rows(ranksAMP, t, 6)}
		step.FinalObservations = step.NextObservations
		for e := range p.envs {
			ended := (t+p.first+e+p.update)%7 == 0
			step.Terminated[e], step.Truncated[e] = ended && e%2 == 0, ended && e%2 == 1
		}
		if err := p.agent.Record(step); err != nil {
			return err
		}
	}
	if err := p.agent.Update(ctx); err != nil {
		return err
	}
	p.update++
	return nil
}

// state is what the agent has learned, and what it has tracked.
func (p *partOf) state() (*checkpoint.Snapshot, map[string]float64, error) {
	tracked := map[string]float64{}
	p.agent.Tracked(func(tag string, x float64) { tracked[tag] = x })
	snap, err := p.agent.Snapshot(agents.SnapshotOptions{})
	return snap, tracked, err
}

// onRanks runs f on size ranks, goroutines with a group each, and returns their errors. A rank that fails tells the
// others.
func onRanks(t *testing.T, size int, f func(g *distributed.Group) error) []error {
	t.Helper()
	cfg := distributed.DefaultConfig()
	cfg.Timeout = time.Minute
	groups := check.Get(distributed.Local(size, cfg))(t)
	errs := make([]error, size)
	var wait sync.WaitGroup
	for r, g := range groups {
		wait.Go(func() {
			defer g.Close()
			if errs[r] = f(g); errs[r] != nil {
				g.Leave(errs[r])
			}
		})
	}
	wait.Wait()
	return errs
}

// TestRanks trains an agent by one process with all environments, and by two and four ranks with a part each. After one
// update parameters, moments and scalers are the same but for rounding, and after fifty, through which rounding grows,
// the tracked losses. All ranks have the same of everything, bit for bit, although their networks began differently.
func TestRanks(t *testing.T) {
	for name, dict := range map[string]map[string]any{"ppo": nil, "amp": nil, "amp/differential": {
		"discriminator_mode": "differential", "amp_observation_preprocessor": "RunningMeanAbsScaler"}} {
		for _, size := range []int{2, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				const updates = 50
				algorithm, _, _ := strings.Cut(name, "/")
				type record struct {
					snaps   [updates]*checkpoint.Snapshot
					tracked [updates]map[string]float64
				}
				train := func(g *distributed.Group, out *record) error {
					p, err := newPart(algorithm, g, size, int64(11+100*g.Rank()), dict)
					if err != nil {
						return err
					}
					defer p.agent.Close()
					for u := range updates {
						if err := p.advance(t.Context()); err != nil {
							return err
						}
						if out.snaps[u], out.tracked[u], err = p.state(); err != nil {
							return err
						}
					}
					return nil
				}
				var one record
				must(t, train(nil, &one))
				ranks := make([]record, size)
				must(t, errors.Join(onRanks(t, size,
					func(g *distributed.Group) error { return train(g, &ranks[g.Rank()]) })...))
				own := func(name string) bool { // a rank's random numbers are its own
					return strings.Contains(name, "generator") || strings.Contains(name, "random")
				}
				for name := range one.snaps[0].Arrays {
					if own(name) {
						continue
					}
					d := golden.Error(values(t, ranks[0].snaps[0], name), values(t, one.snaps[0], name))
					check.Near(t, d, 0, 1e-6, "%s after one update, beside that of one process", name)
				}
				for u := range updates {
					for r := range ranks[1:] {
						for name, want := range ranks[0].snaps[u].Arrays {
							if got := ranks[r+1].snaps[u].Arrays[name]; !own(name) && !cmp.Equal(got, want) {
								t.Fatalf("after update %d rank %d has another %s than rank 0", u, r+1, name)
							}
						}
						check.Equal(t, fmt.Sprintf("figures of ranks 0 and %d", r+1), ranks[0].tracked[u],
							ranks[r+1].tracked[u])
					}
					for tag, want := range one.tracked[u] {
						got, ok := ranks[0].tracked[u][tag]
						if strings.HasPrefix(tag, "Loss") {
							check.Not(t, !ok, "%s is not tracked", tag)
							check.Near(t, got, want, 0.01*math.Abs(want)+1e-4, "update %d: %s", u, tag)
						}
					}
				}
			})
		}
	}
}

// TestRanksStopAlike lets one rank's policy move too far, or its losses become NaN: all ranks end their updates
// alike, and each says why.
func TestRanksStopAlike(t *testing.T) {
	// Rank 1 alone passes the threshold of the divergence; the mean of both passes it, too, some minibatches later.
	t.Run("kl_threshold", func(t *testing.T) {
		var steps [2]int64
		must(t, errors.Join(onRanks(t, 2, func(g *distributed.Group) error {
			p, err := newPart("ppo", g, 2, 5, map[string]any{"kl_threshold": 1e-6, "learning_rate": 0.01,
				"learning_epochs": 6})
			if err != nil {
				return err
			}
			defer p.agent.Close()
			if err := p.advance(t.Context()); err != nil {
				return err
			}
			snap, _, err := p.state()
			if err != nil {
				return err
			}
			steps[g.Rank()], err = snap.Int(layout.OptimizerSteps, layout.Optimizer)
			return err
		})...))
		check.Not(t, steps[0] != steps[1] || steps[0] < 1 || steps[0] >= 12, "steps of the ranks, of 12: %v", steps)
	})
	t.Run("NaN", func(t *testing.T) {
		must(t, errors.Join(onRanks(t, 2, func(g *distributed.Group) error {
			p, err := newPart("ppo", g, 2, 5, map[string]any{"value_preprocessor": nil})
			if err != nil {
				return err
			}
			defer p.agent.Close()
			before, _, err := p.state()
			if err != nil {
				return err
			}
			if g.Rank() == 1 {
				shuffle := p.core.Shuffle
				p.core.Shuffle = func(s *tensor.Scope, n int64) tensor.Tensor {
					s.Fill(p.core.Rollout.Tensor("returns"), math.NaN())
					return shuffle(s, n)
				}
			}
			failed := p.advance(t.Context())
			var diverged *agents.DivergedError
			if !errors.As(failed, &diverged) || !strings.Contains(failed.Error(), "rank 1") {
				return fmt.Errorf("rank %d: %w; want an error that names rank 1", g.Rank(), failed)
			}
			after, _, err := p.state()
			if err != nil {
				return err
			}
			for name, array := range before.Arrays {
				parameter := strings.HasPrefix(name, "policy/") || strings.HasPrefix(name, "value/")
				if parameter && !cmp.Equal(array, after.Arrays[name]) {
					return fmt.Errorf("rank %d: %s has changed", g.Rank(), name)
				}
			}
			return nil
		})...))
	})
}
