package mujoco

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestCharacterStepEqualsMuJoCos holds the order of the step, which leaves bodies and contacts up to date, to
// mj_step's.
func TestCharacterStepEqualsMuJoCos(t *testing.T) {
	for name, body := range bodies {
		var runs [2][]float64
		for i := range runs {
			b := body()
			b.Feet, b.MinHeight, b.MaxTilt = nil, -10, math.Pi
			e := characterOf(t, CharacterConfig{Body: b, NumEnvs: 6, EpisodeLength: 1000})
			e.batch.reference = i == 1
			envtest.Reset(t, e, 3)
			rng := rand.New(rand.NewPCG(1, 1))
			actions := make([]float32, 6*e.Model().NU())
			for range 60 {
				noise(actions, 1, rng)
				envtest.Step(t, e, actions)
				runs[i] = append(append(runs[i], e.batch.qpos...), e.batch.qvel...)
			}
		}
		must.Near(t, farthest(runs[0], runs[1]), 0, 1e-9, "%s: the step leaves mj_step's trajectory by", name)
	}
}

// TestCharactersFollowClips: targets taken from the clips that come with gorl keep characters up for a while without
// any learning, so the models, their actuators and the clips' signs agree.
func TestCharactersFollowClips(t *testing.T) {
	for name, c := range map[string]struct {
		make   func(CharacterConfig) (*Character, error)
		length float64
	}{"humanoid": {NewHumanoid, 15}, "quadruped": {NewQuadruped, 100}} {
		t.Run(name, func(t *testing.T) {
			e := must.Open(c.make(CharacterConfig{NumEnvs: 32, Residual: true}))(t)
			envtest.Reset(t, e, 1)
			actions := make([]float32, 32*e.Model().NU())
			var length, speed, joint, episodes float64
			for range 310 {
				for _, ep := range envtest.Step(t, e, actions).Episodes {
					episodes++
					length, speed, joint = length+float64(ep.Length), speed+ep.Metrics["speed"],
						joint+ep.Metrics["joint_error"]
				}
			}
			length, speed, joint = length/episodes, speed/episodes, joint/episodes
			must.Not(t, length < c.length || speed < 0.3 || joint > 0.15,
				"characters that follow the clip: length %.1f, speed %.2f, joint error %.3f", length, speed, joint)
		})
	}
}
