package gymnasium

import (
	"fmt"
	"image/color"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
	"github.com/gorl-dev/gorl/spaces"
)

// zoo returns options of n games of a module of PettingZoo, or of a factory in testdata.
func zoo(t testing.TB, name string, n, children int) Options {
	t.Helper()
	peers.Python(t, "pettingzoo", "mpe2", "pygame")
	o := real(t, name, n, children)
	o.PettingZoo = true
	return o
}

// Games of agents that act at once must be, number for number, those that PettingZoo plays with the same seeds and
// actions: observations, rewards, ends, who lives, states. No row shows what did not happen: SuperSuit's black_death
// tells of an end one step late, in a row of zeros, and of a time limit as a termination.
func TestPeersGames(t *testing.T) {
	for _, c := range []struct {
		name          string
		n             int  // copies
		games, deaths int  // at least so many in the first copy
		cut           bool // every game is ended by a time limit
	}{
		{"mpe2.simple_spread_v3", 2, 400, 0, true}, {"mpe2.simple_speaker_listener_v4", 2, 400, 0, true},
		{"pettingzoo.butterfly.knights_archers_zombies_v11", 1, 20, 20, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			const steps, seed = 10_000, 17
			n := c.n
			o := zoo(t, c.name, n, n)
			array := reference(t, o.Python, "games_reference.py", c.name, n, steps, seed)
			e := open(t, o)
			k := len(e.Spaces().Seats)
			played := make([]playedGame, n)
			for i := range played {
				played[i] = playedGame{T: t, i: i, cut: c.cut, arrays: map[string][]float64{}}
				for _, name := range []string{"observations", "states", "active", "actions", "rewards", "terminated",
					"truncated", "over", "finals", "final_states"} {
					played[i].arrays[name] = array(fmt.Sprint(name, i))
				}
			}
			s, actions := envtest.Reset(t, e, seed), make([]float32, n*k)
			for step := range steps {
				for i := range played {
					p := &played[i]
					p.step = step
					p.before(e, s)
					copy(actions[i*k:], p.row("actions", k))
				}
				s = envtest.Step(t, e, actions)
				for i := range played {
					played[i].after(e, s)
				}
			}
			t.Logf("%d copies, %d steps, %d games, %d deaths before the end: equal", n, steps, played[0].games,
				played[0].deaths)
			must.Not(t, played[0].games < c.games || played[0].deaths < c.deaths,
				"%d games and %d deaths, want at least %d and %d", played[0].games, played[0].deaths, c.games, c.deaths)
		})
	}
}

// playedGame holds one copy against what games_reference.py wrote of it.
type playedGame struct {
	*testing.T
	i, step       int
	arrays        map[string][]float64
	cut           bool
	length, ended int // of the game in progress: steps, and agents that have ended
	games, deaths int // of all games: deaths are ends of agents before the game's
}

// row returns the row of this step of an array with w columns.
func (p *playedGame) row(name string, w int) []float32 {
	return number.Float32s(nil, p.arrays[name][p.step*w:(p.step+1)*w])
}

// same fails unless the rows of the copy in a batch are those of an array.
func (p *playedGame) same(name string, got []float32, w int) {
	p.Helper()
	if want := p.row(name, w); !slices.Equal(got[p.i*w:(p.i+1)*w], want) {
		p.Fatalf("copy %d, step %d: %s %v, want %v", p.i, p.step, name, got[p.i*w:(p.i+1)*w], want)
	}
}

// numbers returns 1 for every true.
func numbers(flags []bool) []float32 {
	all := make([]float32, len(flags))
	for i, flag := range flags {
		if flag {
			all[i] = 1
		}
	}
	return all
}

// before checks what the game shows before the step.
func (p *playedGame) before(e *Env, s *envs.Step) {
	p.Helper()
	p.same("observations", s.Observations, e.set.Observation.Width())
	p.same("states", s.States, e.set.State.Width())
	p.same("active", numbers(s.Seats.Active), len(e.set.Seats))
}

