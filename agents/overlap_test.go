package agents_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// overlapping lists the agents of the suite that act while they learn.
func overlapping(t *testing.T, run func(t *testing.T, x suite)) {
	for _, x := range conformance() {
		if overlaps(x.settings) {
			t.Run(x.name, func(t *testing.T) { run(t, x) })
		}
	}
}

// byTurns is the schedule of an agent with overlap, made by hand with two agents in turns: one does nothing but act,
// the other nothing but learn, and what they are to each other goes through snapshots. No update is ever in progress
// while one of them acts.
type byTurns struct {
	t              testing.TB
	actor, learner onpolicy.Algorithm
}

// collect makes a rollout.
func (b byTurns) collect(w *agenttest.World) { agenttest.Fill(b.t, b.actor, w) }

// learn lets the learner learn from the actor's rollout, and the actor act as the learner would have before.
func (b byTurns) learn() {
	rollout, before := agenttest.Snapshot(b.t, b.actor), agenttest.Snapshot(b.t, b.learner)
	layout.DropRollout(before) // with what the learner would act
	must(b.t, b.learner.Restore(exchanged(before, rollout, layout.IsRollout, layout.RolloutSteps,
		layout.SequenceLength, layout.Timestep)))
	must(b.t, update(b.learner))
	must(b.t, b.actor.Restore(exchanged(before, rollout, func(name string) bool {
		return name == layout.ActingGenerator || strings.HasPrefix(name, layout.Hidden(""))
	}, layout.ActingRandom, layout.Timestep)))
}

// exchanged returns a snapshot with arrays and values of another.
func exchanged(a, b *checkpoint.Snapshot, which func(array string) bool, values ...string) *checkpoint.Snapshot {
	out := &checkpoint.Snapshot{Arrays: maps.Clone(a.Arrays), Values: maps.Clone(a.Values)}
	maps.DeleteFunc(out.Arrays, func(name string, _ checkpoint.Array) bool { return which(name) })
	for name, array := range b.Arrays {
		if which(name) {
			out.Arrays[name] = array
		}
	}
	for _, key := range values {
		if v, ok := b.Values[key]; ok {
			out.Values[key] = v
		}
	}
	return out
}

// TestOverlapByTurns: an agent that acts while it learns comes to what the same schedule comes to in turns, bit for
// bit.
func TestOverlapByTurns(t *testing.T) {
	overlapping(t, func(t *testing.T, x suite) {
		adaptive := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "kl_threshold": 0.02,
			"random_timesteps": 11}
		for _, settings := range []map[string]any{nil, adaptive} {
			if x.settings["learning_rate_scheduler"] != nil && settings != nil {
				continue
			}
			over := x.make(t, 3, settings)
			b := byTurns{t, x.make(t, 3, settings), x.make(t, 3, settings)}
			w := x.world(5)
			v := w.Clone()
			for range 5 {
				agenttest.Learn(t, over, w, 1)
				b.collect(v)
				b.learn()
			}
			for range 3 { // into the next rollout, during the update
				must(t, errors.Join(agenttest.Step(over, w), agenttest.Step(b.actor, v)))
			}
			check.Not(t, w.Ended == 0, "no episode has ended")
			got, actor := agenttest.Snapshot(t, over), agenttest.Snapshot(t, b.actor)
			learner := agenttest.Snapshot(t, b.learner)
			layout.DropRollout(learner)
			want := exchanged(learner, actor, func(name string) bool {
				return layout.IsRollout(name) || name == layout.ActingGenerator
			}, layout.RolloutSteps, layout.Timestep, layout.ActingRandom)
			check.Same(t, agenttest.Differences(want, got), nil, "what differs")
			// Otherwise the comparison would show nothing: what acts is not what has learned.
			same := 0
			for name, array := range got.Arrays {
				if acting, ok := got.Arrays[layout.Acting(name)]; ok && bytes.Equal(acting.Data, array.Data) {
					same++
				}
			}
			check.Not(t, same > 1, "%d arrays are the same in acting and learning", same)
		}
	})
}

