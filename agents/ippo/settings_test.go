package ippo_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// What agents track and can tune is told apart by their names; each has its own value of a setting, and the user's
// dictionary stays as it is. skrl's default configuration, in which kwargs are empty, is an error there.
func TestNames(t *testing.T) {
	rates := map[string]any{"fox": 1e-3, "hen": 2e-3}
	a := made(t, ippo.Options{Spaces: spaces.NewSeats(spaces.Space{}, seat("fox"), seat("hen")), NumEnvs: 2},
		"learning_rate", rates, "learning_rate_scheduler_kwargs", map[string]any{}, "value_preprocessor_kwargs",
		map[string]any{"fox": map[string]any{}, "hen": map[string]any{}})
	if !maps.Equal(rates, map[string]any{"fox": 1e-3, "hen": 2e-3}) {
		t.Errorf("the user's dictionary has become %v", rates)
	}
	h := a.Hyperparameters()
	if h["fox.learning_rate"] != 1e-3 || h["hen.learning_rate"] != 2e-3 {
		t.Errorf("the rates are %v", h)
	}
	must(t, a.SetHyperparameters(map[string]float64{"hen.ratio_clip": 0.1}))
	full := a.Dict()
	if fmt.Sprint(full["ratio_clip"]) != "map[fox:0.2 hen:0.1]" || full["rollouts"] != 4 ||
		full["parameter_sharing"] != "off" {
		t.Errorf("the settings are %v", full)
	}
	in := agents.Observation{Observations: make([]float32, 4), Active: []bool{true, true, true, true}}
	for !a.Ready() {
		check.Get(a.Act(in))(t)
		must(t, a.Record(agents.Transition{Rewards: make([]float32, 2), Terminated: make([]bool, 2),
			Truncated: make([]bool, 2), NextObservations: in.Observations, Seats: spaces.SeatStep{
				Rewards: []float32{1, 2, 3, 4}, Terminated: make([]bool, 4), Truncated: make([]bool, 4),
				Active: in.Active}}))
	}
	must(t, a.Update(t.Context()))
	var tags []string
	a.Tracked(func(tag string, _ float64) { tags = append(tags, tag) })
	for _, want := range []string{"Loss / Policy loss (fox)", "Loss / Value loss (hen)",
		"Learning / Learning rate (hen)", "Policy / Standard deviation (fox)"} {
		if !slices.Contains(tags, want) {
			t.Errorf("the tags %q lack %q", tags, want)
		}
	}
	if !slices.IsSorted(tags) {
		t.Errorf("the tags %q are not sorted", tags)
	}
}

// A wrong call, setting or snapshot is an error that says what to do.
func TestRefuses(t *testing.T) {
	two := spaces.NewSeats(spaces.Space{}, seat("a_0"), seat("a_1"))
	other := seat("a_1")
	other.Action = spaces.NewDiscrete(2)
	mixed := spaces.NewSeats(spaces.Space{}, seat("a_0"), other)
	each := func(a, b any) map[string]any { return map[string]any{"a_0": a, "a_1": b} }
	one := spaces.Set{Observation: seat("a").Observation, Action: seat("a").Action}
	for want, x := range map[string]struct {
		set  spaces.Set
		dict map[string]any
	}{
		"use PPO for one agent":               {one, nil},
		`action space of the seats|use "off"`: {mixed, map[string]any{"parameter_sharing": "prefix"}},
		`want one of "off", "prefix", "all"`:  {two, map[string]any{"parameter_sharing": "some"}},
		"group a_1|gae_lambda":                {two, map[string]any{"gae_lambda": each(0.5, 7)}},
		"ippo.MLPs":                           {two, nil},
	} {
		o := ippo.Options{Spaces: x.set, Dict: x.dict, Models: ippo.MLPs([]int{4}, "tanh")}
		if want == "ippo.MLPs" {
			o.Models = nil
		}
		a, err := ippo.New(o)
		check.RefuseAs(t, want, err, strings.Split(want, "|")...)
		if a != nil {
			_ = a.Close()
		}
	}
	a := made(t, ippo.Options{Spaces: two, NumEnvs: 1})
	if _, err := a.Act(agents.Observation{Observations: make([]float32, 2)}); err == nil {
		t.Error("Act without Active is no error")
	}
	if err := a.Record(agents.Transition{}); err == nil {
		t.Error("Record without Act is no error")
	}
	if err := a.Bind(2); err == nil {
		t.Error("a second number of environments is no error")
	}
	if err := a.SetHyperparameters(map[string]float64{"a_0.gae_lambda": 0.5, "gae_lambda": 1}); err == nil ||
		a.Hyperparameters()["a_0.gae_lambda"] != 0.95 {
		t.Errorf("a hyperparameter without its agent: %v", err)
	}
	shared := made(t, ippo.Options{Spaces: two, NumEnvs: 1}, "parameter_sharing", "all")
	err := a.Restore(agenttest.Snapshot(t, shared))
	check.RefuseAs(t, "the snapshot of other groups", err, "parameter_sharing")
	// skrl has no turns.
	skrl := made(t, ippo.Options{Spaces: two, NumEnvs: 1}, "compatibility", "skrl-2.0")
	check.Get(skrl.Act(agents.Observation{Observations: make([]float32, 2), Active: []bool{true, false}}))(t)
	err = skrl.Record(agents.Transition{Rewards: []float32{0}, Terminated: []bool{false}, Truncated: []bool{false},
		NextObservations: make([]float32, 2), Seats: two.MakeSeatStep(1)})
	check.RefuseAs(t, "a turn with compatibility", err, "without a turn")
}