// after checks what the step has brought.
func (p *playedGame) after(e *Env, s *envs.Step) {
	p.Helper()
	k := len(e.set.Seats)
	p.same("rewards", s.Seats.Rewards, k)
	p.same("terminated", numbers(s.Seats.Terminated), k)
	p.same("truncated", numbers(s.Seats.Truncated), k)
	over := s.Ended(p.i)
	must.Is(p, over, p.row("over", 1)[0] == 1, "copy %d, step %d: the game is over", p.i, p.step)
	seats, now := s.Seats.Row(p.i, k), 0
	for j := range k {
		if seats.Terminated[j] || seats.Truncated[j] {
			now++
		}
	}
	p.length, p.ended = p.length+1, p.ended+now
	if !over {
		p.deaths += now
		return
	}
	p.same("finals", s.FinalObservations, e.set.Observation.Width())
	p.same("final_states", s.FinalStates, e.set.State.Width())
	last := s.Episodes[slices.IndexFunc(s.Episodes, func(e envs.Episode) bool { return e.Env == p.i })]
	must.Not(p, p.ended != k || last.Length != p.length || p.cut && (s.Terminated[p.i] || !s.Truncated[p.i]),
		"copy %d, step %d: %d of %d agents ended in a game of %d steps (%d counted), terminated: %t", p.i, p.step,
		p.ended, k, last.Length, p.length, s.Terminated[p.i])
	p.games++
	p.length, p.ended = 0, 0
}

// Games by turns must be those that PettingZoo's own loop plays, agent_iter and last: who acts, what it sees and may
// do, and what it has got since its last turn.
func TestPeersGamesByTurns(t *testing.T) {
	for _, c := range []struct {
		name, module string
		aec          bool
		games        int
	}{{"tictactoe", "pettingzoo.classic.tictactoe_v3", false, 200},
		{"connect four", "pettingzoo.classic.connect_four_v3", false, 50},
		{"speaker and listener", "mpe2.simple_speaker_listener_v4", true, 10}} {
		t.Run(c.name, func(t *testing.T) {
			const steps, seed = 2000, 5
			o := zoo(t, c.module, 1, 1)
			o.AEC = c.aec
			array := reference(t, o.Python, "games_reference.py", c.module+":aec", 1, steps, seed)
			agents, seen, masks, actions := array("agent0"), array("observation0"), array("mask0"), array("action0")
			rewards, dead := array("reward0"), array("dead0")
			terminated, truncated := array("terminated0"), array("truncated0")
			e := open(t, o)
			seats, games := e.Spaces().Seats, 0
			s := envtest.Reset(t, e, seed)
			got := make([]float64, len(seats)) // what each agent has got since its last turn
			var ended spaces.SeatStep
			for at, agent := range agents {
				j := int(agent)
				must.Near(t, got[j], rewards[at], 1e-5, "turn %d: what agent %d has got since its last", at, j)
				got[j] = 0
				if dead[at] == 1 { // PettingZoo has it act once more, which is no turn
					must.Is(t, ended.Terminated[j], terminated[at] == 1, "turn %d: agent %d terminated", at, j)
					must.Is(t, ended.Truncated[j], truncated[at] == 1, "turn %d: agent %d truncated", at, j)
					continue
				}
				first, mask := 0, 0
				for _, seat := range seats[:j] {
					first += seat.Observation.Width()
					mask += seat.ActionMask.Width()
				}
				w, m := seats[j].Observation.Width(), seats[j].ActionMask.Width()
				from := at * len(seen) / len(agents)
				must.Same(t, s.Observations[first:first+w], number.Float32s(nil, seen[from:from+w]), "turn %d", at)
				if from = at * len(masks) / len(agents); m > 0 {
					must.Same(t, s.ActionMasks[mask:mask+m], number.Float32s(nil, masks[from:from+m]), "mask %d", at)
				}
				row, active := make([]float32, len(seats)), make([]bool, len(seats))
				row[j], active[j] = float32(actions[at]), true
				must.Same(t, s.Seats.Active, active, "turn %d: active", at)
				s = envtest.Step(t, e, row)
				for i, r := range s.Seats.Rewards {
					got[i] += float64(r)
				}
				if s.Ended(0) {
					games++
					ended = spaces.SeatStep{Terminated: slices.Clone(s.Seats.Terminated),
						Truncated: slices.Clone(s.Seats.Truncated)}
				}
			}
			if t.Logf("%d turns, %d games: equal", steps, games); games < c.games {
				t.Errorf("%d games, want at least %d", games, c.games)
			}
		})
	}
}

