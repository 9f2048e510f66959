package populations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	boxed  = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2)}
	styled = spaces.Set{Observation: spaces.Unbounded(4), Action: spaces.NewBox(-2, 2, 2),
		AMPObservation: spaces.Unbounded(3)}
)

// What an array is part of, by the names that gorl's agents use.
func partOf(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "agent_0/"), "agent_1/")
	first, rest, _ := strings.Cut(name, "/")
	switch {
	case strings.HasSuffix(name, "random/generator"):
		return "random"
	case strings.HasSuffix(first, "optimizer"):
		return "optimizer"
	case strings.HasSuffix(first, "_preprocessor"):
		return "normalizers"
	case first == "rollout" || first == "environment":
		return first
	case first == "motion_dataset" || first == "reply_buffer":
		return "memories"
	case rest == "" && first != "log_std":
		return "?"
	}
	return "weights"
}

// leaf are the values of a snapshot's first agent.
func leaf(s *checkpoint.Snapshot) map[string]any {
	if m, ok := s.Values["agent_0"].(map[string]any); ok {
		return m
	}
	return s.Values
}

// copied is an agent that can be tuned and saved. It is no pbt.Reseeder, so that its random sequences are those of the
// snapshot.
type copied interface {
	agents.Agent
	agents.Tunable
	agents.Snapshotter
}

// pupil is an agent in a world of its own that has trained for a number of steps after its first Train.
type pupil struct {
	copied
	world *agenttest.World
	first int
	steps int64
	own   []byte // the state of its environment
	given *checkpoint.Snapshot
}

func (p *pupil) Train(_ context.Context, steps int64) error {
	p.steps += steps
	n := p.first
	p.first = 0
	return agenttest.Advance(p.copied, p.world, n)
}

func (p *pupil) Steps() int64                { return p.steps }
func (p *pupil) Metrics() map[string]float64 { return map[string]float64{"score": 1} }

func (p *pupil) Snapshot() (*checkpoint.Snapshot, error) {
	s, err := p.copied.Snapshot(agents.SnapshotOptions{Buffers: true})
	if err != nil {
		return nil, err
	}
	s.Arrays["environment/state"] = checkpoint.ArrayBytes([]int64{int64(len(p.own))}, p.own)
	s.Arrays["environment/curriculum"] = checkpoint.ArrayBytes([]int64{1}, p.own[:1])
	s.Values["trainer"] = map[string]any{"timestep": 7}
	p.given = s
	return s, nil
}

// Reseed hides the agent's, whose signature would make the pupil a pbt.Reseeder: random states are compared as well.
func (p *pupil) Reseed() {}

func (p *pupil) Restore(s *checkpoint.Snapshot) error {
	state, err := s.Arrays["environment/state"].Bytes()
	if err != nil {
		return err
	}
	p.own = state
	return p.copied.Restore(s)
}

// pupils makes a population of agents in worlds of their own. All of them are within a rollout when the first interval
// ends. at is called then, and after every decision.
func pupils(t *testing.T, o pbt.Options, sp spaces.Set, build func(t testing.TB, seed int64) agenttest.Agent,
	at func(all []*pupil, e *journal.Event)) {
	t.Helper()
	var all []*pupil
	o.Objective, o.IntervalSteps, o.TotalSteps, o.Parallel = "score", 10, 20, 1
	o.New = func(m pbt.Member) (pbt.Trainee, error) {
		a := build(t, int64(1+10*m.ID))
		if err := a.Bind(4); err != nil {
			return nil, err
		}
		all = append(all, &pupil{copied: a, world: agenttest.NewWorld(sp, agenttest.Seeds(int64(m.ID)*100, 4)...),
			first: []int{43, 19, 27}[m.ID], own: []byte{byte(m.ID + 1), 9}})
		return all[m.ID], nil
	}
	o.Progress = func(u pbt.Update) {
		if u.Event != nil && u.Event.Kind == journal.ApplyFailed {
			t.Error(u.Event.Cause)
		}
		if u.Iteration == 1 && (u.Event != nil || u.Status.Member == o.Members-1) {
			at(all, u.Event)
		}
	}
	p := must.Get(pbt.New(o))(t)
	_, err := p.Train(t.Context())
	if err := errors.Join(err, p.Close()); err != nil {
		t.Error(err)
	}
}