// TestOverlapFailed: the error of an update that has failed while the agent acted on is returned by the next Update,
// and what is made afterwards is what would have been made without.
func TestOverlapFailed(t *testing.T) {
	overlapping(t, func(t *testing.T, x suite) {
		settings := map[string]any{"grad_norm_clip": 0}
		a, b := x.make(t, 1, settings), x.make(t, 1, settings)
		v, w := x.world(2), x.world(2)
		good := a.Hyperparameters()
		must(t, a.SetHyperparameters(map[string]float64{"learning_rate": 1e30}))
		agenttest.Learn(t, a, v, 1)
		agenttest.Fill(t, a, v) // acts on, whatever becomes of the update
		diverges(t, "the update after one that has diverged", a.Update(context.Background()))
		check.Is(t, a.Ready(), true, "the rollout is there")
		must(t, a.SetHyperparameters(map[string]float64{"learning_rate": good["learning_rate"]}))
		must(t, update(a))
		agenttest.Learn(t, b, w, 2)
		agenttest.Same(t, a, b)
	})
}

// TestOverlapCancelled: a cancelled context begins no update, and ends no update that has begun.
func TestOverlapCancelled(t *testing.T) {
	overlapping(t, func(t *testing.T, x suite) {
		a, b := x.make(t, 1, nil), x.make(t, 1, nil)
		v, w := x.world(2), x.world(2)
		agenttest.Fill(t, a, v)
		before := agenttest.Snapshot(t, a)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := a.Update(ctx)
		check.Not(t, !errors.Is(err, context.Canceled), "an update in a cancelled context: %v", err)
		unchanged(t, a, before, "cancelled")
		ctx, cancel = context.WithCancel(context.Background())
		must(t, a.Update(ctx))
		cancel()
		must(t, a.Wait(context.Background()))
		agenttest.Learn(t, b, w, 1)
		agenttest.Same(t, a, b)
	})
}

// TestOverlapNeedsMake: networks that exist once cannot act while they learn.
func TestOverlapNeedsMake(t *testing.T) {
	sp, calls := conformance()[0].spaces, 0
	make := func(hidden int) ppo.Models {
		policy, value, err := ppo.MLPs(sp, []int{hidden}, "tanh").Make(1)
		must(t, err)
		return ppo.Models{Policy: policy, Value: value}
	}
	once := make(4)
	for want, m := range map[string]ppo.Models{
		"Models.Make": make(4),
		"make other ones": {Make: func(int64) (models.Policy, models.Network, error) {
			return once.Policy, once.Value, nil
		}},
		"same networks every time": {Make: func(int64) (models.Policy, models.Network, error) {
			calls++
			m := make(4 * calls)
			return m.Policy, m.Value, nil
		}},
	} {
		check.RefusedAs(ppo.New(ppo.Options{Spaces: sp, Models: m, Dict: map[string]any{"overlap": true}}))(t, want,
			want)
	}
}

// watched is a source of reference motion that a test may watch.
type watched struct {
	*agenttest.Motion
	busy func()
}

func (s watched) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	s.busy()
	return s.Motion.CollectReferenceMotions(n, rng)
}

// TestOverlapMotions: the source of reference motion, which may be the environment, is asked only within calls of the
// agent: once at the beginning and once an update.
func TestOverlapMotions(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2),
		AMPObservation: spaces.Unbounded(3)}
	asked, within := 0, true // the race detector sees where both are used at once
	source := watched{&agenttest.Motion{Width: 3, Mean: 0.7}, func() {
		if asked++; !within {
			t.Error("the source was asked outside of a call")
		}
	}}
	a := check.Get(amp.New(amp.Options{Spaces: sp, NumEnvs: rows, Models: ampMLPs(sp), Motions: source, Seed: 1,
		Dict: map[string]any{"overlap": true, "rollouts": 8, "amp_batch_size": 20, "motion_dataset_size": 50,
			"reply_buffer_size": 60}}))(t)
	agenttest.Close(t, a)
	w := agenttest.NewWorld(sp, agenttest.Seeds(3, rows)...)
	for range 4 {
		within = false
		agenttest.Fill(t, a, w)
		within = true
		must(t, a.Update(context.Background()))
	}
	must(t, a.Wait(context.Background()))
	check.Is(t, asked, 5, "requests")
}
