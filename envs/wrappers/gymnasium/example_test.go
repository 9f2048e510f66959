package gymnasium_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/spaces"
)

// Needs Python with gymnasium, so its output is not compared.
func ExampleNew() {
	env, err := gymnasium.New(gymnasium.Options{
		ID: "CartPole-v1", NumEnvs: 8, Seed: 1,
		Replace: 3, Timeout: 30 * time.Second, // a child that dies or hangs is replaced, three times
	})
	if errors.Is(err, gymnasium.ErrNoPython) {
		fmt.Println(err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(-1); err != nil {
		log.Fatal(err)
	}
	step, err := env.Step(make([]float32, 8)) // all to the left
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(env.Spaces().Observation, len(step.Rewards))
}

// Needs Python with mjlab and a model of the robot, so it is not run.
func ExampleNewMotionSource() {
	env, err := gymnasium.New(gymnasium.Options{
		Simulator: gymnasium.MJLab, ID: "Mjlab-Velocity-Flat-Unitree-G1", NumEnvs: 64,
		AMPGroup: gymnasium.AMPGroup{Terms: []string{"joint_pos", "joint_vel", "base_ang_vel"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	walk, err := motions.Load("walk.npz") // gorl retarget humanoid_walk --model g1.xml --out walk.npz
	if err != nil {
		log.Fatal(err)
	}
	source, err := gymnasium.NewMotionSource(env, walk) // Motions of amp.Options
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(source.Width() == env.Spaces().AMPObservation.Width())
}

// lefty is a policy that always goes left; agents of gorl are policies too.
type lefty struct{ rows int }

func (l *lefty) Name() string { return "lefty" }
func (l *lefty) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewDiscrete(2)}
}
func (l *lefty) NumEnvs() int          { return l.rows }
func (l *lefty) Bind(n int) error      { l.rows = n; return nil }
func (l *lefty) SetTraining(bool) bool { return false }
func (l *lefty) Act(struct {
	Observations, States, ActionMasks []float32
	Active                            []bool
}) ([]float32, error) {
	return make([]float32, l.rows), nil
}

// Serves until Ctrl-C; a Python program then says Policy("/dev/shm/lefty").act(observation).
func ExampleServe() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	if err := gymnasium.Serve(ctx, &lefty{}, "/dev/shm/lefty", gymnasium.ServeOptions{Rows: 16}); err != nil {
		log.Fatal(err)
	}
}
