package wrappers_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// turns is a game of three seats without an end: the first two act in turn, the third, which is named after the game's
// index, until its third step. The reward of a seat is its action; the seat that waits gets half of it as a loss.
type turns struct{ steps, index int }

func (g *turns) Spaces() spaces.Set {
	action := spaces.NewDiscrete(3)
	seat := func(name string, observations int) spaces.Seat {
		return spaces.Seat{Name: name, Observation: spaces.NewBox(-9, 9, observations), Action: action}
	}
	masked := seat("a_0", 2)
	masked.ActionMask = spaces.NewActionMask(action)
	return spaces.NewSeats(spaces.Unbounded(1), masked, seat("a_1", 1), seat(fmt.Sprint("b_", g.index), 1))
}

func (g *turns) Reset(rng *rand.Rand, out envs.Row) error {
	g.steps = rng.IntN(2)
	g.show(out)
	return nil
}

func (g *turns) show(out envs.Row) {
	turn := g.steps % 2
	for i := range out.Observation {
		out.Observation[i] = float32(g.steps) - 1
	}
	out.State[0] = float32(g.steps)
	copy(out.Seats.Active, []bool{turn == 0, turn == 1, g.steps < 3})
	copy(out.ActionMask, [][]float32{{1, 0, 1}, {1, 1, 1}}[turn])
}

func (g *turns) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	turn, s := g.steps%2, out.Seats
	s.Rewards[turn], s.Rewards[1-turn], s.Rewards[2] = action[turn], -action[turn]/2, 0
	if g.steps < 3 {
		s.Rewards[2] = action[2]
	}
	clear(s.Terminated)
	clear(s.Truncated)
	g.steps++
	s.Terminated[2] = g.steps == 3
	g.show(out)
	return float64(s.Rewards[0] + s.Rewards[1] + s.Rewards[2]), false, false, nil
}

func (g *turns) MarshalState() ([]byte, error) { return []byte{byte(g.steps)}, nil }

func (g *turns) RestoreState(b []byte) error {
	if len(b) != 1 {
		return errors.New("turns: not one byte")
	}
	g.steps = int(b[0])
	return nil
}

func (g *turns) Close() error { return nil }

// newTurns makes games whose episodes end after limit steps, and some more in each further game.
func newTurns(limit int) envtest.Make {
	return func(seed int64, workers int) (envs.Env, error) {
		return wrappers.NewParallel(4, func(i int) (envs.Single, error) {
			return wrappers.NewTimeLimit(&turns{}, limit+i)
		}, wrappers.ParallelOptions{Seed: seed, Workers: workers})
	}
}

// Batches, time limits and the wrappers that take environments with seats keep to their contract.
func TestSeatsConform(t *testing.T) {
	envtest.Conform(t, 60, newTurns(2)) // the third seat ends before the limit, with it, or after it
	dir := t.TempDir()
	envtest.Conform(t, 60, func(seed int64, workers int) (envs.Env, error) {
		env, err := newTurns(5)(seed, workers)
		return wrapped(t, env, err, []wrap{scaleReward, clipReward, clipObservation, countEpisodes,
			func(env envs.Env) (envs.Env, error) {
				return wrappers.NewRecord(env, wrappers.RecordOptions{Dir: dir})
			}}), nil
	})
	must.Not(t, !bytes.Contains(must.Read(t, filepath.Join(dir, "episode-000000.jsonl")), []byte(`"seat_rewards":[`)),
		"rewards of seats are not recorded")
}

// A time limit truncates the seats that are not out. Rewards of seats are scaled and clipped as those of environments,
// which stay their sums.
func TestSeatsInWrappers(t *testing.T) {
	env, err := newTurns(5)(1, 1)
	env = wrapped(t, env, err, []wrap{scaleReward, clipReward, clipObservation})
	defer env.Close()
	set := env.Spaces()
	must.Do(t, set.Validate())
	if b := set.Seats[0].Observation; b.Low[0] != -2 || b.High[1] != 2 {
		t.Errorf("the seat's observations have the limits %v to %v, want those that clip", b.Low, b.High)
	}
	s := envtest.Reset(t, env, 2)
	ends := 0
	for range 12 {
		actions, active := set.Action.Rows(4), slices.Clone(s.Seats.Active)
		for i := range 4 { // the seat whose turn it is chooses 2, which is 4 when scaled
			actions[i*3+slices.Index(active[i*3:i*3+2], true)] = 2
		}
		s = envtest.Step(t, env, actions)
		for i := range 4 {
			row := s.Seats.Row(i, 3)
			for k := range 2 {
				must.Is(t, row.Rewards[k] == 1, active[i*3+k], "seat %d has the reward %g", k, row.Rewards[k])
			}
			must.Is(t, s.Rewards[i], 0, "the environment has the reward")
			if s.Truncated[i] {
				ends++
				must.Same(t, row.Truncated, []bool{true, true, false}, "truncated seats")
			}
		}
	}
	must.Not(t, ends == 0, "no episode ended")
}

// Wrappers of one agent's rows refuse environments with seats; so do batches of games whose seats have other names.
func TestSeatsRefused(t *testing.T) {
	env := must.Open(newTurns(5)(1, 1))(t)
	must.Refused(normalizeReward(env))(t,
		"is for one agent, and the environment has seats for 3 (a_0 (action masks), a_1, b_0)")
	must.Refused(normalizeObservation(env))(t, "NewNormalizeObservation needs a Box of observations")
	must.Refused(clipAction(env))(t, "NewClipAction needs a Box of actions")
	_, err := wrappers.NewParallel(2, func(i int) (envs.Single, error) { return &turns{index: i}, nil },
		wrappers.ParallelOptions{})
	must.Refuse(t, err, "the seats a_0 (action masks), a_1, b_1, environment 0 has a_0")
}