// inherit lets member 1 take over the weights of member 0, and returns both as they were, and member 1 as it is then.
func inherit(t *testing.T, h pbt.CopyOptions, sp spaces.Set,
	build func(t testing.TB, seed int64) agenttest.Agent) (their, own, got *checkpoint.Snapshot) {
	t.Helper()
	snapshot := func(x *pupil) *checkpoint.Snapshot {
		s, err := x.Snapshot()
		if err != nil {
			t.Error(err)
		}
		return agenttest.Through(t, s)
	}
	rule := decided{{Member: 1, Action: strategy.Replace, Source: 0, Mutate: true, Reason: "test"}}
	pupils(t, pbt.Options{Members: 2, Copy: h, Strategy: rule}, sp, build, func(all []*pupil, e *journal.Event) {
		switch {
		case e == nil:
			their, own = snapshot(all[0]), snapshot(all[1])
		case e.Kind == journal.Replace:
			for i, before := range []*checkpoint.Snapshot{their, own} {
				if d := agenttest.Differences(before, agenttest.Through(t, all[i].given)); len(d) > 0 {
					t.Errorf("a snapshot that member %d gave has changed in %q", i, d)
				}
			}
			got = snapshot(all[1])
		}
	})
	if got == nil {
		t.Fatal("nothing was taken over")
	}
	return their, own, got
}

// decided gives fixed decisions at the first interval's end, and keeps everyone later.
type decided []strategy.Decision

func (d decided) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	if g.Iteration > 1 {
		return nil
	}
	return d
}

// TestInheritance lets agents take over a snapshot of a more learned one, part by part, and looks at what they then
// are.
func TestInheritance(t *testing.T) {
	for name, test := range map[string]struct {
		sp   spaces.Set
		make func(t testing.TB, seed int64) agenttest.Agent
	}{
		"PPO": {boxed, func(t testing.TB, seed int64) agenttest.Agent {
			return smallPPO(t, boxed, seed, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR"})
		}},
		"PPO with memory": {boxed, func(t testing.TB, seed int64) agenttest.Agent {
			return rememberingPPO(t, boxed, seed)
		}},
		"AMP": {styled, func(t testing.TB, seed int64) agenttest.Agent {
			return smallAMP(t, seed, map[string]any{"learning_rate_scheduler": "LinearLR",
				"learning_rate_scheduler_kwargs": map[string]any{"total_iters": 100}})
		}},
		"group": {styled, func(t testing.TB, seed int64) agenttest.Agent {
			return must.Get(trainers.NewGroup([]agents.Agent{smallAMP(t, seed, nil),
				smallAMP(t, seed+1, map[string]any{"rollouts": 5})}, nil))(t)
		}},
	} {
		for what, h := range map[string]pbt.CopyOptions{
			"everything":       {},
			"own optimizer":    {Optimizer: pbt.KeepPart},
			"no moments":       {Optimizer: pbt.ResetPart},
			"half the moments": {Optimizer: pbt.DecayPart, MomentDecay: 0.5},
			"own normalizers":  {Normalizers: pbt.KeepPart},
			"own schedule":     {Schedule: pbt.KeepPart},
			"schedule anew":    {Schedule: pbt.ResetPart},
			"own environment":  {Environment: pbt.KeepPart},
			"own buffers":      {Buffers: pbt.KeepPart},
			"weights only": {Optimizer: pbt.KeepPart, Normalizers: pbt.KeepPart, Schedule: pbt.KeepPart,
				Environment: pbt.KeepPart, Buffers: pbt.KeepPart},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				agenttest.CheckLive(t)
				their, own, got := inherit(t, h, test.sp, test.make)
				checkParts(t, h, their, own, got)
			})
		}
	}
}

