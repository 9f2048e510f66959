package selfplay

import "math"

// Elo has the constants of Elo ratings (A. Elo, "The Rating of Chessplayers, Past and Present", 1978). A draw
// counts as half a win. The opponents' ratings do not change, because their weights are frozen.
type Elo struct {
	// K is the number of points that a win against an opponent of infinite strength gains.
	//
	// A larger value follows a learner faster. A smaller one makes ratings less noisy: the noise grows with the root
	// of K, and is about 30 points at 16.
	K float64 `yaml:"k" config:"gt=0"`
	// Scale is the difference of ratings at which the stronger player is expected to score 10 times as much as the
	// weaker one.
	Scale float64 `yaml:"scale" config:"gt=0"`
	// Initial is the rating of the random player, and of every member before its first game.
	Initial float64 `yaml:"initial"`
}

// DefaultElo returns K 16, and chess's scale of 400 and beginner's rating of 1000.
func DefaultElo() Elo { return Elo{K: 16, Scale: 400, Initial: 1000} }

// Expected returns the score, from 0 to 1, that a player is expected to reach against an opponent: 1/(1+10^(d/Scale)),
// where d is the opponent's rating minus the player's.
func (e Elo) Expected(rating, opponent float64) float64 {
	return 1 / (1 + math.Pow(10, (opponent-rating)/e.Scale))
}

// After returns a player's rating after a game with the score against each of its opponents: 1 for a win, ½ for a draw
// and 0 for a loss. The rating changes by K times the mean of score minus expected score. Without opponents it stays.
func (e Elo) After(rating float64, opponents, scores []float64) float64 {
	if len(opponents) == 0 {
		return rating
	}
	sum := 0.0
	for i, opponent := range opponents {
		sum += scores[i] - e.Expected(rating, opponent)
	}
	return rating + e.K*sum/float64(len(opponents))
}
