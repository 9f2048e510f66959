package ippo_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

var must = check.Do

// seat has a number to see and a number to do.
func seat(name string) spaces.Seat {
	return spaces.Seat{Name: name, Observation: spaces.Unbounded(1), Action: spaces.Unbounded(1)}
}

// made makes an agent of small networks, and closes it with the test.
func made(t *testing.T, o ippo.Options, settings ...any) *ippo.Agent {
	t.Helper()
	o.Dict = map[string]any{"rollouts": 4, "mini_batches": 1, "learning_epochs": 1}
	for i := 0; i < len(settings); i += 2 {
		o.Dict[settings[i].(string)] = settings[i+1]
	}
	if o.Models == nil {
		o.Models = ippo.MLPs([]int{8}, "tanh")
	}
	a := check.Get(ippo.New(o))(t)
	agenttest.Close(t, a)
	return a
}

// column returns a field of the rollout of a group.
func column(t *testing.T, a *ippo.Agent, group int, field string) []float32 {
	t.Helper()
	return check.Get(agenttest.Snapshot(t, a).Arrays[fmt.Sprintf("agent_%d/rollout/%s", group, field)].Float32s())(t)
}

// A group's rows pair what a seat of a game has seen, done and received, and only the rows that have ended end.
// (AgileRL's IPPO orders rewards by agent and observations by time, and forgets ends.)
func TestRowsPair(t *testing.T) {
	const games, steps = 2, 3
	names := []string{"a_0", "b_0", "a_1"}
	set := spaces.NewSeats(spaces.Space{}, seat(names[0]), seat(names[1]), seat(names[2]))
	for _, centralised := range []bool{false, true} {
		a := made(t, ippo.Options{Spaces: set, NumEnvs: games, Centralised: centralised}, "parameter_sharing", "prefix",
			"time_limit_bootstrap", false)
		number := func(step, game, seat int) float32 { return float32(100*step + 10*game + seat) }
		shown := func(step int) (x []float32) {
			for i := range games * len(names) {
				x = append(x, number(step, i/3, i%3))
			}
			return x
		}
		all := []bool{true, true, true, true, true, true}
		var done []float32
		for step := range steps {
			actions := check.Get(a.Act(agents.Observation{Observations: shown(step), Active: all}))(t)
			done = append(done, actions...)
			tr := agents.Transition{Rewards: make([]float32, games), Terminated: make([]bool, games),
				Truncated: make([]bool, games), NextObservations: shown(step + 1),
				Seats: set.MakeSeatStep(games)}
			for i, x := range shown(step) {
				tr.Seats.Rewards[i] = -x
			}
			copy(tr.Seats.Active, all)
			if step == 1 { // seat a_1 of game 1 ends, and acts on in an episode of its own
				tr.Seats.Terminated[5] = true
			}
			must(t, a.Record(tr))
		}
		for group, seats := range [][]int{{0, 2}, {1}} {
			observations, actions := column(t, a, group, "observations"), column(t, a, group, "actions")
			rewards, terminated := column(t, a, group, "rewards"), column(t, a, group, "terminated")
			for row := range steps * games * len(seats) {
				step, game := row/(games*len(seats)), row/len(seats)%games
				i := seats[row%len(seats)]
				want := number(step, game, i)
				got := [3]float32{observations[row], actions[row], rewards[row]}
				check.Is(t, got, [3]float32{want, done[step*6+game*3+i], -want}, "row %d of group %d", row, group)
				ends := step == 1 && game == 1 && i == 2
				check.Is(t, terminated[row] == 1, ends, "row %d of group %d ends", row, group)
			}
		}
		if centralised { // the observations of all and who acts
			states := column(t, a, 0, "states")
			check.Same(t, states[12:18], []float32{10, 11, 12, 1, 1, 1}, "the state of game 1")
		}
	}
}

// A dead member's rows are not learned from, and the others' are.
func TestDeadMembers(t *testing.T) {
	set := spaces.NewSeats(spaces.Space{}, seat("a_0"), seat("a_1"))
	a := made(t, ippo.Options{Spaces: set, NumEnvs: 1}, "parameter_sharing", "all")
	active := []bool{true, true}
	for step := range 4 {
		check.Get(a.Act(agents.Observation{Observations: []float32{1, 2}, Active: active}))(t)
		tr := agents.Transition{Rewards: []float32{1}, Terminated: []bool{false}, Truncated: []bool{false},
			NextObservations: []float32{1, 0}, Seats: spaces.SeatStep{Rewards: []float32{1, 5},
				Terminated: []bool{false, step == 1}, Truncated: make([]bool, 2), Active: []bool{true, step < 1}}}
		must(t, a.Record(tr))
		active = tr.Seats.Active
	}
	invalid := check.Get(agenttest.Snapshot(t, a).Bools("agent_0/rollout/invalid", 4, 2))(t)
	want := []bool{false, false, false, false, false, true, false, true}
	check.Same(t, invalid, want, "rows that are not learned from")
}

