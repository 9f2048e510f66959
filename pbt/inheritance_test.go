package pbt

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/agenttest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	boxed  = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2)}
	styled = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2), AMPObservation: spaces.Unbounded(3)}
)

func smallPPO(t testing.TB, sp spaces.Set, seed uint64, settings map[string]any) *ppo.Agent {
	t.Helper()
	all := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2, "observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"}
	maps.Copy(all, settings)
	a, err := ppo.New(ppo.Options{Spaces: sp, Models: ppo.MLPs(sp, []int{8}, "tanh"), Config: all, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func smallAMP(t testing.TB, seed uint64, settings map[string]any) *amp.Agent {
	t.Helper()
	all := map[string]any{"rollouts": 8, "learning_epochs": 2, "mini_batches": 2, "amp_observation_preprocessor": "RunningStandardScaler", "task_reward_scale": 0.5,
		"amp_batch_size": 16, "motion_dataset_size": 40, "reply_buffer_size": 60, "learning_rate": 1e-3, "discriminator_optimizer": "separate"}
	maps.Copy(all, settings)
	a, err := amp.New(amp.Options{Spaces: styled, Models: amp.MLPs(styled, []int{8}, "tanh"), Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Config: all, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What an array is part of, by the names that gorl's agents use.
func partOf(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "agent_0/"), "agent_1/")
	first, rest, _ := strings.Cut(name, "/")
	switch first {
	case "optimizer", "discriminator_optimizer":
		return "optimizer"
	case "observation_preprocessor", "state_preprocessor", "value_preprocessor", "amp_observation_preprocessor":
		return "normalizers"
	case "rollout":
		return "rollout"
	case "motion_dataset", "reply_buffer":
		return "memories"
	case "environment":
		return "environment"
	}
	if rest == "" && first != "log_std" {
		return "?"
	}
	return "weights"
}

func float32s(t testing.TB, a checkpoint.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// leaf are the values of a snapshot's first agent.
func leaf(s *checkpoint.Snapshot) map[string]any {
	if m, ok := s.Values["agent_0"].(map[string]any); ok {
		return m
	}
	return s.Values
}

// TestInheritance lets agents take over a snapshot of a more learned one, part by part, and looks at what they then are.
func TestInheritance(t *testing.T) {
	for name, test := range map[string]struct {
		sp   spaces.Set
		make func(t testing.TB, seed uint64) agents.Agent
	}{
		"PPO": {boxed, func(t testing.TB, seed uint64) agents.Agent {
			return smallPPO(t, boxed, seed, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR"})
		}},
		"PPO without a schedule": {boxed, func(t testing.TB, seed uint64) agents.Agent { return smallPPO(t, boxed, seed, nil) }},
		"AMP": {styled, func(t testing.TB, seed uint64) agents.Agent {
			return smallAMP(t, seed, map[string]any{"learning_rate_scheduler": "LinearLR", "learning_rate_scheduler_kwargs": map[string]any{"total_iters": 100}})
		}},
		"group": {styled, func(t testing.TB, seed uint64) agents.Agent {
			g, err := trainers.NewGroup([]agents.Agent{smallAMP(t, seed, nil), smallAMP(t, seed+1, map[string]any{"rollouts": 5})}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}},
	} {
		t.Run(name, func(t *testing.T) {
			source, member := test.make(t, 1), test.make(t, 11)
			agenttest.Close(t, source)
			agenttest.Close(t, member)
			for i, a := range []agents.Agent{source, member} {
				w := agenttest.NewWorld(test.sp, agenttest.Seeds(uint64(i)*100, 4)...)
				if err := a.Bind(4); err != nil {
					t.Fatal(err)
				}
				if err := agenttest.Advance(a, w, []int{43, 19}[i]); err != nil { // both within a rollout
					t.Fatal(err)
				}
			}
			their, own := agenttest.Snapshot(t, source), agenttest.Snapshot(t, member)
			for _, s := range []*checkpoint.Snapshot{their, own} {
				s.Arrays["environment/state"] = checkpoint.ArrayBytes([]int64{2}, []byte{byte(len(s.Arrays)), byte(fmt.Sprint(s.Values)[40])})
				s.Values["trainer"] = map[string]any{"timestep": 7}
			}
			own.Arrays["environment/state"] = checkpoint.ArrayBytes([]int64{2}, []byte{77, 77})
			for what, h := range map[string]Inheritance{
				"everything":                {},
				"everything, in words":      {Optimizer: CopyPart, Normalizers: CopyPart, Schedule: CopyPart, Environment: CopyPart, Buffers: CopyPart},
				"own optimizer":             {Optimizer: KeepPart},
				"no moments":                {Optimizer: ResetPart},
				"half the moments":          {Optimizer: DecayPart, MomentDecay: 0.5},
				"own normalizers":           {Normalizers: KeepPart},
				"own schedule":              {Schedule: KeepPart},
				"schedule anew":             {Schedule: ResetPart},
				"own environment":           {Environment: KeepPart},
				"own buffers":               {Buffers: KeepPart},
				"own world":                 {Environment: KeepPart, Buffers: KeepPart},
				"weights only":              {Optimizer: KeepPart, Normalizers: KeepPart, Schedule: KeepPart, Environment: KeepPart, Buffers: KeepPart},
				"weights only, no schedule": {Optimizer: ResetPart, Normalizers: KeepPart, Schedule: ResetPart, Environment: KeepPart, Buffers: KeepPart},
			} {
				t.Run(what, func(t *testing.T) {
					before := [2]*checkpoint.Snapshot{agenttest.Through(t, their), agenttest.Through(t, own)}
					combined, err := h.combine(their, own)
					if err != nil {
						t.Fatal(err)
					}
					for i, s := range []*checkpoint.Snapshot{their, own} {
						if d := agenttest.Differences(before[i], agenttest.Through(t, s)); len(d) > 0 {
							t.Fatalf("the snapshots given have changed: %q", d)
						}
					}
					if err := member.Restore(combined); err != nil {
						t.Fatal(err)
					}
					got := agenttest.Snapshot(t, member)
					got.Arrays["environment/state"] = combined.Arrays["environment/state"]
					checkParts(t, h, their, own, got)
				})
			}
		})
	}
}

// checkParts compares an agent after it took over with what was asked for.
func checkParts(t *testing.T, h Inheritance, their, own, got *checkpoint.Snapshot) {
	t.Helper()
	broken := (h.Environment == KeepPart) != (h.Buffers == KeepPart) // a rollout in progress
	from := func(part Part) *checkpoint.Snapshot {
		if part == KeepPart {
			return own
		}
		return their
	}
	counted := map[string]int{}
	for name, array := range got.Arrays {
		part := partOf(name)
		want := map[string]*checkpoint.Snapshot{"weights": their, "optimizer": from(h.Optimizer), "normalizers": from(h.Normalizers),
			"rollout": from(h.Buffers), "memories": from(h.Buffers), "environment": from(h.Environment)}[part]
		if strings.HasSuffix(name, "random/generator") {
			want, part = their, "random"
		}
		if want == nil {
			t.Fatalf("the array %q is part of nothing", name)
		}
		counted[part]++
		expected := want.Arrays[name]
		if factor := map[Part]float32{ResetPart: 0, DecayPart: 0.5}; part == "optimizer" && (h.Optimizer == ResetPart || h.Optimizer == DecayPart) {
			values := slices.Clone(float32s(t, expected))
			for i := range values {
				values[i] *= factor[h.Optimizer]
			}
			if !slices.Equal(values, float32s(t, array)) {
				t.Errorf("%s is not what it should be", name)
			}
			continue
		}
		if !bytes.Equal(expected.Data, array.Data) {
			t.Errorf("%s is not that of the right member", name)
		}
		if other := map[bool]*checkpoint.Snapshot{true: own, false: their}[want == their]; part != "random" && !strings.HasSuffix(name, "current_count") && bytes.Equal(other.Arrays[name].Data, array.Data) && nonzero(array.Data) {
			t.Errorf("%s is the same in both members: this shows nothing", name)
		}
	}
	if broken != (counted["rollout"] == 0) {
		t.Errorf("%d arrays of a rollout in progress", counted["rollout"])
	}
	for _, part := range []string{"weights", "optimizer", "normalizers", "environment", "random"} {
		if counted[part] == 0 {
			t.Errorf("no array is part of the %s", part)
		}
	}
	values, theirs, owns := leaf(got), leaf(their), leaf(own)
	equal := func(key string, want any) {
		t.Helper()
		if fmt.Sprint(values[key]) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", key, values[key], want)
		}
	}
	steps := leaf(from(h.Optimizer))["optimizer_steps"]
	if h.Optimizer == ResetPart {
		zero := map[string]any{}
		for name := range steps.(map[string]any) {
			zero[name] = 0
		}
		steps = zero
	}
	equal("optimizer_steps", steps)
	if fmt.Sprint(theirs["optimizer_steps"]) == fmt.Sprint(owns["optimizer_steps"]) {
		t.Error("both have made as many steps: this shows nothing")
	}
	equal("timestep", theirs["timestep"])
	equal("memories", leaf(from(h.Buffers))["memories"])
	rollout := leaf(from(h.Buffers))["rollout_steps"]
	if broken {
		rollout = 0
	}
	equal("rollout_steps", rollout)
	state := leaf(from(h.Schedule))["scheduler_state"]
	if state == nil {
		return
	}
	if fmt.Sprint(theirs["scheduler_state"]) == fmt.Sprint(owns["scheduler_state"]) {
		t.Error("both schedules stand alike: this shows nothing")
	}
	if h.Schedule == ResetPart {
		begun := maps.Clone(state.(map[string]any))
		begun["step"] = 0
		if _, ok := begun["learning_rate"]; ok {
			begun["learning_rate"] = begun["base"]
		}
		state = begun
	}
	equal("scheduler_state", state)
}

func nonzero(data []byte) bool {
	return slices.ContainsFunc(data, func(b byte) bool { return b != 0 })
}

// TestInheritanceOfOthers copies snapshots that are not of gorl's agents as they are, and a member without anything of
// its own the source's.
func TestInheritanceOfOthers(t *testing.T) {
	h := Inheritance{Optimizer: ResetPart, Normalizers: KeepPart, Environment: KeepPart, Buffers: KeepPart}
	foreign := &checkpoint.Snapshot{Arrays: map[string]checkpoint.Array{"environment/x": checkpoint.ArrayFloat32([]int64{1}, []float32{3})}, Values: map[string]any{"rollout_steps": 4}}
	got, err := h.combine(foreign, &checkpoint.Snapshot{})
	if err != nil || got != foreign {
		t.Errorf("got %+v, %v", got, err)
	}
	a := smallPPO(t, boxed, 1, nil)
	agenttest.Close(t, a)
	w := agenttest.NewWorld(boxed, 1, 2)
	if err := a.Bind(2); err != nil {
		t.Fatal(err)
	}
	agenttest.Learn(t, a, w, 2)
	snap := agenttest.Snapshot(t, a)
	if got, err = (Inheritance{Optimizer: KeepPart, Normalizers: KeepPart, Environment: KeepPart, Buffers: KeepPart}).combine(snap, nil); err != nil {
		t.Fatal(err)
	}
	if d := agenttest.Differences(snap, got); len(d) > 0 {
		t.Errorf("a member without its own differs in %q", d)
	}
	if _, err := h.combine(snap, foreign); err == nil || !strings.Contains(err.Error(), "the member has none") {
		t.Errorf("the error is %v", err)
	}
}

func TestInheritanceIsChecked(t *testing.T) {
	for want, h := range map[string]Inheritance{
		`Inherit.Optimizer is "forget"; give one of ["copy" "keep" "reset" "decay"]`: {Optimizer: "forget"},
		`Inherit.Normalizers is "reset"`:                                             {Normalizers: ResetPart},
		`Inherit.Schedule is "decay"`:                                                {Schedule: DecayPart},
		`Inherit.Environment is "reset"`:                                             {Environment: ResetPart},
		`Inherit.Buffers is "decay"`:                                                 {Buffers: DecayPart},
		`Inherit.MomentDecay is 0; give a factor`:                                    {Optimizer: DecayPart},
		`Inherit.MomentDecay is 1.5`:                                                 {Optimizer: DecayPart, MomentDecay: 1.5},
		`Inherit.MomentDecay is NaN`:                                                 {Optimizer: DecayPart, MomentDecay: nan},
		`MomentDecay is 0.5, but Inherit.Optimizer is "reset"`:                       {Optimizer: ResetPart, MomentDecay: 0.5},
		`MomentDecay is 0.5, but Inherit.Optimizer is ""; make `:                     {MomentDecay: 0.5},
	} {
		c := newColony(2)
		c.opt.Inherit = h
		if _, err := New(c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
