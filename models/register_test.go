package models

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
)

// TestRegister checks what a registered network is given, and that what cannot be one is refused.
func TestRegister(t *testing.T) {
	tensortest.CheckLive(t)
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
	p, err := spec.BuildPolicy(boxes, 7)
	must(t, err)
	p.Close()
	v, err := spec.BuildNetwork(boxes, 8)
	must(t, err)
	v.Close()
	if len(roles) != 2 || roles[0].Outputs != 2 || roles[0].Seed != 7 || roles[1].Outputs != 1 || roles[1].Seed != 8 ||
		roles[1].Spaces.Observation.Width() != 3 {
		t.Errorf("the roles are %+v", roles)
	}
	for text, want := range map[string]string{"{class: Noted, fail: true}": "models: Noted: out of luck",
		"{class: Noted, none: true}": "neither a network nor an error"} {
		spec := specOf(t, text)
		if _, err := spec.BuildPolicy(boxes, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s as a policy: %v", text, err)
		}
		if _, err := spec.BuildNetwork(boxes, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s as a value: %v", text, err)
		}
	}
	if err := (Spec{Class: "Noted"}).Validate(); err == nil || !strings.Contains(err.Error(), "ParseSpec makes its "+
		"spec") {
		t.Errorf("a spec by hand: %v", err)
	}
	if _, _, err := BuildShared(spec, spec, boxes, 1); err == nil ||
		!strings.Contains(err.Error(), "no trunk to share") {
		t.Errorf("a shared model: %v", err)
	}
	for _, name := range []string{"", "Noted", "gaussianmixin"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q could be registered", name)
				}
			}()
			Register(name, settings{}, func(settings, Role) (Network, error) { return nil, nil })
		}()
	}
}
