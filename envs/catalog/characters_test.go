package catalog

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Every key of randomize reaches the characters, and a wrong one is refused by its name.
func TestRandomize(t *testing.T) {
	const head = "id: Quadruped\nnum_envs: 3\nrandomize: "
	env := opened(t, head+`{friction: [0.5, 1.2], mass: [0.9, 1.1], center_of_mass: 0.02, stiffness: [0.9, 1.1],
  damping: [0.9, 1.1], motor_strength: [0.9, 1], armature: [0.9, 1.1], joint_offset: 0.01, action_delay: [1, 2],
  observation_delay: [1, 2], observation_noise: {joint_pos: 0.01}, push: {velocity: 0.5, seconds: 1}, curriculum: 5,
  terrain: {slope: 0.3, steps: 0.1, rough: 0.05, levels: 3, size: 6, curriculum: true}}`)
	envtest.Reset(t, env, 1)
	step := envtest.Step(t, env, env.Spaces().Action.Rows(3))
	for _, name := range []string{"friction", "mass", "center_of_mass", "stiffness", "damping", "motor_strength", "armature",
		"joint_offset", "action_delay", "observation_delay", "randomization", "terrain_level"} {
		if _, ok := step.Metrics["quadruped/"+name]; !ok {
			t.Errorf("there is no metric %s", name)
		}
	}
	for given, want := range map[string]string{
		"{frictoin: [1, 1]}":                  `"randomize.frictoin"`,
		"{friction: 1}":                       `"randomize.friction" is 1`,
		"{friction: [-1, 1]}":                 `"randomize.friction[0]" is -1`,
		"{mass: [2, 1]}":                      "Randomize.Mass is [2 1]",
		"{push: {velocity: 1}}":               "Randomize.Push has 1 m/s every 0 s",
		"{observation_noise: {actions: 1}}":   `"randomize.observation_noise.actions"`,
		"{terrain: {slope: 3}}":               `"randomize.terrain.slope" is 3`,
		"{terrain: {levels: 3}}":              "give Slope, Steps or Rough",
		"{observation_delay: [0, 200]}":       `"randomize.observation_delay[1]" is 200`,
		"{mass: [1, 1], curriculum: nothing}": `"randomize.curriculum" is "nothing"`,
	} {
		must.Refuse(fromYAML(t, head+given))(t, want)
	}
}
