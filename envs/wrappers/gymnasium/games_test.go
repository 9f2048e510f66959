package gymnasium

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			if played[0].games < c.games || played[0].deaths < c.deaths {
				t.Errorf("%d games and %d deaths, want at least %d and %d", played[0].games, played[0].deaths, c.games,
					c.deaths)
			}
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
	ended := make([]bool, e.NumEnvs())
	for i := range ended {
		ended[i] = s.Ended(i)
	}
	p.same("over", numbers(ended), 1)
	p.length++
	seats, now := s.Seats.Row(p.i, k), 0
	for j := range k {
		if seats.Terminated[j] || seats.Truncated[j] {
			now++
		}
	}
	p.ended += now
	if !s.Ended(p.i) {
		p.deaths += now
		return
	}
	p.same("finals", s.FinalObservations, e.set.Observation.Width())
	p.same("final_states", s.FinalStates, e.set.State.Width())
	last := s.Episodes[slices.IndexFunc(s.Episodes, func(e envs.Episode) bool { return e.Env == p.i })]
	if p.ended != k || last.Length != p.length || p.cut && (s.Terminated[p.i] || !s.Truncated[p.i]) {
		p.Fatalf("copy %d, step %d: %d of %d agents ended in a game of %d steps (%d counted), terminated: %t", p.i, p.step,
			p.ended, k, last.Length, p.length, s.Terminated[p.i])
	}
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
	}{{"tictactoe", "pettingzoo.classic.tictactoe_v3", false, 200}, {"connect four", "pettingzoo.classic.connect_four_v3",
		false, 50}, {"speaker and listener", "mpe2.simple_speaker_listener_v4", true, 10}} {
		t.Run(c.name, func(t *testing.T) {
			const steps, seed = 2000, 5
			o := zoo(t, c.module, 1, 1)
			o.AEC = c.aec
			array := reference(t, o.Python, "games_reference.py", c.module+":aec", 1, steps, seed)
			agents, seen, masks, actions := array("agent0"), array("observation0"), array("mask0"), array("action0")
			rewards, dead := array("reward0"), array("dead0")
			terminated, truncated := array("terminated0"), array("truncated0")
			e := open(t, o)
			set, games := e.Spaces(), 0
			s := envtest.Reset(t, e, seed)
			got := make([]float64, len(set.Seats)) // what each agent has got since its last turn
			var ended envs.Step
			for at, agent := range agents {
				j := int(agent)
				if got[j] != rewards[at] && math.Abs(got[j]-rewards[at]) > 1e-5 {
					t.Fatalf("turn %d: agent %d has got %g since its last, want %g", at, j, got[j], rewards[at])
				}
				got[j] = 0
				if dead[at] == 1 { // PettingZoo has it act once more, which is no turn
					if ended.Seats.Terminated[j] != (terminated[at] == 1) || ended.Seats.Truncated[j] != (truncated[at] == 1) {
						t.Fatalf("turn %d: agent %d has ended by %t, %t; want %g, %g", at, j, ended.Seats.Terminated[j],
							ended.Seats.Truncated[j], terminated[at], truncated[at])
					}
					continue
				}
				for i, active := range s.Seats.Active {
					must.Is(t, active, i == j, "turn %d: active %v, want agent %d alone", at, s.Seats.Active, j)
				}
				first, mask, action := 0, 0, 0
				for i := range j {
					first += set.Seats[i].Observation.Width()
					mask += set.Seats[i].ActionMask.Width()
					action++
				}
				w, wide := set.Seats[j].Observation.Width(), len(seen)/len(agents)
				same(t, at, "observation", s.Observations[first:first+w], seen[at*wide:])
				if m := set.Seats[j].ActionMask.Width(); m > 0 {
					same(t, at, "mask", s.ActionMasks[mask:mask+m], masks[at*len(masks)/len(agents):])
				}
				row := make([]float32, len(set.Seats))
				row[action] = float32(actions[at])
				s = envtest.Step(t, e, row)
				for i, r := range s.Seats.Rewards {
					got[i] += float64(r)
				}
				if s.Ended(0) {
					games++
					ended = envs.Step{Seats: spaces.SeatStep{Terminated: slices.Clone(s.Seats.Terminated),
						Truncated: slices.Clone(s.Seats.Truncated)}}
				}
			}
			if t.Logf("%d turns, %d games: equal", steps, games); games < c.games {
				t.Errorf("%d games, want at least %d", games, c.games)
			}
		})
	}
}

