package agenttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Suite is what every agent must hold, whatever the algorithm.
type Suite struct {
	Spaces spaces.Set
	// New makes an agent with a seed, of settings over those of the suite.
	New func(t testing.TB, seed uint64, settings map[string]any) agents.Agent
}

const rows = 3

func (x Suite) make(t testing.TB, seed uint64, settings map[string]any) agents.Agent {
	t.Helper()
	a := x.New(t, seed, settings)
	if err := a.Bind(rows); err != nil {
		t.Fatal(err)
	}
	Close(t, a)
	return a
}

func (x Suite) world(seed uint64) *World { return NewWorld(x.Spaces, Seeds(seed, rows)...) }

// Run runs every test of the suite.
func (x Suite) Run(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"seeds", x.seeds}, {"goroutines", x.goroutines}, {"leaks", x.leaks}, {"resume", x.resume}, {"foreign snapshots", x.foreign},
		{"hyperparameters", x.hyperparameters}, {"scheduled", x.scheduled}, {"divergence", x.divergence}, {"cancellation", x.cancellation},
		{"evaluation", x.evaluation}, {"misuse", x.misuse}, {"shaping", x.shaping}, {"first steps", x.firstSteps}, {"reseed", x.reseed},
	} {
		t.Run(test.name, func(t *testing.T) {
			CheckLive(t)
			test.run(t)
		})
	}
}

// seeds: the same seed gives the same agent, bit for bit, and another seed another one.
func (x Suite) seeds(t *testing.T) {
	a, b, c := x.make(t, 7, nil), x.make(t, 7, nil), x.make(t, 8, nil)
	before := Parameters(t, a)
	for _, agent := range []agents.Agent{a, b, c} {
		Learn(t, agent, x.world(1), 3)
	}
	Same(t, a, b)
	other := Parameters(t, c)
	for name, p := range Parameters(t, a) {
		if slices.Equal(p, before[name]) {
			t.Errorf("%s has not learned", name)
		}
		if slices.Equal(p, other[name]) {
			t.Errorf("%s is the same with another seed", name)
		}
	}
}

