package layout

import (
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
)

// The names are those that snapshots have always had; a change here makes every stored checkpoint unreadable.
func TestNames(t *testing.T) {
	weight := Parameter(Policy, "net.0.weight")
	for got, want := range map[string]string{
		weight:                                  "policy/net.0.weight",
		ExpAvg(Optimizer, weight):               "optimizer/exp_avg/policy/net.0.weight",
		ExpAvgSq(DiscriminatorOptimizer, "d/w"): "discriminator_optimizer/exp_avg_sq/d/w",
		Statistic(ValueScaler, CurrentCount):    "value_preprocessor/current_count",
		Rollout(NextObservations):               "rollout/next_observations",
		MemoryRows("reply_buffer"):              "reply_buffer/rows",
		EnvironmentState:                        "environment/state",
		Callback("patience"):                    "callbacks/patience",
		Member(3):                               "agent_3",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if o, prefix, p, ok := CutMoment(ExpAvgSq("o", "n/w")); !ok || o != "o" || p != "n/w" || prefix != "o/exp_avg_sq/" {
		t.Errorf("a moment is cut into %q, %q, %q, %t", o, prefix, p, ok)
	}
	if _, _, _, ok := CutMoment(weight); ok {
		t.Errorf("%s is taken for a moment", weight)
	}
}

// agent is what layout looks at in an agent's snapshot.
func agent() *checkpoint.Snapshot {
	s := checkpoint.NewSnapshot()
	for _, name := range []string{"policy/w", "value/w", "optimizer/exp_avg/policy/w", "optimizer/exp_avg_sq/policy/w",
		"rollout/rewards"} {
		s.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
	}
	s.Values = map[string]any{
		OptimizerSteps: map[string]any{"optimizer": int64(1),
			"discriminator_optimizer": int64(0)}, RolloutSteps: int64(1),
		Architectures: map[string]any{"discriminator": nil},
	}
	return s
}

func TestIn(t *testing.T) {
	s := agent()
	if got := NetworksIn(s); !slices.Equal(got, []string{"discriminator", "policy"}) {
		t.Errorf("networks %q", got)
	}
	if got := OptimizersIn(s); !slices.Equal(got, []string{"discriminator_optimizer", "optimizer"}) {
		t.Errorf("optimizers %q", got)
	}
	bare := &checkpoint.Snapshot{Arrays: map[string]checkpoint.Array{"actor/0.bias": {}, "scaler/mean": {}}}
	if got := NetworksIn(bare); !slices.Equal(got, []string{"actor"}) {
		t.Errorf("networks of a snapshot that says nothing of them: %q", got)
	}
	DropRollout(s)
	if len(s.Arrays) != 4 || s.Values[RolloutSteps] != int64(0) {
		t.Errorf("without its rollout: %d arrays, %v steps", len(s.Arrays), s.Values[RolloutSteps])
	}
}

func TestGroups(t *testing.T) {
	group := checkpoint.NewSnapshot()
	group.Values[GroupSize] = int64(2)
	for i := range 2 {
		own := agent()
		group.Values[Member(i)] = own.Values
		for name, a := range own.Arrays {
			group.Arrays[Parameter(Member(i), name)] = a
		}
	}
	if parts := Agents(group.Values); len(parts) != 2 || parts[1].Prefix != "agent_1/" {
		t.Errorf("agents of a group: %+v", parts)
	}
	own, ok := MemberOf(group, 1)
	if _, has := own.Arrays["policy/w"]; !ok || !has || len(own.Arrays) != 5 {
		t.Errorf("agent 1: %t, %v", ok, own)
	}
	if _, ok := MemberOf(group, 2); ok {
		t.Error("agent 2 of 2 was found")
	}
}
