package evolution_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/spaces"
)

// walker builds members that are AMP agents with two critics and a discriminator with an optimizer of its own,
// and recurrent policy and critics.
func walker(onStep func() error) func(m pbt.Member) (pbt.Trainee, error) {
	return func(m pbt.Member) (pbt.Trainee, error) {
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
}

// checkMemory checks that the second critic evolves as the first, the discriminator along with the policy, and that
// the state has the width of the member's own memory.
func checkMemory(t *testing.T, o evolution.Options, e *evolution.Evolution) {
	discriminators := map[string]bool{"34→[8] elu": true}
	for id := range o.Members {
		snap := must.Get(e.Population().Trainee(id).Snapshot())(t)
		shapes := must.Get(evolution.Architectures(snap))(t)
		discriminators[shapes["discriminator"].String()] = true
		if !shapes["value"].Equal(shapes["style_value"]) {
			t.Errorf("member %d has critics %v and %v", id, shapes["value"], shapes["style_value"])
		}
		width, state := shapes["policy"].Recurrent.HiddenSize, snap.Arrays[layout.Hidden("policy")].Shape
		if !slices.Equal(state, []int64{2, int64(width)}) {
			t.Errorf("member %d has a state of shape %v, and %v", id, state, shapes["policy"])
		}
	}
	must.Not(t, len(discriminators) < 2, "no discriminator evolved")
}
