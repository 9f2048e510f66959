package selfplay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
)

// Config says which seat of a game the learner plays, and against whom. The yaml tags are the keys of the wrapper
// self_play in a file's environment.wrappers.
type Config struct {
	// Matchmaking says how an opponent is drawn. uniform draws all with equal probability. pfsp draws with weights
	// (1 − x)^power, where x is the share of games won against the opponent. rating prefers opponents whose rating is
	// near the learner's. self always takes the newest self.
	//
	// pfsp (prioritised fictitious self-play) trains against opponents that still win, rating against equals.
	Matchmaking string `yaml:"matchmaking" config:"oneof=uniform|pfsp|rating|self"`
	// Power is the exponent of pfsp. A larger value plays more against the strongest opponents.
	Power float64 `yaml:"power" config:"min=0"`
	// PastShare is the share of games against past selves. The other games are against the newest weights of all
	// members, including the learner's own.
	//
	// A larger value keeps a policy from forgetting how to beat earlier policies, and leaves fewer games against the
	// strongest.
	PastShare float64 `yaml:"past_share" config:"min=0,max=1"`
	// PastSelves is the number of past selves to keep. If there are more, one is dropped so that the others stay
	// evenly spread over training. The first and the newest always stay. Each past self adds a policy to every
	// snapshot.
	PastSelves int `yaml:"past_selves" config:"min=2,max=10000"`
	// Mix draws a separate opponent for each of the other seats. If false, all of them have the same opponent. It
	// matters only in games of three or more seats.
	Mix bool `yaml:"mix"`
	// Seat is the seat that the learner plays. random draws a seat for every episode, turns takes one seat after the
	// other, and any other value is the name of a seat.
	Seat string `yaml:"seat"`
	// Deterministic lets opponents take their most probable action. If false, opponents sample. Policies with memory
	// always take the most probable action.
	Deterministic bool `yaml:"deterministic"`
	// Rating has the constants of Elo ratings.
	Rating Elo `yaml:"rating"`
}

// The values of Config.Matchmaking.
const (
	Uniform = "uniform"
	PFSP    = "pfsp"
	Rating  = "rating"
	Self    = "self"
)

// The values of Config.Seat that are not the name of a seat.
const (
	RandomSeat = "random"
	SeatTurns  = "turns"
)

// DefaultConfig returns uniform matchmaking with 20 % of games against ten past selves, a random seat, mixed
// opponents, and DefaultElo.
func DefaultConfig() Config {
	return Config{Matchmaking: Uniform, Power: 2, PastShare: 0.2, PastSelves: 10, Mix: true, Seat: RandomSeat,
		Rating: DefaultElo()}
}

// Validate returns an error that names the settings that are not allowed.
func (c Config) Validate() error {
	err := config.Check(c, "selfplay")
	if c.Seat == "" {
		err = errors.Join(err, errors.New(`selfplay: seat is ""; want random, turns or the name of a seat`))
	}
	return err
}

// seatsFor returns the indices of the seats that the learner may play in a game, which must have equal spaces.
func (c Config) seatsFor(set spaces.Set) ([]int, error) {
	names := make([]string, len(set.Seats))
	for i, s := range set.Seats {
		names[i] = s.Name
	}
	if len(names) < 2 {
		return nil, errors.New("selfplay: the environment has no seats to play against each other " +
			"(spaces.Set.Seats); give a game of at least two seats")
	}
	own := []int{slices.Index(names, c.Seat)}
	if c.Seat == RandomSeat || c.Seat == SeatTurns {
		own = own[:0]
		for i := range names {
			own = append(own, i)
		}
	}
	if own[0] < 0 {
		return nil, fmt.Errorf("selfplay: seat is %q; want random, turns, or one of the seats: %s", c.Seat,
			strings.Join(names, ", "))
	}
	// Opponents are policies of members, which were trained for the learner's spaces.
	first := set.Seat(own[0])
	for i := range names {
		if name, got, want := set.Seat(i).Difference(first); name != "" {
			return nil, fmt.Errorf("selfplay: seat %s has the %s space %v, and seat %s has %v; self-play needs seats "+
				"of equal spaces", names[i], name, got, names[own[0]], want)
		}
	}
	return own, nil
}