// goroutines: two agents that train at once end like one after the other.
func (x Suite) goroutines(t *testing.T) {
	settings := []map[string]any{nil, {"learning_rate": 2e-3, "kl_threshold": 0.05}}
	train := func(a agents.Agent, i int) error { return Advance(a, x.world(uint64(10*i)), 40) }
	var alone, together [2]agents.Agent
	for i := range alone {
		alone[i], together[i] = x.make(t, uint64(i), settings[i]), x.make(t, uint64(i), settings[i])
		if err := train(alone[i], i); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	var failed [2]error
	for i, a := range together {
		wait.Go(func() { failed[i] = train(a, i) })
	}
	wait.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	for i := range alone {
		Same(t, alone[i], together[i])
	}
}

// leaks: the number of tensors is the same after every update, and after Close that of before.
func (x Suite) leaks(t *testing.T) {
	before := tensor.Live()
	a := x.New(t, 1, nil)
	if err := a.Bind(rows); err != nil {
		t.Fatal(err)
	}
	w := x.world(1)
	live := func() int64 { // with the temporaries of an evaluation's step, which are always as many
		a.SetTraining(false)
		defer a.SetTraining(true)
		if _, err := a.Act(w.Now()); err != nil {
			t.Fatal(err)
		}
		return tensor.Live()
	}
	Learn(t, a, w, 2)
	first := live()
	for range 5 {
		Learn(t, a, w, 1)
		if n := live(); n != first {
			t.Fatalf("%d tensors are alive after an update, %d were after an earlier one", n, first)
		}
	}
	Snapshot(t, a)
	if n := tensor.Live(); n != first {
		t.Errorf("%d tensors are alive after a snapshot, %d were before", n, first)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := tensor.Live(); n != before {
		t.Errorf("%d tensors are alive after Close, %d were before New", n, before)
	}
}

// resume: a snapshot in mid-rollout, or of a complete one, restored into another agent continues bit for bit, also
// through a file.
func (x Suite) resume(t *testing.T) {
	for _, settings := range []map[string]any{nil, {"learning_rate_scheduler": "KLAdaptiveLR"}} {
		for _, steps := range []int{0, 5, 16, 19} {
			a, b := x.make(t, 3, settings), x.make(t, 99, settings)
			w := x.world(5)
			if err := Advance(a, w, steps); err != nil {
				t.Fatal(err)
			}
			if err := Advance(b, x.world(77), 13); err != nil {
				t.Fatal(err)
			}
			snap := Snapshot(t, a)
			if err := b.Restore(Through(t, snap)); err != nil {
				t.Fatal(err)
			}
			if d := Differences(snap, Snapshot(t, b)); len(d) > 0 {
				t.Fatalf("after %d steps: the snapshot of what was restored differs in %q", steps, d)
			}
			v := w.Clone()
			if err := errors.Join(Advance(a, w, 21), Advance(b, v, 21)); err != nil {
				t.Fatal(err)
			}
			Same(t, a, b)
		}
	}
	a, b := x.make(t, 3, nil), x.make(t, 99, nil)
	Learn(t, a, x.world(5), 2)
	snap, err := a.Snapshot(agents.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(snap); err != nil {
		t.Fatal(err)
	}
	if d := Differences(snap, mustSnapshot(t, b, agents.SnapshotOptions{})); len(d) > 0 {
		t.Errorf("without buffers: the snapshot of what was restored differs in %q", d)
	}
}

func mustSnapshot(t testing.TB, a agents.Agent, opt agents.SnapshotOptions) *checkpoint.Snapshot {
	t.Helper()
	snap, err := a.Snapshot(opt)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// foreign: a snapshot of another agent, or one with anything missing or wrong, is refused, and nothing changes.
func (x Suite) foreign(t *testing.T) {
	settings := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR"}
	a := x.make(t, 1, settings)
	w := x.world(1)
	if err := Advance(a, w, 21); err != nil {
		t.Fatal(err)
	}
	donor := x.make(t, 2, settings)
	if err := Advance(donor, x.world(9), 13); err != nil {
		t.Fatal(err)
	}
	before := Snapshot(t, a)
	refused := func(what string, snap *checkpoint.Snapshot) {
		t.Helper()
		if err := a.Restore(snap); err == nil {
			t.Errorf("%s: restored", what)
		}
		if d := Differences(before, Snapshot(t, a)); len(d) > 0 {
			t.Fatalf("%s: %q changed", what, d)
		}
	}
	refused("empty", checkpoint.NewSnapshot())
	good := Snapshot(t, donor)
	for name, array := range good.Arrays {
		short := Through(t, good)
		delete(short.Arrays, name)
		refused("without "+name, short)
		wrong := Through(t, good)
		wrong.Arrays[name] = checkpoint.ArrayFloat32([]int64{3}, []float32{1, 2, 3})
		if array.DType == checkpoint.F32 && len(array.Shape) == 1 && array.Shape[0] == 3 {
			wrong.Arrays[name] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		}
		refused("with another "+name, wrong)
	}
	for _, key := range []string{"agent", "format", "timestep", "updates", "random", "optimizer_steps", "rollout_steps", "scheduler", "scheduler_state"} {
		short := Through(t, good)
		delete(short.Values, key)
		refused("without "+key, short)
		for _, bad := range []any{-1, "no", 1e9, map[string]any{}} {
			wrong := Through(t, good)
			wrong.Values[key] = bad
			if key == "timestep" && bad == 1e9 || key == "updates" && bad == 1e9 {
				continue // possible
			}
			refused(fmt.Sprintf("%s %v", key, bad), wrong)
		}
	}
	if err := a.Restore(good); err != nil {
		t.Error(err)
	}
}

// hyperparameters: all change, or on error none.
func (x Suite) hyperparameters(t *testing.T) {
	a := x.make(t, 1, nil)
	before := a.Hyperparameters()
	want := map[string]float64{"learning_rate": 3e-3, "discount_factor": 0.9, "entropy_loss_scale": 0.01}
	for key := range want {
		if _, ok := before[key]; !ok {
			t.Errorf("%q is no hyperparameter", key)
		}
	}
	for name, bad := range map[string]map[string]float64{
		"unknown":       {"learning_rate": 1e-3, "learning_rat": 1},
		"negative":      {"discount_factor": 0.9, "learning_rate": -1},
		"zero rate":     {"discount_factor": 0.9, "learning_rate": 0},
		"NaN":           {"discount_factor": 0.9, "gae_lambda": math.NaN()},
		"NaN rate":      {"learning_rate": math.NaN()},
		"infinite rate": {"learning_rate": math.Inf(1)},
		"above one":     {"learning_rate": 1e-3, "discount_factor": 1.5},
	} {
		if err := a.SetHyperparameters(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if got := a.Hyperparameters(); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("%s: changed %v to %v", name, before, got)
		}
	}
	if err := a.SetHyperparameters(want); err != nil {
		t.Fatal(err)
	}
	got := a.Hyperparameters()
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%q is %v, want %v", key, got[key], v)
		}
	}
	// They take effect: an agent made with them learns the same.
	b := x.make(t, 1, map[string]any{"learning_rate": 3e-3, "discount_factor": 0.9, "entropy_loss_scale": 0.01})
	Learn(t, a, x.world(4), 2)
	Learn(t, b, x.world(4), 2)
	Same(t, a, b)
}

// scheduled: with a schedule, a new learning rate changes the schedule's in proportion.
func (x Suite) scheduled(t *testing.T) {
	a := x.make(t, 1, map[string]any{"learning_rate": 1e-3, "learning_rate_scheduler": "ExponentialLR",
		"learning_rate_scheduler_kwargs": map[string]any{"gamma": 0.5}})
	w := x.world(4)
	rate := func() (rate float64) {
		t.Helper()
		rate = math.NaN()
		a.Tracked(func(tag string, v float64) {
			if tag == "Learning / Learning rate" {
				rate = v
			}
		})
		return rate
	}
	for _, want := range []float64{5e-4, 2.5e-4} {
		Learn(t, a, w, 1)
		if got := rate(); math.Abs(got-want) > 1e-12 {
			t.Errorf("learning rate %g, want %g", got, want)
		}
	}
	if err := a.SetHyperparameters(map[string]float64{"learning_rate": 4e-3}); err != nil {
		t.Fatal(err)
	}
	Learn(t, a, w, 1)
	if got := rate(); math.Abs(got-5e-4) > 1e-12 {
		t.Errorf("learning rate %g after the change, want %g", got, 5e-4)
	}
}

// divergence: an update whose numbers are not finite is undone and reported.
func (x Suite) divergence(t *testing.T) {
	a := x.make(t, 1, map[string]any{"learning_rate": 1e30, "grad_norm_clip": 0})
	Fill(t, a, x.world(2))
	before := Snapshot(t, a)
	err := a.Update(context.Background())
	var diverged *agents.DivergedError
	if !errors.As(err, &diverged) {
		t.Fatalf("an update with a learning rate of 1e30: %v", err)
	}
	if d := Differences(before, Snapshot(t, a)); len(d) > 0 {
		t.Errorf("after it %q changed", d)
	}
	if err := a.SetHyperparameters(map[string]float64{"learning_rate": 1e-3}); err != nil {
		t.Fatal(err)
	}
	if err := a.Update(context.Background()); err != nil {
		t.Errorf("with a sensible rate: %v", err)
	}

	// Parameters that are not finite show in the first action.
	for name, array := range before.Arrays {
		if name == "policy/net.0.weight" || name == "policy/head.0.weight" {
			p, _ := array.Float32s()
			p[0] = float32(math.NaN())
		}
	}
	if err := a.Restore(before); err != nil {
		t.Fatal(err)
	}
	if err := a.Update(context.Background()); !errors.As(err, &diverged) {
		t.Errorf("an update of NaN parameters: %v", err)
	}
}

// stopAfter is a context that is cancelled when it has been asked so many times.
type stopAfter struct {
	context.Context
	left int
}

func (c *stopAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// cancellation: a cancelled update leaves the agent as before, and a second one learns as if nothing had been.
func (x Suite) cancellation(t *testing.T) {
	for _, settings := range []map[string]any{nil, {"learning_rate_scheduler": "KLAdaptiveLR", "kl_threshold": 100.0}, {"compatibility": agents.SKRL2}} {
		a, b := x.make(t, 1, settings), x.make(t, 1, settings)
		v, w := x.world(2), x.world(2)
		Learn(t, a, v, 1)
		Learn(t, b, w, 1)
		Fill(t, a, v)
		Fill(t, b, w)
		before := Snapshot(t, a)
		for _, left := range []int{0, 1, 2, 3, 5} {
			if err := a.Update(&stopAfter{context.Background(), left}); !errors.Is(err, context.Canceled) {
				t.Fatalf("an update that is cancelled after %d checks: %v", left, err)
			}
			if d := Differences(before, Snapshot(t, a)); len(d) > 0 {
				t.Fatalf("cancelled after %d checks: %q changed", left, d)
			}
			if !a.Ready() {
				t.Fatal("the rollout is lost")
			}
		}
		if err := errors.Join(a.Update(context.Background()), b.Update(context.Background())); err != nil {
			t.Fatal(err)
		}
		Same(t, a, b)
	}
}

// evaluation: actions are the distribution's mode, the same every time, and nothing is recorded.
func (x Suite) evaluation(t *testing.T) {
	a := x.make(t, 1, nil)
	w := x.world(2)
	if err := Advance(a, w, 5); err != nil {
		t.Fatal(err)
	}
	before := Snapshot(t, a)
	a.SetTraining(false)
	if a.Training() || a.Ready() {
		t.Error("an agent in evaluation trains")
	}
	var last []float32
	for range 3 {
		actions, err := a.Act(w.Now())
		if err != nil {
			t.Fatal(err)
		}
		if last != nil && fmt.Sprint(last) != fmt.Sprint(actions) {
			t.Errorf("actions %v, then %v", last, actions)
		}
		last = append([]float32(nil), actions...)
		if err := a.Record(w.Clone().Step(actions)); err != nil {
			t.Fatal(err)
		}
	}
	if d := Differences(before, Snapshot(t, a)); len(d) > 0 {
		t.Errorf("%q changed in evaluation", d)
	}
	s, ok := a.(interface{ SetStochastic(bool) })
	if !ok {
		t.Fatal("the agent cannot sample in evaluation")
	}
	s.SetStochastic(true)
	actions, err := a.Act(w.Now())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(actions) == fmt.Sprint(last) {
		t.Error("sampled actions are the mode's")
	}
	s.SetStochastic(false)
	a.SetTraining(true)
	if err := Advance(a, w, 20); err != nil {
		t.Error(err)
	}
}

// misuse: calls in the wrong order and rows of the wrong width are errors.
func (x Suite) misuse(t *testing.T) {
	a := x.make(t, 1, nil)
	w := x.world(2)
	if err := a.Update(context.Background()); err == nil {
		t.Error("Update without a rollout succeeded")
	}
	transition := w.Clone().Step(make([]float32, rows*x.Spaces.Action.Width()))
	if err := a.Record(transition); err == nil {
		t.Error("Record without Act succeeded")
	}
	if err := a.Bind(rows + 1); err == nil {
		t.Error("another number of environments was accepted")
	}
	if err := a.Bind(0); err == nil {
		t.Error("no environments were accepted")
	}
	in := w.Now()
	in.Observations = in.Observations[1:]
	if _, err := a.Act(in); err == nil {
		t.Error("a short observation was accepted")
	}
	if _, err := a.Act(w.Now()); err != nil {
		t.Fatal(err)
	}
	before := Snapshot(t, a)
	for name, spoil := range map[string]func(t *agents.Transition){
		"rewards":           func(t *agents.Transition) { t.Rewards = t.Rewards[1:] },
		"NaN reward":        func(t *agents.Transition) { t.Rewards = []float32{0, float32(math.NaN()), 0} },
		"terminated":        func(t *agents.Transition) { t.Terminated = nil },
		"truncated":         func(t *agents.Transition) { t.Truncated = t.Truncated[:1] },
		"next observations": func(t *agents.Transition) { t.NextObservations = nil },
		"missing final observations": func(t *agents.Transition) {
			t.Truncated, t.Terminated, t.FinalObservations = []bool{true, false, false}, make([]bool, rows), nil
		},
	} {
		bad := transition
		spoil(&bad)
		if err := a.Record(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if d := Differences(before, Snapshot(t, a)); len(d) > 0 {
		t.Errorf("%q changed", d)
	}
	Fill(t, a, w)
	if _, err := a.Act(w.Now()); err == nil {
		t.Error("Act with a full rollout succeeded")
	}
}

// shaping: the environment's rewards are not changed, and the shaper sees every step.
func (x Suite) shaping(t *testing.T) {
	var steps []int
	a := x.make(t, 1, map[string]any{"rewards_shaper_scale": 0.5, "rewards_shaper": func(rewards []float32, timestep int) {
		steps = append(steps, timestep)
		for i := range rewards {
			rewards[i] += 10
		}
	}})
	w := x.world(2)
	var want []float32
	for range 5 {
		actions, err := a.Act(w.Now())
		if err != nil {
			t.Fatal(err)
		}
		tr := w.Step(actions)
		given := append([]float32(nil), tr.Rewards...)
		if err := a.Record(tr); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(given) != fmt.Sprint(tr.Rewards) {
			t.Fatalf("rewards %v became %v", given, tr.Rewards)
		}
		for _, r := range given {
			want = append(want, (r+10)*0.5)
		}
	}
	if fmt.Sprint(steps) != "[0 1 2 3 4]" {
		t.Errorf("the shaper was called at timesteps %v", steps)
	}
	got, err := Snapshot(t, a).Arrays["rollout/rewards"].Float32s()
	if err != nil || fmt.Sprint(got[:len(want)]) != fmt.Sprint(want) {
		t.Errorf("rewards %v, want %v (%v)", got, want, err)
	}
}

// firstSteps: random_timesteps acts at random, with probabilities that are the policy's own; learning_starts puts the
// first update off.
func (x Suite) firstSteps(t *testing.T) {
	settings := map[string]any{"random_timesteps": 4, "rollouts": 8, "learning_starts": 16}
	a := x.make(t, 1, settings)
	w := x.world(2)
	for step := range 24 {
		if a.Ready() {
			t.Fatalf("ready to learn after %d steps", step)
		}
		if err := Step(a, w); err != nil {
			t.Fatal(err)
		}
		if step == 5 {
			logProb, err := Snapshot(t, a).Arrays["rollout/log_prob"].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range logProb[:18] {
				if p == 0 || math.IsNaN(float64(p)) {
					t.Errorf("log-probability %d is %v", i, p)
				}
			}
		}
	}
	if !a.Ready() {
		t.Fatal("not ready after 24 steps")
	}
	if err := a.Update(context.Background()); err != nil {
		t.Fatal(err)
	}
	// The first four actions do not depend on the policy, the fifth does.
	first := func(seed uint64, steps int) []float32 {
		b := x.make(t, 5, settings)
		snap := Snapshot(t, b)
		last := "policy/net.2.bias"
		if _, evolvable := snap.Arrays["policy/head.out.bias"]; evolvable {
			last = "policy/head.out.bias"
		}
		p, err := snap.Arrays[last].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			p[i] += float32(seed) * 20 * float32(i%3+1)
		}
		if err := b.Restore(snap); err != nil {
			t.Fatal(err)
		}
		v := x.world(2)
		if err := Advance(b, v, steps-1); err != nil {
			t.Fatal(err)
		}
		actions, err := b.Act(v.Now())
		if err != nil {
			t.Fatal(err)
		}
		return append([]float32(nil), actions...)
	}
	if a, b := first(0, 4), first(1, 4); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("random actions depend on the policy: %v, %v", a, b)
	}
	if a, b := first(0, 5), first(1, 5); fmt.Sprint(a) == fmt.Sprint(b) {
		t.Errorf("actions after the random ones do not depend on the policy: %v", a)
	}
}

// reseed: two copies of an agent go different ways after a reseed, and the same way after the same one.
func (x Suite) reseed(t *testing.T) {
	a, b, c := x.make(t, 1, nil), x.make(t, 1, nil), x.make(t, 1, nil)
	if err := errors.Join(b.Reseed(5), c.Reseed(5)); err != nil {
		t.Fatal(err)
	}
	for _, agent := range []agents.Agent{a, b, c} {
		Learn(t, agent, x.world(2), 1)
	}
	Same(t, b, c)
	if len(Differences(Snapshot(t, a), Snapshot(t, b))) == 0 {
		t.Error("a reseeded agent learned the same")
	}
}