// A game whose agents differ in their spaces. One agent joins late and two die. Every number is checked.
func TestPeersGameOfOwn(t *testing.T) {
	o := zoo(t, "bridge_games:Lives", 2, 2)
	o.RenderMode, o.Infos = "rgb_array", true
	e := open(t, o)
	set := e.Spaces()
	want := spaces.NewSeats(spaces.Unbounded(2), spaces.Seat{Name: "a_0", Observation: spaces.NewBox(-9, 9, 2),
		Action: spaces.NewDiscrete(3)}, spaces.Seat{Name: "b_0", Observation: spaces.NewDict(map[string]spaces.Space{
		"camera": {Kind: spaces.Box, Shape: []int{2, 2}, DType: spaces.Uint8}, "door": spaces.NewDiscrete(4)}),
		Action: spaces.NewBox(-1, 1, 2)}, spaces.Seat{Name: "c_0", Observation: spaces.NewBox(-9, 9, 1),
		Action: spaces.NewMultiDiscrete(2, 3), ActionMask: spaces.NewActionMask(spaces.NewMultiDiscrete(2, 3))})
	name, got, wanted := set.Difference(want)
	must.Not(t, name != "", "%s: %v, want %v", name, got, wanted)
	must.Do(t, envs.Check(e, 60, 3))
	s := envtest.Reset(t, e, 5)
	actions := []float32{2, 0.5, -0.5, 0, 1, 2, 0.5, -0.5, 0, 1} // a_0: 2, b_0: (0.5, -0.5), c_0: (0, 1)
	for k, want := range []string{
		// observations, states, masks, rewards, terminated, truncated, active
		"[0 6 0 0 0 0 0 0] [0 2] [1 1 1 1 1] [0 0 0] [0 0 0] [0 0 0] [1 1 0]",
		"[1 6 10 10 10 10 1 -1] [1 3] [1 1 1 0 0] [1 1.5 0] [0 0 0] [0 0 0] [1 1 1]",
		"[2 6 20 20 20 20 2 -2] [2 2] [0 1 1 1 0] [2 2.5 3] [1 0 0] [0 0 0] [0 1 1]",
		"[0 0 30 30 30 30 3 -3] [3 2] [1 1 1 0 0] [0 3 3.5] [0 0 0] [0 0 0] [0 1 1]",
		"[0 0 40 40 40 40 0 -4] [4 1] [1 1 1 1 1] [0 4 4.5] [0 0 1] [0 0 0] [0 1 0]",
		"[0 6 0 0 0 0 0 0] [0 2] [1 1 1 1 1] [0 5 0] [0 0 0] [0 1 0] [1 1 0]",
	} {
		if k > 0 {
			actions[8] = float32(k % 2) // allowed in step 2 and 4
			s = envtest.Step(t, e, actions)
		}
		seats := set.MakeSeatStep(2).Row(1, 3)
		if k > 0 {
			seats = s.Seats.Row(1, 3)
		}
		must.Is(t, fmt.Sprint(s.Observations[8:], s.States[2:], s.ActionMasks[5:], seats.Rewards,
			numbers(seats.Terminated), numbers(seats.Truncated), numbers(s.Seats.Active[3:])), want, "step %d", k)
	}
	must.Same(t, s.FinalObservations[8:], []float32{0, 0, 50, 50, 50, 50, 1, 0}, "the last observations")
	must.Not(t, s.Terminated[1] || !s.Truncated[1] || s.FinalStates[2] != 5 || s.Episodes[1].Metrics["b_0.k"] != 5 ||
		s.Episodes[1].Return != 1+1.5+2+2.5+3+3+3.5+4+4.5+5, "the end: %+v", s)
	envtest.Step(t, e, actions)
	must.Is(t, must.Get(e.Render(1))(t).At(0, 0), color.Color(color.RGBA{1, 1, 1, 255}), "picture")
	o = zoo(t, "bridge_games:Lives", 1, 1)
	o.States, o.ActionMasks = Ignore, Ignore
	set = open(t, o).Spaces()
	must.Is(t, set.State.Width()+set.ActionMask.Width(), 0, "values of states and masks, which are ignored")
}