// same fails unless a row has the numbers that want begins with.
func same(t *testing.T, turn int, what string, got []float32, want []float64) {
	t.Helper()
	for i, x := range got {
		must.Is(t, x, float32(want[i]), "turn %d: the %s is %v, want %v", turn, what, got, want[:len(got)])
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
	if name, got, wanted := set.Difference(want); name != "" {
		t.Fatalf("%s: %v, want %v", name, got, wanted)
	}
	must.Do(t, envs.Check(e, 60, 3))
	s := envtest.Reset(t, e, 5)
	actions := []float32{2, 0.5, -0.5, 0, 1, 2, 0.5, -0.5, 0, 1} // a_0: 2, b_0: (0.5, -0.5), c_0: (0, 1)
	type shown struct {
		Observations, States, Masks, Rewards []float32
		Terminated, Truncated, Active        string
	}
	of := func(s *envs.Step) shown {
		seats := s.Seats
		if seats.Rewards == nil {
			seats = set.MakeSeatStep(2)
			seats.Active = s.Seats.Active
		}
		seats = seats.Row(1, 3)
		return shown{s.Observations[8:], s.States[2:], s.ActionMasks[5:], seats.Rewards, fmt.Sprint(numbers(seats.Terminated)),
			fmt.Sprint(numbers(seats.Truncated)), fmt.Sprint(numbers(seats.Active))}
	}
	all := []float32{1, 1, 1, 1, 1}
	for k, want := range []shown{
		{[]float32{0, 6, 0, 0, 0, 0, 0, 0}, []float32{0, 2}, all, []float32{0, 0, 0}, "[0 0 0]", "[0 0 0]", "[1 1 0]"},
		{[]float32{1, 6, 10, 10, 10, 10, 1, -1}, []float32{1, 3}, []float32{1, 1, 1, 0, 0}, []float32{1, 1.5, 0}, "[0 0 0]",
			"[0 0 0]", "[1 1 1]"},
		{[]float32{2, 6, 20, 20, 20, 20, 2, -2}, []float32{2, 2}, []float32{0, 1, 1, 1, 0}, []float32{2, 2.5, 3},
			"[1 0 0]", "[0 0 0]", "[0 1 1]"},
		{[]float32{0, 0, 30, 30, 30, 30, 3, -3}, []float32{3, 2}, []float32{1, 1, 1, 0, 0}, []float32{0, 3, 3.5},
			"[0 0 0]", "[0 0 0]", "[0 1 1]"},
		{[]float32{0, 0, 40, 40, 40, 40, 0, -4}, []float32{4, 1}, all, []float32{0, 4, 4.5}, "[0 0 1]", "[0 0 0]", "[0 1 0]"},
		{[]float32{0, 6, 0, 0, 0, 0, 0, 0}, []float32{0, 2}, all, []float32{0, 5, 0}, "[0 0 0]", "[0 1 0]", "[1 1 0]"},
	} {
		if k > 0 {
			actions[8] = float32(k % 2) // allowed in step 2 and 4
			s = envtest.Step(t, e, actions)
		}
		must.Match(t, want, of(s), "step %d", k)
	}
	if diff := cmp.Diff([]float32{0, 0, 50, 50, 50, 50, 1, 0}, s.FinalObservations[8:]); diff != "" || s.Terminated[1] ||
		!s.Truncated[1] || s.FinalStates[2] != 5 || s.Episodes[1].Return != 1+1.5+2+2.5+3+3+3.5+4+4.5+5 ||
		s.Episodes[1].Metrics["b_0.k"] != 5 {
		t.Errorf("the end: %s, %+v", diff, s)
	}
	envtest.Step(t, e, actions)
	must.Is(t, must.Get(e.Render(1))(t).At(0, 0), color.Color(color.RGBA{1, 1, 1, 255}), "picture")
	o = zoo(t, "bridge_games:Lives", 1, 1)
	o.States, o.ActionMasks = Ignore, Ignore
	if set := open(t, o).Spaces(); set.State.Width() != 0 || set.ActionMask.Width() != 0 {
		t.Errorf("%v and %v are not ignored", set.State, set.ActionMask)
	}
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

// What is no game, or breaks PettingZoo's rules, is an error that names the agent and what to do.
func TestPeersGamesRefused(t *testing.T) {
	for _, c := range []struct {
		name, bad string
		change    func(*Options)
		want      string
		fault     Fault
	}{
		{"bridge_games:Lives", "spaces", nil, "differ in their possible_agents or in their spaces", FaultStart},
		{"bridge_games:Lives", "nobody", nil, "reset of Lives leaves no agent that acts", FaultStart},
		{"bridge_games:Lives", "stranger", nil, "'d_0', which is none of possible_agents, ['a_0', 'b_0', 'c_0']",
			FaultException},
		{"bridge_games:Lives", "tells", nil, "the agent 'e_0', which is none of possible_agents", FaultException},
		{"bridge_games:Lives", "back", nil, "the agent 'a_0' has ended and is among the agents", FaultException},
		{"bridge_games:Lives", "stays", nil, "the agent 'a_0' has ended and is among the agents", FaultException},
		{"bridge_games:Lives", "leaves", nil, "'b_0' has left the agents of Lives, neither terminated nor truncated",
			FaultException},
		{"bridge_games:Lives", "shape", nil, "the observation of the agent 'b_0' of Lives: ValueError: a value has the shape " +
			"(3, 3); its space says (2, 2)", FaultException},
		{"bridge_games:Lives", "mask", nil, "the action mask of the agent 'c_0' is [2 2 2 2 2]", FaultException},
		{"bridge_games:Lives", "reward", nil, "returned the reward None of type NoneType", FaultException},
		{"bridge_games:Lives", "flag", nil, "the terminations of Lives have 'no' for the agent 'b_0'", FaultException},
		{"bridge_games:Lives", "lacks", nil, "the rewards of Lives lack the agent 'b_0'", FaultException},
		{"bridge_games:Lives", "state", nil, "set states to ignore", FaultException},
		{"bridge_games:Lives", "exception", nil, "the game is cross", FaultException},
		{"bridge_games:Lives", "exit", nil, "ended with status 4", FaultExit},
		{"bridge_games:Turns", "stranger", nil, "'x_9', which is none of possible_agents", FaultException},
		{"bridge_games:Turns", "selects", nil, "selects the agent 'x_1', which does not live", FaultException},
		{"bridge_games:Nobody", "", nil, "returned a Nobody; it must be a pettingzoo.ParallelEnv or AECEnv", FaultStart},
		{"bridge_games:Lives", "", func(o *Options) { o.AEC = true }, "leave aec out", FaultStart},
		{"mpe2.simple_spread_v2", "", nil, "there is no environment 'mpe2.simple_spread_v2'; mpe2 has simple_spread_v3",
			FaultStart},
		{"classic.connect_five_v1", "", nil, "chess_v6, connect_four_v3", FaultStart},
		{"nothing.at_all_v1", "", nil, "nothing.at_all_v1 cannot be imported", FaultStart},
		{"json", "", nil, "json has neither parallel_env nor env", FaultStart},
	} {
		t.Run(c.name+" "+c.bad, func(t *testing.T) {
			o := zoo(t, c.name, 2, 1)
			if c.bad != "" {
				o.Kwargs = map[string]any{"bad": c.bad}
			}
			if c.change != nil {
				c.change(&o)
			}
			e, err := New(o)
			if err == nil {
				t.Cleanup(func() { e.Close() })
				_, err = e.Reset(1)
			}
			for k := 1; k < 8 && err == nil; k++ {
				actions := slices.Repeat([]float32{0, 0, 0, float32((k + 1) % 2), 0}, 2)
				if strings.HasSuffix(c.name, "Turns") {
					actions = slices.Repeat([]float32{1}, 6)
				}
				_, err = e.Step(actions)
			}
			faulted(t, err, c.fault, c.want)
		})
	}
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
	if got := fmt.Sprint(s.Observations[8:], s.FinalObservations[8:], s.FinalStates[2:], seats.Rewards, seats.Terminated,
		seats.Truncated, seats.Active, s.Truncated); got != "[0 1 0 0 0 0 0 0] [0 0 30 30 30 30 3 -3] [3 2] [0 0 0] "+
		"[false false false] [false true true] [true true false] [false true]" {
		t.Error(got)
	}
	if s.Seats.Rewards[1] != 4 || e.Replaced() != 1 {
		t.Errorf("the other game: %v", s.Seats.Rewards)
	}
	must.Do(t, envs.Check(e, 30, 1))
}

// A batch with several agents in each environment (DirectMARLEnv): every number. An agent that ends before the
// environment is reset is out until then, whatever the simulator goes on to say of it.
func TestPeersTeam(t *testing.T) {
	const n = 4
	team := func(simulator Simulator, kwargs map[string]any) Options {
		o := real(t, "bridge_batches:Team", n, 0)
		o.Simulator, o.Kwargs = simulator, kwargs
		return o
	}
	e := open(t, team(IsaacLab, nil))
	set := e.Spaces()
	want := spaces.NewSeats(spaces.Unbounded(3), spaces.Seat{Name: "cart", Observation: spaces.Unbounded(2),
		Action: spaces.NewBox(-1, 1, 1)}, spaces.Seat{Name: "pole", Observation: spaces.Unbounded(1),
		Action: spaces.NewDiscrete(3)})
	if name, got, wanted := set.Difference(want); name != "" {
		t.Fatalf("%s: %v, want %v", name, got, wanted)
	}
	must.Do(t, envs.Check(e, 60, 3))
	s := envtest.Reset(t, e, 1)
	for k := 0; k < 60; k++ {
		for i := range n {
			// The step of the game, k % length, and what it has brought.
			length, odd := 4+i%3, i%2 == 1
			if odd {
				length = 3
			}
			now := k % length
			if got := fmt.Sprint(s.Observations[3*i:3*i+3], s.States[3*i:3*i+3], s.Seats.Active[2*i:2*i+2]); got !=
				fmt.Sprint([]int{now, i, -now}, []int{now, i, -now}, []bool{true, !odd || now < 2}) {
				t.Fatalf("step %d, environment %d shows %s", k, i, got)
			}
			if k == 0 {
				continue
			}
			step := (k-1)%length + 1
			seats, over := s.Seats.Row(i, 2), step == length
			fallen := odd && step > 2
			pole := float32(20)
			if fallen {
				pole = 0
			}
			if got := fmt.Sprint(seats.Rewards, seats.Terminated, seats.Truncated, s.Terminated[i], s.Truncated[i]); got !=
				fmt.Sprint([]float32{float32(step) + 0.5, pole}, []bool{odd && over, odd && step == 2},
					[]bool{!odd && over, !odd && over}, odd && over, !odd && over) {
				t.Fatalf("step %d, environment %d: %s", k, i, got)
			}
			if over && !s.FinalUnknown[i] {
				t.Fatalf("step %d, environment %d: the last observation is lost and counts as known", k, i)
			}
		}
		s = envtest.Step(t, e, slices.Repeat([]float32{0.5, 2}, n))
	}
	for _, c := range []struct {
		simulator Simulator
		kwargs    map[string]any
		want      string
	}{
		{IsaacLab, map[string]any{"forget": true}, "every agent of environment 1 has ended"},
		{IsaacLab, map[string]any{"missing": true}, "the observations of step of bridge_batches:Team are 'cart'; they must hold " +
			"one for each of 'cart', 'pole'"},
		{Batch, map[string]any{"mode": "next_step"}, "has several agents (possible_agents) and the autoreset next_step"},
	} {
		e, err := New(team(c.simulator, c.kwargs))
		if err == nil {
			t.Cleanup(func() { e.Close() })
			_, err = e.Reset(1)
		}
		for k := 0; k < 5 && err == nil; k++ {
			_, err = e.Step(make([]float32, 2*n))
		}
		must.Refuse(t, err, c.want)
	}
}
