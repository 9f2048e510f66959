package amp

import (
	"fmt"

	"github.com/gorl-dev/gorl/tensor"
)

// StyleRewards returns the style reward of each of n AMP observations (n × M), as an update would reward them by the
// discriminator and the running statistics that there are now, before style_reward_scale. With latent_mode "calm"
// each observation has the latent behind it that it is judged by (n × (M+L)). Nothing is learned. The slice is the
// caller's. Rows of another width are an error.
func (a *Agent) StyleRewards(ampObservations []float32) (rewards []float32, err error) {
	err = a.serial.Do(&callStyleRewards, func() error {
		rewards, err = a.learner.styleRewards(ampObservations)
		return err
	})
	return rewards, err
}

func (a *learner) styleRewards(ampObservations []float32) ([]float32, error) {
	width := a.judgedWidth()
	if len(ampObservations) == 0 || len(ampObservations)%width != 0 {
		return nil, fmt.Errorf("amp: %d values of AMP observations; want rows of %d", len(ampObservations), width)
	}
	s := tensor.NoGrad().On(a.Device)
	defer s.Close()
	rows := tensor.From(s, ampObservations, int64(len(ampObservations)/width), int64(width))
	var latents tensor.Tensor
	if a.cfg.calm() {
		rows, latents = a.splitRows(s, rows)
	}
	rewards := a.styleReward(s, a.logits(s, concatLatents(s, a.scaled(s, rows), latents)))
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("amp: style rewards: %w", err)
	}
	return tensor.Float32s(rewards)
}

// judgedWidth returns the width of what the discriminator reads: AMP observations, with latent_mode "calm" with a
// latent behind each.
func (a *judge) judgedWidth() int {
	if a.cfg.calm() {
		return a.core.Spaces().AMPObservation.Width() + a.cfg.LatentSize
	}
	return a.core.Spaces().AMPObservation.Width()
}
