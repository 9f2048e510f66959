package evolution_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/spaces"
)

// walker builds members that are AMP agents with two critics and a discriminator with an optimizer of its own,
// and recurrent policy and critics.
func walker(m pbt.Member, onStep func() error) (pbt.Trainee, error) {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 2, Seed: m.Seed, Workers: 1})
	if err != nil {
		return nil, err
	}
	body, err1 := description.NewArchitecture(env.Spaces().Observation, nil, 0, []int{8}, "elu")
	body.Recurrent = models.GRU(6)
	motion, err2 := description.NewArchitecture(env.Spaces().AMPObservation, nil, 0, []int{8}, "elu")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	dict := map[string]any{"rollouts": 8, "learning_epochs": 1, "mini_batches": 1, "sequence_length": 4,
		"separate_critics": true, "discriminator_optimizer": "separate", "task_reward_scale": 1.0,
		"amp_batch_size": 32, "motion_dataset_size": 64, "reply_buffer_size": 64}
	return trainee(m, env, networks{"policy": body, "value": body, "discriminator": motion}, onStep,
		func(sp spaces.Set, shapes networks) (agents.Agent, error) {
			return amp.New(amp.Options{Spaces: sp, Motions: env, Seed: m.Seed, Dict: dict, Models: amp.Evolvable(sp,
				shapes["policy"], shapes["value"], shapes["discriminator"], amp.DefaultGaussian())})
		})
}

// looking builds members that see CartPole's pixels.
func looking(m pbt.Member, onStep func() error) (pbt.Trainee, error) {
	pixels := classic.DefaultCartPolePixels()
	pixels.NumEnvs, pixels.Seed = 2, m.Seed
	env, err := classic.NewCartPolePixels(pixels)
	if err != nil {
		return nil, err
	}
	a, err := description.NewArchitecture(env.Spaces().Observation, nil, 8, []int{8}, "relu")
	if err != nil {
		return nil, err
	}
	return trainee(m, env, networks{"policy": a, "value": a}, onStep, newPPO(m))
}

// Populations with memory and with pictures evolve. Interrupted in the middle of rollouts and episodes they end as if
// they had not been.
func TestPicturesAndMemoryEvolve(t *testing.T) {
	for name, c := range map[string]struct {
		build  func(pbt.Member, func() error) (pbt.Trainee, error)
		module string // whose edits must occur
	}{"memory": {walker, "memory."}, "pictures": {looking, "encoder.observation."}} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			m := busy()
			m.Architecture, m.Activation, m.NewLayerProb = 5, 0.05, 0.05
			m.Limits.MinHidden, m.Limits.MaxHidden, m.Limits.MinChannels, m.Limits.MaxChannels = 2, 128, 4, 64
			dir := t.TempDir()
			build := func(stop func()) evolution.Options {
				return evolution.Options{
					Options: pbt.Options{Members: 3, IntervalSteps: 24, TotalSteps: 8 * 24, Diversify: true, Seed: 4,
						Directory: dir, New: func(m pbt.Member) (pbt.Trainee, error) {
							return c.build(m, func() error { stop(); return nil })
						}},
					Mutations: m,
				}
			}
			o := build(func() {})
			o.Directory = t.TempDir()
			whole := train(t, o)
			compare(t, whole, interrupted(t, 77, build))
			edits, policies := 0, map[string]bool{}
			for _, event := range whole.journal {
				if event.Kind == journal.ApplyFailed || event.Kind == journal.Failed {
					t.Errorf("%+v", event)
				}
				if strings.HasPrefix(event.Mutation, c.module) {
					edits++
				}
				if event.Architecture != "" {
					policies[event.Architecture] = true
				}
			}
			if edits < 3 || len(policies) < 3 {
				t.Errorf("%d edits of %s and %d architectures: this shows little", edits, c.module, len(policies))
			}
			discriminators := map[string]bool{"34→[8] elu": true}
			for i, snap := range whole.snapshots {
				shapes, err := evolution.Architectures(snap)
				must.Do(t, err)
				if name != "memory" {
					continue
				}
				// The second critic evolves as the first, the discriminator along with the policy.
				discriminators[shapes["discriminator"].String()] = true
				if !shapes["value"].Equal(shapes["style_value"]) {
					t.Errorf("member %d has critics %v and %v", i, shapes["value"], shapes["style_value"])
				}
				// The state has the width of the member's own memory.
				if r := shapes["policy"].Recurrent; !slices.Equal(snap.Arrays[layout.Hidden("policy")].Shape,
					[]int64{2, int64(r.HiddenSize)}) {
					t.Errorf("member %d has a state of shape %v, and %v", i, snap.Arrays[layout.Hidden("policy")].Shape,
						shapes["policy"])
				}
			}
			if name == "memory" && len(discriminators) < 2 {
				t.Error("no discriminator evolved")
			}
		})
	}
}
