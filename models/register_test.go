package models

import (
	"errors"
	"testing"

	check "github.com/gorl-dev/gorl/internal/test/must"
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
	p := check.Get(spec.BuildPolicy(boxes, 7))(t)
	p.Close()
	v := check.Get(spec.BuildNetwork(boxes, 8))(t)
	v.Close()
	if len(roles) != 2 || roles[0].Outputs != 2 || roles[0].Seed != 7 || roles[1].Outputs != 1 || roles[1].Seed != 8 ||
		roles[1].Spaces.Observation.Width() != 3 {
		t.Errorf("the roles are %+v", roles)
	}
	for text, want := range map[string]string{"{class: Noted, fail: true}": "models: Noted: out of luck",
		"{class: Noted, none: true}": "neither a network nor an error"} {
		spec := specOf(t, text)
		check.RefusedAs(spec.BuildPolicy(boxes, 1))(t, text, want)
		check.RefusedAs(spec.BuildNetwork(boxes, 1))(t, text, want)
	}
	_, _, err := BuildShared(spec, spec, boxes, 1)
	check.RefuseAs(t, "a shared model", err, "no trunk to share")
	defer func() { check.Not(t, recover() == nil, "a name was registered twice") }()
	Register("gaussianmixin", settings{}, func(settings, Role) (Network, error) { return nil, nil })
}
