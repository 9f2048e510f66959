package selfplay_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/selfplay"
	"github.com/gorl-dev/gorl/trainers"
)

func newGame(int) (envs.Single, error) { return &classic.TicTacToe{}, nil }

func ExampleNewGames() {
	env, err := selfplay.NewGames(4, newGame, selfplay.DefaultConfig(), wrappers.ParallelOptions{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.NumEnvs(), "games:", env.Spaces().Action, "and rating", env.Pool().Rating())
	// Output: 4 games: Discrete(9) and rating 1000
}

func ExampleWrap() {
	games, err := classic.NewTicTacToe(classic.Config{NumEnvs: 8})
	if err != nil {
		log.Fatal(err)
	}
	cfg := selfplay.DefaultConfig()
	cfg.Matchmaking, cfg.Seat = selfplay.PFSP, "player_1"
	env, err := selfplay.Wrap(games, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	fmt.Println(env.NumEnvs(), "games against", cfg.Matchmaking)
	// Output: 8 games against pfsp
}

func ExampleNewTrainee() {
	population, err := pbt.New(pbt.Options{
		Members: 2, Objective: "episode.rating", IntervalSteps: 256, TotalSteps: 512, Seed: 1,
		New: func(m pbt.Member) (pbt.Trainee, error) {
			env, err := selfplay.NewGames(8, newGame, selfplay.DefaultConfig(), wrappers.ParallelOptions{Seed: m.Seed})
			if err != nil {
				return nil, err
			}
			trainee, err := trainers.NewTrainee(env, func() (agents.Agent, error) {
				return ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{16}, "relu"),
					Seed: m.Seed})
			}, trainers.Config{Seed: m.Seed})
			if err != nil {
				return nil, err
			}
			return selfplay.NewTrainee(trainee, m.ID, env)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer population.Close()
	if _, err := population.Train(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, e := range population.Journal() {
		if e.SelfPlay != nil {
			fmt.Println("member", e.Member, "met", len(e.SelfPlay.Games), "opponents in interval", e.Iteration)
		}
	}
	// Output:
	// member 0 met 1 opponents in interval 1
	// member 1 met 1 opponents in interval 1
	// member 0 met 3 opponents in interval 2
	// member 1 met 3 opponents in interval 2
}

func ExampleMatch() {
	game := &classic.TicTacToe{}
	corner := selfplay.PlayerFunc(func(_ *rand.Rand, _, mask, action []float32) error {
		for _, field := range []int{4, 0, 2, 6, 8, 1, 3, 5, 7} { // the centre, corners, edges
			if mask[field] == 1 {
				action[0] = float32(field)
				break
			}
		}
		return nil
	})
	random := selfplay.Random(game.Spaces().Seat(0))
	wins, draws, err := selfplay.Match(game, corner, random, 1000, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("won more than half:", wins > 500, "and drawn some:", draws > 0)
	// Output: won more than half: true and drawn some: true
}
