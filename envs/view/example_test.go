package view

import (
	"encoding/json"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
)

func ExampleNew() {
	env, err := mujoco.NewWalker(mujoco.WalkerConfig{})
	if err != nil {
		panic(err)
	}
	defer env.Close()
	actions := make([]float32, env.Spaces().Action.Width()) // in place of a policy
	v, err := New(Config{Env: env, Title: "walker", Act: func(*envs.Step) ([]float32, error) { return actions, nil }})
	if err != nil {
		panic(err)
	}
	// A program would call v.Serve with a listener on 127.0.0.1; this one looks at the first message to a page.
	var first message
	if err := json.Unmarshal(v.scene, &first); err != nil {
		panic(err)
	}
	fmt.Println(first.Scene.Title, len(first.Scene.Shapes), first.Scene.Shapes[1].Kind, first.Scene.Step)
	// Output: walker 8 capsule 0.02
}
