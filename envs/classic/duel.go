package classic

import "github.com/gorl-dev/gorl/spaces"

// This file has what games of two players share. A winner is 1 for player_0, -1 for player_1 and 0 for none.

// twoPlayers are the spaces of a game of two equal seats, player_0 and player_1.
func twoPlayers(seat spaces.Seat) spaces.Set {
	other := seat
	seat.Name, other.Name = "player_0", "player_1"
	return spaces.NewSeats(spaces.Space{}, seat, other)
}

// decide writes the rewards and ends of a step: 1 for the winner and -1 for the loser.
func decide(out spaces.SeatStep, winner int8, ends bool) {
	out.Rewards[0], out.Rewards[1] = float32(winner), float32(-winner)
	for k := range 2 {
		out.Terminated[k], out.Truncated[k] = ends, false
	}
}

// results returns the figures of an episode.
func results(winner int8) map[string]float64 {
	figures := map[string]float64{"draw": 0, "won/player_0": 0, "won/player_1": 0}
	figures[map[int8]string{0: "draw", 1: "won/player_0", -1: "won/player_1"}[winner]] = 1
	return figures
}
