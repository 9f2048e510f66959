package wrappers_test

import (
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/spaces"
)

// grouped is an environment whose observations are a Dict.
type grouped struct {
	spy
	observation spaces.Space
}

func (g *grouped) Spaces() spaces.Set {
	return spaces.Set{Observation: g.observation, Action: spaces.Unbounded(1)}
}
func (g *grouped) Reset(int64) (*envs.Step, error) {
	return &envs.Step{Observations: []float32{-9, 9, 0.5, 9, -9, 0.25}}, nil
}

// A Dict of Boxes is clipped part by part, and has the narrower limits; one with another part is refused.
func TestClipObservationOfDict(t *testing.T) {
	dict := spaces.NewDict(map[string]spaces.Space{"policy": spaces.NewBox(-1, 20, 2), "proprio": spaces.Unbounded(1)})
	env, err := wrappers.NewClipObservation(&grouped{observation: dict}, -5, 5)
	if err != nil {
		t.Fatal(err)
	}
	want := spaces.NewDict(map[string]spaces.Space{"policy": spaces.NewBox(-1, 5, 2), "proprio": spaces.NewBox(-5, 5, 1)})
	if got := env.Spaces().Observation; !got.Equal(want) {
		t.Errorf("the space is %v", got)
	}
	s, err := env.Reset(1)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{-5, 5, 0.5, 5, -5, 0.25}; !slices.Equal(s.Observations, want) {
		t.Errorf("the observations are %v, want %v", s.Observations, want)
	}
	dict = spaces.NewDict(map[string]spaces.Space{"policy": spaces.NewBox(-1, 20, 2), "button": spaces.NewDiscrete(2)})
	if _, err := wrappers.NewClipObservation(&grouped{observation: dict}, -5, 5); err == nil {
		t.Error("a Dict with a Discrete space is clipped")
	}
}
