package selfplay

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gorl-dev/gorl/envs"
)

// Supports reports whether the game inside is [envs.Stateful].
func (g *Game) Supports(iface any) bool {
	if _, ok := iface.(*envs.Stateful); ok {
		_, ok := envs.SingleAs[envs.Stateful](g.single)
		return ok
	}
	return true
}

// savedGame is a game within an episode, at the learner's turn.
type savedGame struct {
	Format      int          `json:"self_play_game"`
	Seat        int          `json:"seat"`
	Turn        int          `json:"turn"`
	Foreign     bool         `json:"foreign,omitempty"`
	Players     []savedPlace `json:"players"`
	Observation []float32    `json:"observation"`
	State       []float32    `json:"state,omitempty"`
	Mask        []float32    `json:"mask,omitempty"`
	Active      []bool       `json:"active"`
	Single      []byte       `json:"single"`
}

type savedPlace struct {
	ID
	Past   bool      `json:"past,omitempty"`
	Hidden []float32 `json:"hidden,omitempty"`
	Total  float64   `json:"total"`
}

// MarshalState returns the episode in progress and the state of the game inside. Opponents are saved by their IDs,
// because their policies are in the learner's curriculum (see [Env]).
func (g *Game) MarshalState() ([]byte, error) {
	inner, ok := envs.SingleAs[envs.Stateful](g.single)
	if !ok {
		return nil, fmt.Errorf("selfplay: the state of %T: %w", g.single, errors.ErrUnsupported)
	}
	b, err := inner.MarshalState()
	if err != nil {
		return nil, err
	}
	s := savedGame{Format: 1, Seat: g.seat, Turn: g.turn, Foreign: g.foreign, Observation: g.joint.Observation,
		State: g.joint.State, Mask: g.joint.ActionMask, Active: g.joint.Seats.Active, Single: b}
	for _, p := range g.players {
		q := savedPlace{ID: randomID, Hidden: p.hidden, Total: p.total}
		if p.opponent != nil {
			q.ID, q.Past = p.id, p.past
		}
		s.Players = append(s.Players, q)
	}
	return json.Marshal(s)
}

// RestoreState puts back what MarshalState returned, all or (on an error) nothing. If an opponent is no longer in the
// pool, the newest self takes its place.
func (g *Game) RestoreState(b []byte) error {
	inner, ok := envs.SingleAs[envs.Stateful](g.single)
	if !ok {
		return fmt.Errorf("selfplay: the state of %T: %w", g.single, errors.ErrUnsupported)
	}
	var s savedGame
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("selfplay: the saved game: %w", err)
	}
	j := g.joint
	if s.Format != 1 || s.Seat < 0 || s.Seat >= len(g.players) || s.Turn < -1 || s.Turn > 1<<30 ||
		len(s.Players) != len(g.players) || len(s.Observation) != len(j.Observation) || len(s.State) != len(j.State) ||
		len(s.Mask) != len(j.ActionMask) || len(s.Active) != len(j.Seats.Active) {
		return fmt.Errorf("selfplay: the saved game (format %d, seat %d of %d) is not of this game, which has %d seats",
			s.Format, s.Seat, len(s.Players), len(g.players))
	}
	if err := g.set.CheckMasks(s.Mask, 1); err != nil {
		return fmt.Errorf("selfplay: the saved game: %w", err)
	}
	players := make([]place, len(g.players))
	team := g.set.Seats[s.Seat].Team
	for i, q := range s.Players {
		p := place{rival: team == "" || g.set.Seats[i].Team != team, total: q.Total}
		if i != s.Seat {
			p.opponent = g.pool.at(q.ID, q.Past)
			p.hidden = make([]float32, p.player.HiddenSize())
			if len(q.Hidden) == len(p.hidden) {
				copy(p.hidden, q.Hidden)
			}
		}
		players[i] = p
	}
	if err := inner.RestoreState(s.Single); err != nil {
		return err
	}
	copy(j.Observation, s.Observation)
	copy(j.State, s.State)
	copy(j.ActionMask, s.Mask)
	copy(j.Seats.Active, s.Active)
	g.seat, g.turn, g.foreign, g.players = s.Seat, s.Turn, s.Foreign, players
	g.terminated, g.truncated = false, false
	return nil
}