// checkParts compares an agent after it took over with what was asked for.
func checkParts(t *testing.T, h pbt.CopyOptions, their, own, got *checkpoint.Snapshot) {
	t.Helper()
	broken := (h.Environment == pbt.KeepPart) != (h.Buffers == pbt.KeepPart) // a rollout in progress
	from := func(part pbt.Part) *checkpoint.Snapshot {
		if part == pbt.KeepPart {
			return own
		}
		return their
	}
	sources := map[string]*checkpoint.Snapshot{"weights": their, "random": their, "optimizer": from(h.Optimizer),
		"normalizers": from(h.Normalizers), "rollout": from(h.Buffers), "memories": from(h.Buffers),
		"environment": from(h.Environment)}
	factor, scaled := map[pbt.Part]float32{pbt.ResetPart: 0, pbt.DecayPart: 0.5}[h.Optimizer]
	counted := map[string]int{}
	for name, array := range got.Arrays {
		part := partOf(name)
		if sources[part] == nil {
			t.Fatalf("the array %q is part of nothing", name)
		}
		// Memories begin anew where the rollout does: they belong to what the agent saw last.
		if broken && (name == layout.Hidden(layout.Policy) || name == layout.Hidden(layout.Value)) {
			must.Is(t, nonzero(array.Data), false, "%s goes on without its rollout", name)
			continue
		}
		counted[part]++
		expected := sources[part].Arrays[name]
		if part == "optimizer" && scaled {
			values := slices.Clone(must.Get(expected.Float32s())(t))
			for i := range values {
				values[i] *= factor
			}
			must.Same(t, must.Get(array.Float32s())(t), values, "%s", name)
			continue
		}
		if !bytes.Equal(expected.Data, array.Data) {
			t.Errorf("%s is not that of the right member", name)
		}
		if part != "random" && !strings.HasSuffix(name, "current_count") && nonzero(array.Data) &&
			bytes.Equal(own.Arrays[name].Data, their.Arrays[name].Data) {
			t.Errorf("%s is the same in both members: this shows nothing", name)
		}
	}
	must.Is(t, counted["rollout"] == 0, broken, "whether there is no rollout in progress")
	for _, part := range []string{"weights", "optimizer", "normalizers", "environment", "random"} {
		must.Is(t, counted[part] > 0, true, "whether arrays are part of the %s", part)
	}
	equal := func(key string, want any) {
		t.Helper()
		must.Is(t, fmt.Sprint(leaf(got)[key]), fmt.Sprint(want), "%s", key)
	}
	steps := leaf(from(h.Optimizer))["optimizer_steps"].(map[string]any)
	if h.Optimizer == pbt.ResetPart {
		steps = maps.Clone(steps)
		for name := range steps {
			steps[name] = 0
		}
	}
	equal("optimizer_steps", steps)
	differ := func(key string) {
		t.Helper()
		if fmt.Sprint(leaf(their)[key]) == fmt.Sprint(leaf(own)[key]) {
			t.Errorf("%s is the same in both members: this shows nothing", key)
		}
	}
	differ("optimizer_steps")
	equal("timestep", leaf(their)["timestep"])
	equal("memories", leaf(from(h.Buffers))["memories"])
	rollout := leaf(from(h.Buffers))["rollout_steps"]
	if broken {
		rollout = 0
	}
	equal("rollout_steps", rollout)
	state, ok := leaf(from(h.Schedule))["scheduler_state"].(map[string]any)
	if !ok {
		return
	}
	differ("scheduler_state")
	if h.Schedule == pbt.ResetPart {
		state = maps.Clone(state)
		state["step"] = 0
		if _, ok := state["learning_rate"]; ok {
			state["learning_rate"] = state["base"]
		}
	}
	equal("scheduler_state", state)
}

func nonzero(data []byte) bool {
	return slices.ContainsFunc(data, func(b byte) bool { return b != 0 })
}
