package agenttest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
)

// Agent is an agent with everything that gorl's own can do, but name architectures.
type Agent interface {
	agents.Agent
	agents.Binder
	agents.Tracker
	agents.Tunable
	agents.Snapshotter
	agents.Reseeder
	agents.Stochastic
}

// CheckLive is [tensortest.CheckLive], for tests that need nothing else of it.
var CheckLive = tensortest.CheckLive

// must ends the test if its error is not nil.
var must = check.Do

// Close closes an agent with the test.
func Close(t testing.TB, a agents.Agent) {
	t.Helper()
	t.Cleanup(func() {
		for range 2 { // the second time is allowed
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Advance makes steps of the world with the agent's actions, and updates when it is ready.
func Advance(a agents.Agent, w *World, steps int) error {
	for range steps {
		if a.Ready() {
			if err := a.Update(context.Background()); err != nil {
				return err
			}
		}
		if err := Step(a, w); err != nil {
			return err
		}
	}
	return nil
}

// Step makes one step of the world with the agent's actions. An action that the world's masks forbid is an error.
func Step(a agents.Agent, w *World) error {
	actions, err := a.Act(w.Now())
	if err != nil {
		return err
	}
	if err := w.sp.CheckAllowed(actions, w.now.ActionMasks); err != nil {
		return err
	}
	return a.Record(w.Step(actions))
}

// Fill makes steps until the agent is ready.
func Fill(t testing.TB, a agents.Agent, w *World) {
	t.Helper()
	for !a.Ready() {
		must(t, Step(a, w))
	}
}

// Learn makes so many rollouts and updates.
func Learn(t testing.TB, a agents.Agent, w *World, updates int) {
	t.Helper()
	for range updates {
		Fill(t, a, w)
		must(t, a.Update(context.Background()))
	}
}

// Snapshot is everything the agent is, buffers included.
func Snapshot(t testing.TB, a agents.Agent) *checkpoint.Snapshot {
	t.Helper()
	saved, ok := agents.As[agents.Snapshotter](a)
	if !ok {
		t.Fatalf("the agent (%T) cannot be saved", a)
	}
	snap, err := saved.Snapshot(agents.SnapshotOptions{Buffers: true})
	must(t, err)
	return snap
}

// Differences names what is not the same, bit for bit, in two snapshots. Names with one of the prefixes are left out.
func Differences(a, b *checkpoint.Snapshot, except ...string) []string {
	var out []string
	for _, name := range union(a.Arrays, b.Arrays) {
		if slices.ContainsFunc(except, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		x, y := a.Arrays[name], b.Arrays[name]
		if x.DType != y.DType || !slices.Equal(x.Shape, y.Shape) || !bytes.Equal(x.Data, y.Data) {
			out = append(out, name)
		}
	}
	for _, k := range union(a.Values, b.Values) {
		if !slices.Contains(except, k) && fmt.Sprint(a.Values[k]) != fmt.Sprint(b.Values[k]) {
			out = append(out, fmt.Sprintf("%s: %v and %v", k, a.Values[k], b.Values[k]))
		}
	}
	return out
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Same fails the test where two agents differ in anything.
func Same(t testing.TB, a, b agents.Agent, except ...string) {
	t.Helper()
	if d := Differences(Snapshot(t, a), Snapshot(t, b), except...); len(d) > 0 {
		t.Errorf("the agents differ in %q", d)
	}
}

// Through returns a snapshot as a file gives it back.
func Through(t testing.TB, snap *checkpoint.Snapshot) *checkpoint.Snapshot {
	t.Helper()
	var file bytes.Buffer
	must(t, checkpoint.EncodeSafetensors(&file, snap))
	out, err := checkpoint.DecodeSafetensors(file.Bytes())
	must(t, err)
	return out
}

// Parameters are the agent's weights by name.
func Parameters(t testing.TB, a agents.Agent) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	for name, array := range Snapshot(t, a).Arrays {
		if array.DType != checkpoint.F32 || strings.HasPrefix(name, "optimizer/") || strings.HasPrefix(name,
			"discriminator_optimizer/") ||
			strings.HasPrefix(name, "rollout/") || strings.HasSuffix(name, "/rows") {
			continue
		}
		x, err := array.Float32s()
		must(t, err)
		out[name] = slices.Clone(x)
	}
	return out
}