// A game by turns of which one agent is killed in another's turn: a reward counts in the turn in which it arises.
func TestPeersGameByTurnsOfOwn(t *testing.T) {
	e := open(t, zoo(t, "bridge_games:Turns", 1, 1))
	must.Do(t, envs.Check(e, 60, 3))
	s := envtest.Reset(t, e, 5)
	for k, want := range []string{
		"[0 0 0 1 0 2] [0 1 0 1 1 1 1 1 1 1 1 1] [] [] [] [1 0 0]",
		"[1 0 1 1 1 2] [1 1 1 1 1 1 0 1 1 1 1 1] [1 0.5 0] [0 0 0] [0 0 0] [0 1 0]",
		"[2 0 2 1 2 2] [1 1 1 1 1 1 1 1 0 1 0 1] [0 1 0.5] [0 0 0] [0 0 0] [0 0 1]",
		"[3 0 3 1 3 2] [1 1 0 1 1 1 1 1 1 1 1 1] [0.5 0 1] [0 1 0] [0 0 0] [1 0 0]",
		"[4 0 0 0 4 2] [1 1 1 1 1 1 1 1 0 1 0 1] [1 0 0.5] [0 0 0] [0 0 0] [0 0 1]",
		"[5 0 0 0 5 2] [1 1 0 1 1 1 1 1 1 1 1 1] [0.5 0 1] [0 0 0] [0 0 0] [1 0 0]",
		"[0 0 0 1 0 2] [0 1 0 1 1 1 1 1 1 1 1 1] [1 0 0.5] [0 0 0] [1 0 1] [1 0 0]",
	} {
		if k > 0 {
			s = envtest.Step(t, e, []float32{1, 1, 1})
		}
		must.Is(t, fmt.Sprint(s.Observations, s.ActionMasks, s.Seats.Rewards, numbers(s.Seats.Terminated),
			numbers(s.Seats.Truncated), numbers(s.Seats.Active)), want, "turn %d", k)
	}
	must.Is(t, fmt.Sprint(s.FinalObservations, s.Terminated, s.Truncated), "[6 0 0 0 6 2] [false] [true]", "the end")
}

// When a child dies in the middle of a game, the agents that live are truncated where they were, and a new game begins.
func TestPeersGameOfALostChild(t *testing.T) {
	o := zoo(t, "bridge_games:Lives", 2, 2)
	o.Replace = 1
	e := open(t, o)
	envtest.Reset(t, e, 5)
	var s *envs.Step
	for k := 1; k <= 4; k++ {
		if k == 4 { // a_0 has died in step 2
			lose(t, e, 1)
		}
		s = envtest.Step(t, e, slices.Repeat([]float32{0, 0, 0, float32((k + 1) % 2), 0}, 2))
	}
	seats := s.Seats.Row(1, 3)
	must.Is(t, fmt.Sprint(s.Observations[8:], s.FinalObservations[8:], s.FinalStates[2:], seats.Rewards,
		seats.Terminated, seats.Truncated, seats.Active, s.Truncated), "[0 1 0 0 0 0 0 0] [0 0 30 30 30 30 3 -3] "+
		"[3 2] [0 0 0] [false false false] [false true true] [true true false] [false true]", "the new game")
	must.Not(t, s.Seats.Rewards[1] != 4 || e.Replaced() != 1, "the other game: %v", s.Seats.Rewards)
	must.Do(t, envs.Check(e, 30, 1))
}