// Evaluation takes the mode of the policies, unlike skrl's, and random_timesteps acts at random, unlike in skrl.
func TestEvaluationAndRandomTimesteps(t *testing.T) {
	set := spaces.NewSeats(spaces.Space{}, seat("a"), spaces.Seat{Name: "b", Observation: spaces.Unbounded(1),
		Action: spaces.NewBox(50, 60, 1)})
	a := made(t, ippo.Options{Spaces: set, NumEnvs: 1}, "random_timesteps", 2)
	in := agents.Observation{Observations: []float32{1, 2}, Active: []bool{true, true}}
	act := func() []float32 { return slices.Clone(check.Get(a.Act(in))(t)) }
	check.Near(t, float64(act()[1]), 55, 5, "a random action")
	a.SetTraining(false)
	check.Same(t, act(), act(), "actions in evaluation")
	a.SetStochastic(true)
	check.Not(t, slices.Equal(act(), act()), "samples are equal")
}

func train(t *testing.T, env envs.Env, a *ippo.Agent, steps int) {
	t.Helper()
	defer env.Close()
	trainer := check.Get(trainers.New(env, a, trainers.Config{Timesteps: steps, Seed: 1}))(t)
	must(t, trainer.Train(t.Context()))
}

// A seat learns to win against a random opponent in a game with turns, in which rewards also come while it waits.
func TestLearnsFromTurnToTurn(t *testing.T) {
	const games = 32
	env := check.Get(classic.NewTicTacToe(classic.Config{NumEnvs: games}))(t)
	defer env.Close()
	a := made(t, ippo.Options{Spaces: env.Spaces(), NumEnvs: games, Models: ippo.MLPs([]int{64}, "tanh"), Seed: 1},
		"rollouts", 32, "learning_epochs", 4, "mini_batches", 4, "learning_rate", 2e-3)
	rng := rand.New(rand.NewPCG(1, 2))
	step := check.Get(env.Reset(1))(t)
	won, played, random := 0, 0, make([]float32, 2*games)
	for i := range 2400 {
		actions := check.Get(a.Act(trainers.Observation(step)))(t)
		env.Spaces().SampleActions(rng, random, step.ActionMasks)
		for game := range games {
			random[2*game] = actions[2*game] // player_0 is the agent
		}
		step = check.Get(env.Step(random))(t)
		must(t, a.Record(trainers.Transition(step)))
		if a.Ready() {
			must(t, a.Update(t.Context()))
		}
		for game, over := range step.Terminated {
			if over && i >= 1800 {
				played++
				if step.Seats.Rewards[2*game] > 0 {
					won++
				}
			}
		}
	}
	share := float64(won) / float64(played) // 0.58 at random
	check.Not(t, share < 0.85, "it wins %.2f of the games, want 0.85", share)
}

// Two ranks have equal parameters after an update, though they play different games; with overlap agents with memory
// learn, too.
func TestRanksAndOverlap(t *testing.T) {
	groups := check.Get(distributed.Local(2, distributed.DefaultConfig()))(t)
	var saved [2]*checkpoint.Snapshot
	var all sync.WaitGroup
	for rank, group := range groups {
		all.Go(func() {
			defer group.Close()
			env := check.Get(classic.NewTicTacToe(classic.Config{NumEnvs: 2, Seed: int64(rank)}))(t)
			a := made(t, ippo.Options{Spaces: env.Spaces(), Centralised: true, Group: group, Seed: 2}, "rollouts", 12)
			train(t, env, a, 13)
			saved[rank] = agenttest.Snapshot(t, a)
		})
	}
	all.Wait()
	for name, x := range saved[0].Arrays {
		other := saved[1].Arrays[name].Data
		check.Not(t, strings.Contains(name, ".weight") && !bytes.Equal(x.Data, other), "the ranks differ in %s", name)
	}
	env := check.Get(classic.NewTicTacToe(classic.Config{NumEnvs: 2}))(t)
	a := made(t, ippo.Options{Spaces: env.Spaces(), Models: func(g ippo.Group) ppo.Models {
		return ppo.Recurrent(g.Spaces, models.GRU(4), []int{8}, "tanh")
	}}, "overlap", true)
	train(t, env, a, 20)
	must(t, a.Wait(t.Context()))
}
