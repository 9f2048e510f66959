package models

import (
	"testing"

	"github.com/gorl-dev/gorl/spaces"
)

// parted is a space with a part of every kind. Names sort as bytes: ACTIONS, a, camera, mode.
var parted = spaces.NewDict(map[string]spaces.Space{
	"camera": spaces.NewPicture(2, 3, 2), "mode": spaces.NewDiscrete(3), "ACTIONS": spaces.Unbounded(2),
	"a": spaces.NewTuple(spaces.NewDiscrete(4), spaces.Unbounded(2)),
})

func TestParts(t *testing.T) {
	row := []float32{30, 40, 3, 10, 20}
	for i := range 12 {
		row = append(row, float32(100+i))
	}
	row = append(row, 1)
	sp := spaces.Set{Observation: parted, State: spaces.NewTuple(spaces.Unbounded(2, 2), spaces.Unbounded(1)),
		Action: spaces.NewBox(-1, 1, 2)}
	checkExpressions(t, sp, row, []float32{1, 2, 3, 4, 5}, map[string][]float64{
		`OBSERVATIONS['a'][-2]`:              {3},
		`OBSERVATIONS["ACTIONS"]`:            {30, 40}, // keys mean what they say
		`OBSERVATIONS["ACTIONS"][:, 1]`:      {40},
		`STATES[1] * 2 + STATES[0][:, 1, 0]`: {13},
		`STATES[0][:, :, 0:1]`:               {1, 3},
		`STATES[0][..., 1]`:                  {2, 4},
		`permute(STATES[0], (0, 2, 1))`:      {1, 3, 2, 4},
		`permute(OBSERVATIONS["camera"], (0, 3, 1, 2))`: {100, 102, 104, 106, 108, 110, 101, 103, 105,
			107, 109, 111},
		`OBSERVATIONS["camera"][:, :, -1:][:, 0]`:                            {104, 105},
		`permute(OBSERVATIONS["camera"], (0, 3, 1, 2))[:, 1] - 100`:          {1, 3, 5, 7, 9, 11},
		`one_hot_encoding(OBSERVATION_SPACE["a"][0], OBSERVATIONS["a"][0])`:  {0, 0, 0, 1},
		`concatenate((STATES[0], STATES[0]))`:                                {1, 2, 3, 4, 1, 2, 3, 4},
		`one_hot_encoding(OBSERVATION_SPACE["mode"], OBSERVATIONS["mode"],)`: {0, 1, 0},
	})
}
