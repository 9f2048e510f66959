package evolution_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/trainers"
)

// walker builds members that are AMP agents with two critics and a discriminator with an optimizer of its own. With
// memory its policy and critics are recurrent.
func walker(memory bool, cfg trainers.Config) func(m pbt.Member) (pbt.Trainee, error) {
	return func(m pbt.Member) (pbt.Trainee, error) {
		env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 2, Seed: m.Seed, Workers: 1})
		if err != nil {
			return nil, err
		}
		sp := env.Spaces()
		body, err := description.NewArchitecture(sp.Observation, nil, 0, []int{8}, "elu")
		if err != nil {
			return nil, err
		}
		motion, err := description.NewArchitecture(sp.AMPObservation, nil, 0, []int{8}, "elu")
		if err != nil {
			return nil, err
		}
		dict := map[string]any{"rollouts": 8, "learning_epochs": 1, "mini_batches": 2, "separate_critics": true,
			"discriminator_optimizer": "separate", "task_reward_scale": 1.0, "amp_batch_size": 32,
			"motion_dataset_size": 64, "reply_buffer_size": 64}
		if memory {
			body.Recurrent, dict["sequence_length"], dict["mini_batches"] = models.GRU(6), 4, 1
		}
		shapes, err := shapesOf(m, map[string]description.Architecture{"policy": body, "value": body,
			"discriminator": motion})
		if err != nil {
			return nil, err
		}
		cfg := cfg
		cfg.Seed = m.Seed
		cfg.EvaluationEnv = func(n int, seed int64) (envs.Env, error) {
			return mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: n, Seed: seed, Workers: 1})
		}
		return trainers.NewTrainee(env, func() (agents.Agent, error) {
			return amp.New(amp.Options{Spaces: sp, Motions: env, Seed: m.Seed, Dict: dict, Models: amp.Evolvable(sp,
				shapes["policy"], shapes["value"], shapes["discriminator"], amp.DefaultGaussian())})
		}, cfg)
	}
}

// All networks of AMP evolve: the second critic as the first, the discriminator along with the policy.
func TestAMPEvolves(t *testing.T) {
	agenttest.CheckLive(t)
	e, err := evolution.New(evolution.Options{
		Options: pbt.Options{Members: 4, IntervalSteps: 32, TotalSteps: 8 * 32, Diversify: true, Seed: 5,
			New: walker(false, trainers.Config{})},
		EvalSteps: 20, Mutations: busy(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	best, err := e.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(e.Evolver().Registry()); got != "{[{discriminator []  false} {policy []  true} "+
		"{style_value [] "+
		"value false} {value []  false}] "+
		"[{discriminator_optimizer [discriminator] discriminator_learning_rate} {optimizer [policy style_value value] "+
		"learning_rate}] []}" {
		t.Errorf("the registry is %s", got)
	}
	edits, activations := 0, 0
	for _, event := range e.Population().Journal() {
		if event.Kind == journal.ApplyFailed || event.Kind == journal.Failed {
			t.Errorf("%+v", event)
		}
		if strings.HasPrefix(event.Mutation, "head.") {
			edits++
		}
		if strings.Contains(event.Mutation, "activation") {
			activations++
		}
	}
	if edits < 4 || activations < 2 {
		t.Errorf("%d edits and %d activations: this shows little", edits, activations)
	}
	discriminators := map[string]bool{}
	for id := range 4 {
		snap, err := e.Population().Trainee(id).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		shapes, err := evolution.Architectures(snap)
		if err != nil {
			t.Fatal(err)
		}
		if !shapes["value"].Equal(shapes["style_value"]) {
			t.Errorf("member %d has critics %v and %v", id, shapes["value"], shapes["style_value"])
		}
		discriminators[shapes["discriminator"].String()] = true
	}
	if len(discriminators) == 1 && discriminators["34→[8] elu"] {
		t.Error("no discriminator evolved")
	}
	elite, err := evolution.Build(walker(false, trainers.Config{}), best.Snapshot, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := elite.Close(); err != nil {
		t.Fatal(err)
	}
}
