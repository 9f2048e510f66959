package amp_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/spaces"
)

// swingSpaces are those of a pendulum whose discriminator sees angle and angular velocity.
var swingSpaces = spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 1),
	AMPObservation: spaces.Unbounded(2)}

// swing shows how the pendulum should move.
type swing struct{}

func (swing) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	rows := make([]float32, 0, 2*n)
	for range n {
		phase := 2 * math.Pi * rng.Float64()
		rows = append(rows, float32(math.Sin(phase)), float32(math.Cos(phase)))
	}
	return rows, nil
}

// An agent is made of spaces, models, reference motion and settings. Environments with a reference motion are its
// source themselves.
func ExampleNew() {
	agent, err := amp.New(amp.Options{
		Spaces:  swingSpaces,
		Models:  amp.MLPs(swingSpaces, []int{32, 32}, "elu"),
		Motions: swing{},
		Dict:    map[string]any{"learning_rate": 3e-4, "task_reward_weight": 0.5, "motion_dataset_size": 1000},
		Seed:    1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	h := agent.Hyperparameters()
	fmt.Println(agent.Name(), h["learning_rate"], h["task_reward_scale"], h["style_reward_scale"])
	// Output: AMP 0.0003 0.5 2
}

// The two factors of skrl 1.4's style reward become one scale.
func ExampleFromDict() {
	cfg, err := amp.FromDict(map[string]any{
		"style_reward_weight": 0.5, "discriminator_reward_scale": 3,
		"amp_state_preprocessor": "RunningStandardScaler", "discriminator_loss": "lsgan",
	}, swingSpaces)
	fmt.Println(cfg.StyleRewardScale, cfg.AMPObservationPreprocessor, cfg.DiscriminatorLoss, err)
	// Output: 1.5 RunningStandardScaler lsgan <nil>
}

// ASE: the models of a policy that acts by latent skills, which wrappers.NewSkills adds to the observations.
func ExampleWithEncoder() {
	sp := spaces.Set{Observation: spaces.Unbounded(20 + 8), Action: spaces.NewBox(-1, 1, 6),
		AMPObservation: spaces.Unbounded(2)}
	networks := amp.WithEncoder(amp.MLPs(sp, []int{64}, "elu"), 8)
	agent, err := amp.New(amp.Options{Spaces: sp, Models: networks, Motions: swing{},
		Dict: map[string]any{"latent_size": 8}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	fmt.Println(agent.Settings().EncoderLossScale)
	// Output: 5
}

// show shows windows of motion that overlap, as the environments of package envs/mujoco do.
type show struct{ swing }

func (s show) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	return s.CollectReferenceMotions(2*n, rng)
}

// CALM: the discriminator judges motion beside the latent that the policy was told, and latents are encodings of
// motion.
func ExampleWithConditionalDiscriminator() {
	sp := spaces.Set{Observation: spaces.Unbounded(20 + 8), Action: spaces.NewBox(-1, 1, 6),
		AMPObservation: spaces.Unbounded(2)}
	hidden := []int{64}
	networks := amp.WithSeparateEncoder(amp.MLPs(sp, hidden, "elu"), sp, 8, hidden, "elu")
	networks = amp.WithConditionalDiscriminator(networks, sp, 8, hidden, "elu")
	agent, err := amp.New(amp.Options{Spaces: sp, Models: networks, Motions: show{},
		Dict: map[string]any{"latent_mode": "calm", "latent_size": 8, "motion_dataset_size": 1000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	z, err := agent.Latents() // what wrappers.Skills draws, given by skills.SetSource(agent.Latents)
	fmt.Println(len(z)/8, err)
	// Output: 1000 <nil>
}
