package selfplay

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// nim is a game in turns: two seats take one to three of the stones, and who takes the last one wins. An odd coin lets
// seat 1 begin. The seat that moves sees how many stones there are.
type nim struct {
	Stones, Turn int
}

const stones = 7

func (n *nim) Spaces() spaces.Set {
	action := spaces.NewDiscrete(3)
	seat := spaces.Seat{Observation: spaces.NewBox(0, 1, stones+1), Action: action,
		ActionMask: spaces.NewActionMask(action)}
	a, b := seat, seat
	a.Name, b.Name = "first", "second"
	return spaces.NewSeats(spaces.Space{}, a, b)
}

func (n *nim) Reset(rng *rand.Rand, out envs.Row) error {
	n.Stones, n.Turn = stones, rng.IntN(2)
	n.show(out)
	return nil
}

func (n *nim) show(out envs.Row) {
	clear(out.Observation)
	for i := range 2 {
		out.Observation[i*(stones+1)+n.Stones] = 1
		out.Seats.Active[i] = i == n.Turn && n.Stones > 0
		for k := range 3 {
			out.ActionMask[3*i+k] = 1
			if out.Seats.Active[i] && k+1 > n.Stones {
				out.ActionMask[3*i+k] = 0
			}
		}
	}
}

func (n *nim) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	n.Stones -= 1 + int(action[n.Turn])
	for i := range 2 {
		out.Seats.Rewards[i], out.Seats.Terminated[i], out.Seats.Truncated[i] = 0, n.Stones == 0, false
	}
	if n.Stones == 0 {
		out.Seats.Rewards[n.Turn], out.Seats.Rewards[1-n.Turn] = 1, -1
	}
	n.Turn = 1 - n.Turn
	n.show(out)
	return 0, n.Stones == 0, false, nil
}

func (n *nim) Close() error                  { return nil }
func (n *nim) MarshalState() ([]byte, error) { return json.Marshal(n) }
func (n *nim) RestoreState(b []byte) error   { return json.Unmarshal(b, n) }

// perfect takes what leaves a multiple of four, and otherwise one stone.
var perfect = PlayerFunc(func(_ *rand.Rand, observation, _, action []float32) error {
	action[0] = 0
	for i, x := range observation {
		if x == 1 && i%4 != 0 {
			action[0] = float32(i%4 - 1)
		}
	}
	return nil
})

func newNim(t testing.TB, n int, cfg Config, seed int64) *Env {
	t.Helper()
	return must.Get(NewGames(n, func(int) (envs.Single, error) { return &nim{}, nil }, cfg,
		wrappers.ParallelOptions{Seed: seed, Workers: 2}))(t)
}

// learner returns a member that plays nim.
func learner(t testing.TB, m pbt.Member, cfg Config, games int) (*Trainee, error) {
	env := newNim(t, games, cfg, m.Seed)
	inner, err := trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{16}, "tanh"),
			Seed: m.Seed, Dict: map[string]any{"rollouts": 16, "learning_epochs": 2, "mini_batches": 2,
				"learning_rate": 3e-3, "entropy_loss_scale": 0.01}})
	}, trainers.Config{Seed: m.Seed, SaveBuffers: true})
	if err != nil {
		return nil, err
	}
	return NewTrainee(inner, m.ID, env)
}

// snapshotOf returns the snapshot of a new learner.
func snapshotOf(t testing.TB, seed int64) *checkpoint.Snapshot {
	t.Helper()
	l := must.Open(learner(t, pbt.Member{Seed: seed}, DefaultConfig(), 1))(t)
	return must.Get(l.Snapshot())(t)
}
