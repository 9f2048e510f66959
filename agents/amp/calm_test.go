package amp

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/internal/devicename"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// overlapping is a source of motion that shows windows of three numbers that overlap.
type overlapping struct{ agenttest.Motion }

func (w *overlapping) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	rows, err := w.CollectReferenceMotions(n, rng)
	var out []float32
	for i := range n {
		x := rows[3*i:][:3]
		out = append(append(out, x...), x[1], x[2], float32(rng.NormFloat64()))
	}
	return out, err
}

// halved is a source that shows rows where pairs are asked for.
type halved struct{ agenttest.Motion }

func (h *halved) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	h.Width = 3
	return h.CollectReferenceMotions(n, rng)
}

// directed returns an agent with latents of 2 dimensions that are encodings of motion.
func directed(t *testing.T, settings map[string]any) *Agent {
	t.Helper()
	all := map[string]any{"latent_mode": "calm", "latent_size": 2}
	maps.Copy(all, settings)
	return open(t, Options{Spaces: plain, Models: conditioned(plain, 2, 5), Dict: small(all), Seed: 4,
		Motions: &overlapping{agenttest.Motion{Width: 3, Mean: 0.7}}})
}

// toldWorld is a world whose observations end with latents that the agent has returned, held for some steps.
type toldWorld struct {
	*agenttest.World
	drawn int
}

func newTold(t testing.TB, a *Agent) *toldWorld {
	w := &toldWorld{World: agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)}
	w.tell(t, a)
	return w
}

// tell writes latents into what the world shows: one environment has another one in each step.
func (w *toldWorld) tell(t testing.TB, a *Agent) {
	t.Helper()
	z := check.Get(a.Latents())(t)
	for i := range 3 {
		which := (w.drawn + 2 - i) / 3 % (len(z) / 2)
		copy(w.Now().Observations[4*i+2:], z[2*which:][:2])
	}
	w.drawn++
}

func (w *toldWorld) step(t testing.TB, a *Agent) {
	t.Helper()
	actions := check.Get(a.Act(w.Now()))(t)
	before := slices.Clone(w.Now().Observations)
	next := w.World.Step(actions)
	for i := range 3 { // the world moves latents, too
		copy(w.Now().Observations[4*i+2:], before[4*i+2:][:2])
		if len(next.FinalObservations) > 0 {
			copy(next.FinalObservations[4*i+2:], before[4*i+2:][:2])
		}
	}
	w.tell(t, a)
	next.NextObservations = slices.Clone(w.Now().Observations)
	w.Last = next
	must(t, a.Record(next))
}

func (w *toldWorld) learn(t testing.TB, a *Agent, updates int) {
	t.Helper()
	for range updates {
		for !a.Ready() {
			w.step(t, a)
		}
		must(t, a.Update(context.Background()))
	}
}

// conditioned are networks of one hidden layer for latents of a size.
func conditioned(sp spaces.Set, latent, hidden int) Models {
	h := []int{hidden}
	return WithConditionalDiscriminator(WithSeparateEncoder(MLPs(sp, h, "tanh"), sp, latent, h, "tanh"), sp, latent,
		h, "tanh")
}

// fixed are the rows of a minibatch.
type fixed struct{ pairs, replay tensor.Tensor }

func (fixed) Begin(*tensor.Scope, int) {}

func (f fixed) Rows(*tensor.Scope, int, int64) (motion, replay tensor.Tensor) {
	return f.pairs, f.replay
}

func wide(x []float32) (out []float64) {
	for _, v := range x {
		out = append(out, float64(v))
	}
	return out
}

// The style reward is that of D(x | z) with the latent that each row was told, in an update, by StyleRewards, and
// where it ends episodes.
func TestConditionalReward(t *testing.T) {
	a := directed(t, map[string]any{"termination_style_reward": 2.5, "termination_steps": 1,
		"amp_observation_preprocessor": nil,
		"discount_factor":              0, "value_preprocessor": nil, "task_reward_scale": 0, "style_reward_scale": 3})
	l := a.learner
	s := noGrad(t, l.Device)
	for _, p := range l.discriminator.Parameters() {
		s.Scale(p.Tensor, 3)
	}
	w := newTold(t, a)
	d := layered(t, l.discriminator.Parameters())
	style := func(x, observation []float32) float64 {
		logit := d(append(wide(x), wide(observation[2:])...))[0]
		return -math.Log(math.Max(1-1/(1+math.Exp(-logit)), 1e-4))
	}
	ended := 0
	for !a.Ready() {
		before := slices.Clone(w.Now().Observations)
		w.step(t, a)
		for i, got := range a.Terminations() {
			over := w.Last.Terminated[i] || w.Last.Truncated[i]
			want := !over && style(w.Last.AMPObservations[3*i:][:3], before[4*i:][:4]) < 2.5
			if got != want {
				t.Errorf("environment %d is to end: %v, want %v", i, got, want)
			}
			if want {
				ended++
			}
		}
	}
	if ended == 0 || ended == 3*8 {
		t.Errorf("%d steps end an episode, which shows little", ended)
	}
	rows, observations := tensortest.Float32s(t, s, l.Rollout.Rows("amp_observations")), tensortest.Float32s(t, s,
		l.Rollout.Rows("observations"))
	var joined []float32
	for i := range len(rows) / 3 {
		joined = append(append(joined, rows[3*i:][:3]...), observations[4*i+2:][:2]...)
	}
	shown := check.Get(a.StyleRewards(joined))(t)
	must(t, a.Update(context.Background()))
	for i, got := range tensortest.Float32s(t, s, l.Rollout.Rows("returns")) {
		want := style(rows[3*i:][:3], observations[4*i:][:4])
		near(t, "StyleRewards", float64(shown[i]), want, 1e-4)
		near(t, "return", float64(got), 3*want, 1e-4)
	}
}

