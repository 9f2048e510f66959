package spaces_test

import (
	"fmt"

	"github.com/gorl-dev/gorl/spaces"
)

func ExampleNewMultiDiscrete() {
	s := spaces.NewMultiDiscrete(3, 2)
	fmt.Println(s, s.Width(), s.Outputs())
	// Output: MultiDiscrete(3, 2) 2 5
}

func ExampleSpace_Leaves() {
	s := spaces.NewDict(map[string]spaces.Space{"arm": spaces.NewDict(
		map[string]spaces.Space{"joints": spaces.Unbounded(7)}), "goal": spaces.Unbounded(3)})
	for _, leaf := range s.Leaves() {
		fmt.Println(leaf.Name, leaf.Space)
	}
	fmt.Println(spaces.NewDiscrete(2).Leaves())
	// Output:
	// arm.joints Box(7)
	// goal Box(3)
	// [{ Discrete(2)}]
}

func ExampleNewTuple() {
	s := spaces.NewTuple(spaces.NewPicture(84, 84, 3), spaces.Unbounded(7))
	for _, leaf := range s.Leaves() {
		fmt.Println(leaf.Name, leaf.Space)
	}
	// Output:
	// 0 Box(84, 84, 3, uint8)
	// 1 Box(7)
}

func ExampleNewBox() {
	s := spaces.NewBox(-1, 1, 3)
	fmt.Println(s, s.Width(), s.Bounded())
	// Output: Box(3) 3 true
}

func ExampleNewDict() {
	s := spaces.NewDict(map[string]spaces.Space{"joints": spaces.Unbounded(7), "gripper": spaces.NewDiscrete(2)})
	// A row has the gripper's index, then the seven joints.
	fmt.Println(s, s.Width())
	// Output: Dict(gripper: Discrete(2), joints: Box(7)) 8
}

func ExampleNewDiscrete() {
	s := spaces.NewDiscrete(4)
	// An action is one index; a network needs four outputs to choose it.
	fmt.Println(s, s.Width(), s.Outputs())
	// Output: Discrete(4) 1 4
}

func ExampleNewPicture() {
	s := spaces.NewPicture(84, 84, 3)
	fmt.Println(s.Width(), s.Bytes(), s.DType)
	// Output: 21168 21168 uint8
}

// Of three choices the second is not allowed at the moment.
func ExampleNewActionMask() {
	s := spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewDiscrete(3)}
	s.ActionMask = spaces.NewActionMask(s.Action)
	fmt.Println(s.CheckMasks([]float32{1, 0, 1}, 1))
	fmt.Println(s.CheckAllowed([]float32{1}, []float32{1, 0, 1}))
	// Output:
	// <nil>
	// spaces: environment 0: the action mask forbids choice 1 of index 0
}
