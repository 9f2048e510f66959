package models

import (
	"errors"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
)

// TestRegister checks what a registered network is given, and that what cannot be one is refused.
func TestRegister(t *testing.T) {
	type settings struct {
		Fail bool `yaml:"fail"`
		None bool `yaml:"none"`
	}
	var roles []Role
	Register("Noted", settings{}, func(s settings, r Role) (Network, error) {
		roles = append(roles, r)
		switch {
		case s.Fail:
			return nil, errors.New("out of luck")
		case s.None:
			return nil, nil
		}
		return NewMLP(MLPConfig{Inputs: r.Spaces.Observation.Width(), Outputs: r.Outputs}, r.Seed)
	})
	spec := specOf(t, "class: Noted")
	tensortest.Opened[Policy](t)(spec.BuildPolicy(boxes, 7))
	tensortest.Opened[Network](t)(spec.BuildNetwork(boxes, 8))
	check.Equal(t, "roles", []Role{{Spaces: boxes, Outputs: 2, Seed: 7}, {Spaces: boxes, Outputs: 1, Seed: 8}}, roles)
	for text, want := range map[string]string{"{class: Noted, fail: true}": "models: Noted: out of luck",
		"{class: Noted, none: true}": "neither a network nor an error"} {
		check.RefusedAs(specOf(t, text).BuildPolicy(boxes, 1))(t, text, want)
	}
}
