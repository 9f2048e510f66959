package evolution_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/spaces"
)

// rendezvous has two kinds of agents: speaker_0 sees a goal and names a side, listener_0 hears the side and moves. The
// speaker leaves after four of seven steps. A step brings the speaker 1, and costs the listener its distance from the
// goal. With fixed it brings the listener 10.
type rendezvous struct {
	Steps, Said int
	Goal, At    float32
	fixed       bool
}

func (g *rendezvous) Spaces() spaces.Set {
	return spaces.NewSeats(spaces.Unbounded(4),
		spaces.Seat{Name: "speaker_0", Observation: spaces.Unbounded(2), Action: spaces.NewDiscrete(3)},
		spaces.Seat{Name: "listener_0", Observation: spaces.Unbounded(3), Action: spaces.NewBox(-1, 1, 1)})
}

func (g *rendezvous) Reset(rng *rand.Rand, out envs.Row) error {
	g.Steps, g.Said, g.Goal, g.At = 0, 0, 2*rng.Float32()-1, 0
	g.show(out)
	return nil
}

func (g *rendezvous) show(out envs.Row) {
	in := float32(1)
	if g.Steps >= 4 {
		in = 0
	}
	copy(out.Observation, []float32{in * g.Goal, in * g.At, float32(g.Said), g.At, float32(g.Steps) / 7})
	copy(out.State, []float32{g.Goal, g.At, float32(g.Said), float32(g.Steps)})
	out.Seats.Active[0], out.Seats.Active[1] = in > 0, true
}

func (g *rendezvous) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	clear(out.Seats.Rewards)
	clear(out.Seats.Terminated)
	clear(out.Seats.Truncated)
	g.At += 0.3 * action[1]
	if g.Steps < 4 {
		g.Said = int(action[0]) - 1
		out.Seats.Rewards[0] = 1
	}
	if out.Seats.Rewards[1] = -float32(math.Abs(float64(g.Goal - g.At))); g.fixed {
		out.Seats.Rewards[1] = 10
	}
	g.Steps++
	out.Seats.Terminated[0], out.Seats.Truncated[1] = g.Steps == 4, g.Steps == 7
	g.show(out)
	return float64(out.Seats.Rewards[0] + out.Seats.Rewards[1]), false, g.Steps == 7, nil
}

func (g *rendezvous) MarshalState() ([]byte, error) { return json.Marshal(g) }
func (g *rendezvous) RestoreState(b []byte) error   { return json.Unmarshal(b, g) }
func (g *rendezvous) Close() error                  { return nil }

// pair builds members: IPPO or MAPPO on four games.
func pair(centralised bool, game rendezvous, onStep func() error) func(m pbt.Member) (pbt.Trainee, error) {
	return func(m pbt.Member) (pbt.Trainee, error) {
		env, err := wrappers.NewParallel(4, func(int) (envs.Single, error) {
			g := game
			return &g, nil
		}, wrappers.ParallelOptions{Seed: m.Seed, Workers: 1})
		if err != nil {
			return nil, err
		}
		first := networks{}
		groups, err := ippo.Groups(nil, env.Spaces(), centralised)
		for _, g := range groups {
			seen := map[string]spaces.Space{".policy": g.Spaces.Observation, ".value": g.Spaces.Observation}
			if centralised {
				seen[".value"] = g.Spaces.State
			}
			for role, space := range seen {
				a, fault := description.NewArchitecture(space, []int{8}, 8, []int{8}, "tanh")
				first[g.Name+role], err = a, errors.Join(err, fault)
			}
		}
		if err != nil {
			return nil, err
		}
		return trainee(m, env, first, onStep, func(sp spaces.Set, shapes networks) (agents.Agent, error) {
			return ippo.New(ippo.Options{Spaces: sp, Centralised: centralised, Seed: m.Seed,
				Models: ippo.Evolvable(shapes, models.DefaultGaussianConfig()),
				Dict:   map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2}})
		})
	}
}

// checkGroups checks that each of two kinds of agents has networks of its own after a few generations, and that the
// table shows them by agent.
func checkGroups(t *testing.T, o evolution.Options, e *evolution.Evolution) {
	wantInTable(t, e, "speaker_0.policy 2→", "listener_0.value ", "listener_0.learning_rate")
	own := 0
	for id := range o.Members {
		all := must.Get(evolution.Architectures(must.Get(e.Population().Trainee(id).Snapshot())(t)))(t)
		_, speaker, _ := strings.Cut(all["speaker_0.policy"].String(), "→")
		if _, listener, _ := strings.Cut(all["listener_0.policy"].String(), "→"); speaker != listener {
			own++
		}
	}
	must.Not(t, own == 0, "no member has networks that differ: this shows little")
}

// The fitness is the sum over all agents, of those that leave early as well (AgileRL's defect 7). A fitness that never
// differs is noted. The agents are MAPPO's.
func TestGroupsFitness(t *testing.T) {
	o := options()
	o.Sample, o.New, o.Members, o.TotalSteps = nil, pair(true, rendezvous{fixed: true}, nil), 2, 3*o.IntervalSteps
	e := must.Open(evolution.New(o))(t)
	must.Get(e.Train(t.Context()))(t)
	for _, r := range e.Table().Rows {
		must.Is(t, r.Objective, 4*1+7*10, "the fitness of member %d", r.Member)
	}
	wantInTable(t, e, "selected by chance")
}
