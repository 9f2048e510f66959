package ippo_test

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// What agents can tune is told apart by their names; each has its own value of a setting, and the user's
// dictionary stays as it is. skrl's default configuration, in which kwargs are empty, is an error there.
func TestNames(t *testing.T) {
	rates := map[string]any{"fox": 1e-3, "hen": 2e-3}
	a := made(t, ippo.Options{Spaces: spaces.NewSeats(spaces.Space{}, seat("fox"), seat("hen")), NumEnvs: 2},
		"learning_rate", rates, "learning_rate_scheduler_kwargs", map[string]any{}, "value_preprocessor_kwargs",
		map[string]any{"fox": map[string]any{}, "hen": map[string]any{}})
	check.Equal(t, "the user's dictionary", map[string]any{"fox": 1e-3, "hen": 2e-3}, rates)
	check.Is(t, a.Hyperparameters()["hen.learning_rate"], 2e-3, "the hen's rate")
	must(t, a.SetHyperparameters(map[string]float64{"hen.ratio_clip": 0.1}))
	check.Equal(t, "settings", map[string]any{"fox": 0.2, "hen": 0.1}, a.Dict()["ratio_clip"])
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
		"group a_1|gae_lambda":                {two, map[string]any{"gae_lambda": each(0.5, 7)}},
	} {
		o := ippo.Options{Spaces: x.set, Dict: x.dict, Models: ippo.MLPs([]int{4}, "tanh")}
		check.RefusedAs(ippo.New(o))(t, want, strings.Split(want, "|")...)
	}
	a := made(t, ippo.Options{Spaces: two, NumEnvs: 1})
	check.RefusedAs(a.Act(agents.Observation{Observations: make([]float32, 2)}))(t, "Act without Active", "ippo: ")
	check.RefuseAs(t, "Record without Act", a.Record(agents.Transition{}), "ippo: ")
	err := a.SetHyperparameters(map[string]float64{"a_0.gae_lambda": 0.5, "gae_lambda": 1})
	check.RefuseAs(t, "a hyperparameter without its agent", err, "gae_lambda")
	check.Is(t, a.Hyperparameters()["a_0.gae_lambda"], 0.95, "the other hyperparameter")
	shared := made(t, ippo.Options{Spaces: two, NumEnvs: 1}, "parameter_sharing", "all")
	err = a.Restore(agenttest.Snapshot(t, shared))
	check.RefuseAs(t, "the snapshot of other groups", err, "parameter_sharing")
	// skrl has no turns.
	skrl := made(t, ippo.Options{Spaces: two, NumEnvs: 1}, "compatibility", "skrl-2.0")
	check.Get(skrl.Act(agents.Observation{Observations: make([]float32, 2), Active: []bool{true, false}}))(t)
	err = skrl.Record(agents.Transition{Rewards: []float32{0}, Terminated: []bool{false}, Truncated: []bool{false},
		NextObservations: make([]float32, 2), Seats: two.MakeSeatStep(1)})
	check.RefuseAs(t, "a turn with compatibility", err, "without a turn")
}
