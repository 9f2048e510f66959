package layout

import (
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
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
		must.Is(t, got, want, "name")
	}
	o, prefix, p, ok := CutMoment(ExpAvgSq("o", "n/w"))
	must.Not(t, !ok || o != "o" || p != "n/w" || prefix != "o/exp_avg_sq/", "a moment is %q, %q, %q", o, prefix, p)
}

// An agent of a group is taken out of the group's snapshot; a snapshot says which networks and optimizers it has.
func TestGroups(t *testing.T) {
	group := checkpoint.NewSnapshot()
	group.Values[GroupSize] = int64(2)
	for i := range 2 {
		for _, name := range []string{"policy/w", "value/w", "optimizer/exp_avg/policy/w", "rollout/rewards"} {
			group.Arrays[Parameter(Member(i), name)] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		}
		group.Values[Member(i)] = map[string]any{RolloutSteps: int64(1),
			Architectures:  map[string]any{"discriminator": nil},
			OptimizerSteps: map[string]any{"optimizer": int64(1), "discriminator_optimizer": int64(0)}}
	}
	must.Is(t, Agents(group.Values)[1].Prefix, "agent_1/", "prefix")
	own, ok := MemberOf(group, 1)
	must.Not(t, !ok || len(own.Arrays) != 4, "agent 1: %t, %v", ok, own)
	_, ok = MemberOf(group, 2)
	must.Is(t, ok, false, "agent 2 of 2 is there")
	must.Same(t, NetworksIn(own), []string{"discriminator", "policy"}, "networks")
	must.Same(t, OptimizersIn(own), []string{"discriminator_optimizer", "optimizer"}, "optimizers")
	DropRollout(own)
	must.Not(t, len(own.Arrays) != 3 || own.Values[RolloutSteps] != int64(0), "without its rollout: %v", own)
}
