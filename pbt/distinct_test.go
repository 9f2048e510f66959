package pbt

import (
	"strings"
	"testing"
)

// holding is a trainee with an agent.
type holding struct {
	Trainee
	agent any
}

func (h *holding) Holds() map[string][]any { return map[string][]any{"agent": {h.agent}} }

// A population whose New returns the trainee, or the agent, of another member is refused before it trains.
func TestMembersShareNothing(t *testing.T) {
	type network struct{ weight float64 }
	c := newColony(3)
	build := c.opt.New
	var first Trainee
	agent := &network{}
	for want, next := range map[string]func(m Member) (Trainee, error){
		"pbt: member 2: members 1 and 2 have the same trainee (*pbt.climber); Options.New must build a new one": func(m Member) (Trainee, error) {
			if m.ID == 2 {
				return first, nil
			}
			one, err := build(m)
			first = one
			return one, err
		},
		"pbt: member 1: members 0 and 1 have the same agent (*pbt.network); Options.New must build a new one": func(m Member) (Trainee, error) {
			one, err := build(m)
			return &holding{one, agent}, err
		},
	} {
		c.opt.New = next
		_, err := New(c.opt)
		_, async := newAsync(c.opt)
		for _, err := range []error{err, async} {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v\n want %s", err, want)
			}
		}
	}
	c.opt.New = func(m Member) (Trainee, error) {
		one, err := build(m)
		return &holding{one, &network{float64(m.ID)}}, err
	}
	p, err := New(c.opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
