package robot_test

import (
	"fmt"
	"log"
	"time"

	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/robot"
)

// A controller turns measurements into targets until its watchdog finds a fault.
func ExampleNew() {
	policy, err := infer.Load("testdata/leg.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	controller, err := robot.New(policy, robot.Config{})
	if err != nil {
		log.Fatal(err)
	}
	measured := &robot.Sensors{Position: []float64{0.5, 0.5}, Velocity: []float64{0.1, -0.2},
		Quaternion: [4]float64{1, 0, 0, 0}, Command: []float64{1}}
	now := time.Now()
	controller.Sense(now, measured)
	targets := controller.Step(now)
	fmt.Printf("%.2f %v\n", targets.Position, targets.Damping)
	measured.Sequence, measured.Quaternion = 1, [4]float64{0, 1, 0, 0} // upside down
	controller.Sense(now, measured)
	fmt.Println(controller.Step(now).Damping, controller.Fault())
	// Output:
	// [0.55 0.40] false
	// true robot: tilted: the body is 3.14 rad from upright; the limit is 0.80
}