// Latents are the encodings of the motion dataset, of length 1, and follow the encoder; a checkpoint brings them
// along with the memories that hold pairs of windows, and motion beside its latents, and a copy learns on from it.
func TestLatents(t *testing.T) {
	a := directed(t, nil)
	latents := func(a *Agent) []float32 { return check.Get(a.Latents())(t) }
	encoded := func() []float32 {
		t.Helper()
		s := noGrad(t, a.learner.Device)
		now, _ := a.learner.splitRows(s, a.learner.motionSet.Data())
		want := check.Get(a.Encode(tensortest.Float32s(t, s, now)))(t)
		got := latents(a)
		check.Is(t, len(got), 2*50, "values of the latents of 50 rows")
		for i := range got {
			near(t, "latent", float64(got[i]), float64(want[i]), 1e-6)
		}
		for i := range 50 {
			near(t, "length", math.Hypot(float64(got[2*i]), float64(got[2*i+1])), 1, 1e-5)
		}
		return slices.Clone(got)
	}
	first := encoded()
	w := newTold(t, a)
	w.learn(t, a, 2)
	check.Not(t, slices.Equal(first, encoded()), "an update has not changed the latents")
	b := directed(t, nil)
	must(t, b.Restore(agenttest.Through(t, agenttest.Snapshot(t, a))))
	check.Same(t, latents(b), latents(a), "latents of a checkpoint")
	agenttest.Same(t, a, b)
	w.learn(t, b, 1)
	check.RefusedAs(newAgent(t, plain, 1, nil).Encode(make([]float32, 3)))(t, "without latents", "latent_size")
}

// The rollout has the motion behind the latent of every step, also of latents that are held for longer than an update,
// and where another agent's snapshot is restored meanwhile. In training a latent that is no motion's is refused with
// what to do, and buffers of before are, too.
func TestToldWindows(t *testing.T) {
	settings := map[string]any{"amp_observation_preprocessor": nil}
	a, other := directed(t, settings), directed(t, settings)
	w := newTold(t, a)
	s := noGrad(t, a.learner.Device)
	behind := map[[2]float32][]float32{} // motion by latent, of all encoders
	restored := false
	read := func(field string) []float32 { return tensortest.Float32s(t, s, a.learner.Rollout.Rows(field)) }
	for update := range 3 {
		for !a.Ready() {
			z := check.Get(a.Latents())(t)
			for i, row := range slices.Collect(slices.Chunk(a.learner.windows.returned.rows, 3)) {
				behind[[2]float32(z[2*i:])] = row
			}
			w.step(t, a)
			if update == 1 && !restored && a.learner.Rollout.Len() == 3 {
				restored = true
				must(t, a.Restore(agenttest.Snapshot(t, other)))
			}
		}
		observations, got := read("observations"), read("windows")
		for i, row := range slices.Collect(slices.Chunk(got, 3)) {
			if want := behind[[2]float32(observations[4*i+2:])]; want == nil || !slices.Equal(row, want) {
				t.Fatalf("update %d: row %d has motion %v, want %v", update, i, row, want)
			}
		}
		must(t, a.Update(context.Background()))
	}
	strange := agents.Observation{Observations: slices.Clone(w.Now().Observations)}
	strange.Observations[4+2] = 0.6
	check.RefusedAs(a.Act(strange))(t, "a latent of no motion", "environment 1", "SetSource")
	a.SetTraining(false)
	check.Get(a.Act(strange))(t)
	snap := agenttest.Snapshot(t, a)
	delete(snap.Arrays, layout.ToldWindows)
	check.RefuseAs(t, "buffers without motion", a.Restore(snap), "warm_start")
}

// What is recorded of minibatches of ASE and CALM and replayed for others gives the same bits as without.
func TestSkillsRecorded(t *testing.T) {
	learned := func(calm, eager bool) *Agent {
		devicename.Eager = eager
		defer func() { devicename.Eager = false }()
		if calm {
			a := directed(t, map[string]any{"mismatched_negatives": true})
			newTold(t, a).learn(t, a, 2)
			return a
		}
		a := skilled(t, WithEncoder(standard, 2), nil)
		agenttest.Learn(t, a, agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...), 2)
		return a
	}
	for _, calm := range []bool{false, true} {
		agenttest.Same(t, learned(calm, true), learned(calm, false))
	}
}
