package mujoco

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

// What cannot be is refused with the setting and its value, and no model or simulation is left.
func TestConfigErrors(t *testing.T) {
	march, trot := marching(t, HumanoidBody()), marching(t, QuadrupedBody())
	held := must.Get(motions.NewClip(motions.ClipConfig{Name: "held", Description: march.Description(),
		Frames: [][]float64{march.Frame(0), march.Frame(1)}, Durations: []float64{0.02, 0}}))(t)
	short := must.Get(motions.NewClip(motions.ClipConfig{Name: "short", Frames: [][]float64{{1, 2}, {3, 4}},
		Durations: []float64{1, 0}}))(t)
	dog := QuadrupedBody()
	bare, unlimited, motors := dog, dog, dog
	bare.XML = strings.Replace(dog.XML, `name="floor" type="plane"`, `name="floor" type="box"`, 1)
	unlimited.XML = strings.Replace(dog.XML, `forcelimited="true" forcerange="-33.5 33.5"`, "", 1)
	motors.XML = strings.NewReplacer("<position name", "<motor name", `<position kp="80" `, "<motor ").Replace(dog.XML)
	before := live()
	human := func(cfg CharacterConfig, clips ...*motions.Clip) error {
		if cfg.Motions = clips; clips == nil {
			cfg.Motions = []*motions.Clip{march}
		}
		_, err := NewHumanoid(cfg)
		return err
	}
	random := func(r RandomizeConfig, body CharacterBody) error {
		_, err := NewCharacter(CharacterConfig{Body: body, Motions: []*motions.Clip{trot}, Randomize: r})
		return err
	}
	robot := func(cfg CharacterConfig, body CharacterBody) error {
		cfg.Task, cfg.Body = Velocity, body
		_, err := NewCharacter(cfg)
		return err
	}
	fails := func(_ any, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{human(CharacterConfig{}, []*motions.Clip{}...), "Motions"},
		{human(CharacterConfig{}, trot), `"abdomen_x"`},
		{human(CharacterConfig{}, held), "lasts 0.02 s"},
		{human(CharacterConfig{Task: Track}, march, march), "exactly one clip"},
		{human(CharacterConfig{History: 65}), `"history"`},
		{human(CharacterConfig{Deviation: math.Inf(1)}), `"deviation"`},
		{human(CharacterConfig{Command: CommandConfig{MinSpeed: 2, MaxSpeed: 1}}), "MinSpeed"},
		{human(CharacterConfig{Body: CharacterBody{XML: walkerXML}}), "free joint"},
		{human(CharacterConfig{Task: Track, Randomize: RandomizeConfig{Terrain: hilly}}), `not fit the task "track"`},
		{robot(CharacterConfig{Velocity: VelocityConfig{LinearX: [2]float64{1, 0}}}, standing()), "LinearX"},
		{robot(CharacterConfig{}, dog), "DefaultPose"},
		{robot(CharacterConfig{Observations: []string{"joint_positions"}}, standing()), "joint_positions"},
		{random(RandomizeConfig{Friction: [2]float64{0, 1}}, dog), "Randomize.Friction is [0 1]"},
		{random(RandomizeConfig{ActionDelay: [2]int{2, 1}}, dog), "Randomize.ActionDelay is [2 1]"},
		{random(RandomizeConfig{MotorStrength: [2]float64{0.5, 1}}, unlimited), `"FR_hip" has no force limit`},
		{random(RandomizeConfig{Stiffness: [2]float64{0.5, 1}}, motors), `"FR_hip" is not one for positions`},
		{random(RandomizeConfig{Terrain: hilly}, bare), "Randomize.Terrain needs a floor: a"},
		{random(RandomizeConfig{Terrain: TerrainConfig{Rough: .1, Levels: 99, Size: 99}}, dog), "99 levels of patch"},
		{fails(NewWalker(WalkerConfig{Stagger: 301})), "Stagger"},
		{fails(NewWalker(WalkerConfig{Motion: short})), "2 values a frame"},
		{fails(New(Config{}, balance{})), "exactly one of"},
		{fails(New(Config{XML: walkerXML}, balance{})), `no joint named "hinge"`},
	} {
		must.Refuse(t, c.err, "mujoco: ", c.want)
	}
	must.Is(t, live(), before, "models and simulations")
	lacks := RandomizeConfig{ObservationNoise: NoiseConfig{KeyPos: 1}}
	must.Refuse(t, lacks.check([]part{{"joint_pos", 1}}), `"key_pos"`)
}
