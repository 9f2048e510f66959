package gymnasium

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/peers"
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
		n             int // copies
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
	row := make([]float32, w)
	for j, x := range p.arrays[name][p.step*w : (p.step+1)*w] {
		row[j] = float32(x)
	}
	return row
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

func TestPeersGamesCheck(t *testing.T) {
	for _, name := range []string{"mpe2.simple_speaker_listener_v4", "butterfly.knights_archers_zombies_v11",
		"classic.connect_four_v3"} {
		t.Run(name, func(t *testing.T) {
			e := open(t, zoo(t, name, 3, 2))
			if err := envs.Check(e, 1000, 3); err != nil {
				t.Error(err)
			}
		})
	}
}
