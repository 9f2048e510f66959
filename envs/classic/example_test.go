package classic_test

import (
	"fmt"
	"log"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
)

func ExampleNewCartPole() {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 2, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(1); err != nil {
		log.Fatal(err)
	}
	actions := []float32{0, 1} // push the first cart left, the second right
	for ended := 0; ended == 0; {
		step, err := env.Step(actions)
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range step.Episodes {
			fmt.Printf("cart %d: return %g after %d steps\n", e.Env, e.Return, e.Length)
		}
		ended = len(step.Episodes)
	}
	// Output: cart 0: return 9 after 9 steps
}

// Three frames of one cart, the newest in the last channel.
func ExampleNewCartPolePixels() {
	env, err := classic.NewCartPolePixels(classic.DefaultCartPolePixels())
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	step, err := env.Reset(1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(env.Spaces().Observation, len(step.Observations))
	// Output: Box(40, 96, 3, uint8) 11520
}

// The sign at the start says where to turn.
func ExampleNewTMaze() {
	env, err := classic.NewTMaze(classic.TMazeConfig{Length: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	step, err := env.Reset(1)
	if err != nil {
		log.Fatal(err)
	}
	turn := float32(0) // north
	if step.Observations[0] == 1 {
		turn = 2
	}
	for _, action := range []float32{1, 1, turn} {
		if step, err = env.Step([]float32{action}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(step.Rewards, step.Terminated, step.Episodes[0].Metrics)
	// Output: [4] [true] map[success:1]
}

func ExampleNewAcrobot() {
	env, err := classic.NewAcrobot(classic.Config{NumEnvs: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(envs.Check(env, 100, 1))
	// Output: <nil>
}

// Position and angle are all there is to see.
func ExampleNewMaskedCartPole() {
	env, err := classic.NewMaskedCartPole(classic.Config{NumEnvs: 2, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Spaces().Observation, env.Spaces().Action)
	// Output: Box(2) Discrete(2)
}

func ExampleNewMountainCar() {
	env, err := classic.NewMountainCar(classic.Config{NumEnvs: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.Spaces().Observation, env.Spaces().Action)
	// Output: Box(2) Box(1)
}

func ExampleNewPendulum() {
	env, err := classic.NewPendulum(classic.Config{NumEnvs: 3, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.NumEnvs(), env.Spaces().Observation, env.Spaces().Action)
	// Output: 3 Box(3) Box(1)
}

// Every column is open when a game begins.
func ExampleNewConnectFour() {
	env, err := classic.NewConnectFour(classic.ConnectFourConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	step, err := env.Reset(1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(env.Spaces().Action, step.ActionMasks)
	// Output: Discrete(7) [1 1 1 1 1 1 1]
}

// The seats take turns: the first one's mark is the second one's turn.
func ExampleNewTicTacToe() {
	env, err := classic.NewTicTacToe(classic.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	step, err := env.Reset(1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(env.Spaces().SeatNames(), step.Seats.Active)
	if step, err = env.Step([]float32{4, 0}); err != nil { // the middle
		log.Fatal(err)
	}
	fmt.Println(step.Seats.Active, step.ActionMasks[9:])
	// Output:
	// player_0 (action masks), player_1 (action masks) [true false]
	// [false true] [1 1 1 1 0 1 1 1 1]
}

// Both seats see the ring from their own side.
func ExampleNewSumo() {
	env, err := classic.NewSumo(classic.Config{NumEnvs: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	step, err := env.Reset(1)
	if err != nil {
		log.Fatal(err)
	}
	player0, player1 := step.Observations[:9], step.Observations[9:18]
	fmt.Println(env.Spaces().SeatNames(), player0[0] == -player1[4]) // where player_0 is
	// Output: player_0, player_1 true
}

// Three agents share half of their reward.
func ExampleNewSpread() {
	env, err := classic.NewSpread(classic.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	if _, err := env.Reset(1); err != nil {
		log.Fatal(err)
	}
	step, err := env.Step([]float32{0, 1, 4}) // wait, left, up
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(env.Spaces().SeatNames(), len(step.States), len(step.Seats.Rewards))
	// Output: agent_0, agent_1, agent_2 54 3
}
