package amp

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// windows is a source of motion that shows windows of three numbers that overlap.
type windows struct{ agenttest.Motion }

func (w *windows) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
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
	for k, v := range settings {
		all[k] = v
	}
	a, err := New(Options{Spaces: plain, Models: conditioned(plain, 2, 5), Motions: &windows{agenttest.Motion{Width: 3, Mean: 0.7}},
		Dict: small(all), Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Close(t, a)
	return a
}

// conditioned are networks of one hidden layer for latents of a size.
func conditioned(sp spaces.Set, latent, hidden int) Models {
	h := []int{hidden}
	return WithConditionalDiscriminator(WithEncoder(MLPs(sp, h, "tanh"), sp, latent, h, "tanh"), sp, latent, h, "tanh")
}

// fixed are the rows of a minibatch.
type fixed struct{ pairs, replay tensor.Tensor }

func (fixed) Begin(*tensor.Scope, int)                             {}
func (f fixed) MotionRows(*tensor.Scope, int, int64) tensor.Tensor { return f.pairs }
func (f fixed) ReplayRows(*tensor.Scope, int, int64) tensor.Tensor { return f.replay }

func wide(x []float32) (out []float64) {
	for _, v := range x {
		out = append(out, float64(v))
	}
	return out
}

// The conditional discriminator's loss is ½·(E[softplus(D(x | z))] over the policy's rows beside what it was told, now and
// earlier, and with mismatched_negatives reference rows beside the next one's encoding, + E[softplus(−D(m | E(m)))]) + the
// penalty E[‖∂D(m | z)/∂m‖²] times its scale, and the encoder's own E[‖E(m) − E(m′)‖²] + u·ln E[exp(−2·‖E(mᵢ) − E(mⱼ)‖²)],
// computed row by row in float64; the gradients by the discriminator's and the encoder's weights are those of finite
// differences.
func TestConditionalLosses(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"plain":      {},
		"mismatched": {"mismatched_negatives": true, "uniformity_loss_scale": 2},
		"masked":     {"discriminator_masked_features": "1", "mismatched_negatives": true},
		"no penalty": {"discriminator_gradient_penalty_scale": 0},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			settings["amp_observation_preprocessor"], settings["discriminator_loss_scale"] = nil, 1
			if _, has := settings["discriminator_gradient_penalty_scale"]; !has {
				settings["discriminator_gradient_penalty_scale"] = 0.7
			}
			settings["discriminator_logit_regularization_scale"], settings["discriminator_weight_decay_scale"] = 0, 0
			a := directed(t, settings)
			l, c := a.learner, a.Settings()
			s := tensor.NewScope().On(l.Device)
			defer s.Close()
			const n = 4
			draw := func(shape ...int64) ([]float32, tensor.Tensor) {
				x := s.Randn(l.Gen, shape...)
				return tensortest.Float32s(t, s, x), x
			}
			policy, policyRows := draw(n, 3)
			pairs, pairRows := draw(n, 6)
			replay, replayRows := draw(n+1, 5)
			observations, observationRows := draw(n, 4)
			l.Draw = fixed{pairRows, replayRows}

			discriminator, encoder := l.discriminator.Parameters(), l.encoder.Parameters()
			compute := func() (judged, own float64) {
				d, mu := layered(t, discriminator), layered(t, encoder)
				seen := func(x []float64) []float64 {
					x = slices.Clone(x)
					if c.DiscriminatorMaskedFeatures != "" {
						x[1] = 0
					}
					return x
				}
				logit := func(x, z []float64) float64 { return d(append(seen(x), z...))[0] }
				encode := func(x []float64) []float64 {
					e := mu(seen(x))
					norm := math.Sqrt(dot(e, e))
					return []float64{e[0] / norm, e[1] / norm}
				}
				softplus := func(d float64) float64 { return math.Log1p(math.Exp(d)) }
				var fake, real, penalty, aligned, uniform float64
				fakes := 0.0
				for i := range n {
					fake += softplus(logit(wide(policy[3*i:][:3]), wide(observations[4*i+2:][:2])))
					fakes++
				}
				for i := range n + 1 {
					fake += softplus(logit(wide(replay[5*i:][:3]), wide(replay[5*i+3:][:2])))
					fakes++
				}
				var z [][]float64
				for i := range n {
					m, next := wide(pairs[6*i:][:3]), wide(pairs[6*i+3:][:3])
					z = append(z, encode(m))
					real += softplus(-logit(m, z[i])) / n
					other := encode(next)
					aligned += ((z[i][0]-other[0])*(z[i][0]-other[0]) + (z[i][1]-other[1])*(z[i][1]-other[1])) / n
					for j := range m {
						const h = 1e-5
						up, down := slices.Clone(m), slices.Clone(m)
						up[j], down[j] = m[j]+h, m[j]-h
						slope := (logit(up, z[i]) - logit(down, z[i])) / (2 * h)
						penalty += slope * slope / n
					}
				}
				for i := range n {
					if c.MismatchedNegatives {
						fake += softplus(logit(wide(pairs[6*i:][:3]), z[(i+1)%n]))
						fakes++
					}
					for j := range n {
						if i != j {
							x, y := z[i][0]-z[j][0], z[i][1]-z[j][1]
							uniform += math.Exp(-2*(x*x+y*y)) / (n * (n - 1))
						}
					}
				}
				return 0.5*(fake/fakes+real) + c.DiscriminatorGradientPenaltyScale*penalty, aligned + c.UniformityLossScale*math.Log(uniform)
			}
			v := l.discriminate(s, onpolicy.Batch{Rows: n, Extra: []tensor.Tensor{policyRows, observationRows}})
			judged, own := compute()
			near(t, "discriminator loss", float64(tensortest.Float32s(t, s, v.loss)[0]), judged, 1e-4)
			near(t, "encoder loss", float64(tensortest.Float32s(t, s, v.encoder)[0]), own, 1e-4)
			l.Flat.ZeroGrad(s)
			s.Backward(s.Add(v.loss, v.encoder))
			differences(t, s, slices.Concat(discriminator, encoder), func() float64 {
				judged, own := compute()
				return judged + own
			})
		})
	}
}

// Of one latent there is no pair.
func TestUniformityOfOne(t *testing.T) {
	s := tensor.NewScope()
	defer s.Close()
	near(t, "uniformity", float64(tensortest.Float32s(t, s, uniformity(s, s.Ones(1, 2)))[0]), 0, 0)
}

// The style reward is that of D(x | z) with the latent that each row was told, in an update, by StyleRewards, and where it
// ends episodes.
func TestConditionalReward(t *testing.T) {
	agenttest.CheckLive(t)
	a := directed(t, map[string]any{"termination_style_reward": 2.5, "termination_steps": 1, "amp_observation_preprocessor": nil,
		"discount_factor": 0, "value_preprocessor": nil, "task_reward_scale": 0, "style_reward_scale": 3})
	l := a.learner
	s := tensor.NoGrad().On(l.Device)
	defer s.Close()
	for _, p := range l.discriminator.Parameters() {
		s.Scale(p.Tensor, 3)
	}
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)
	d := layered(t, l.discriminator.Parameters())
	style := func(x, observation []float32) float64 {
		logit := d(append(wide(x), wide(observation[2:])...))[0]
		return -math.Log(math.Max(1-1/(1+math.Exp(-logit)), 1e-4))
	}
	ended := 0
	for !a.Ready() {
		before := slices.Clone(w.Now().Observations)
		if err := agenttest.Step(a, w); err != nil {
			t.Fatal(err)
		}
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
	rows, observations := tensortest.Float32s(t, s, l.Rollout.Rows("amp_observations")), tensortest.Float32s(t, s, l.Rollout.Rows("observations"))
	var joined []float32
	for i := range len(rows) / 3 {
		joined = append(append(joined, rows[3*i:][:3]...), observations[4*i+2:][:2]...)
	}
	shown, err := a.StyleRewards(joined)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Update(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, got := range tensortest.Float32s(t, s, l.Rollout.Rows("returns")) {
		want := style(rows[3*i:][:3], observations[4*i:][:4])
		near(t, "StyleRewards", float64(shown[i]), want, 1e-4)
		near(t, "return", float64(got), 3*want, 1e-4)
	}
}

// Latents are the encodings of the motion dataset, of length 1, and follow the encoder; a checkpoint brings them along with
// the memories that hold pairs of windows, and motion beside its latents, and a copy learns on from it.
func TestLatents(t *testing.T) {
	agenttest.CheckLive(t)
	a := directed(t, nil)
	latents := func(a *Agent) []float32 {
		z, err := a.Latents()
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	check := func() []float32 {
		t.Helper()
		s := tensor.NoGrad().On(a.learner.Device)
		defer s.Close()
		now, _ := a.learner.halves(s, a.learner.motionSet.Data())
		want, err := a.Encode(tensortest.Float32s(t, s, now))
		if err != nil {
			t.Fatal(err)
		}
		got := latents(a)
		if len(got) != 2*50 || !slices.Equal(got, want) {
			t.Fatalf("%d latents, want those of 50 rows", len(got)/2)
		}
		for i := range 50 {
			near(t, "length", math.Hypot(float64(got[2*i]), float64(got[2*i+1])), 1, 1e-5)
		}
		return slices.Clone(got)
	}
	first := check()
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)
	agenttest.Learn(t, a, w, 2)
	if second := check(); slices.Equal(first, second) {
		t.Error("an update has not changed the latents")
	}
	b := directed(t, nil)
	if before := slices.Clone(latents(b)); slices.Equal(before, latents(a)) {
		t.Fatal("another agent has the same latents")
	}
	if err := b.Restore(agenttest.Through(t, agenttest.Snapshot(t, a))); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(latents(a), latents(b)) {
		t.Error("a checkpoint does not bring the latents along")
	}
	agenttest.Same(t, a, b)
	agenttest.Learn(t, b, w, 1)
	for want, f := range map[string]func() error{
		"latent_size":    func() error { _, err := newPlain(t).Encode(make([]float32, 3)); return err },
		"rows of 3":      func() error { _, err := a.Encode(make([]float32, 4)); return err },
		"latent_mode":    func() error { _, err := skilled(t, map[string]any{"latent_size": 2}).Latents(); return err },
		"want rows of 5": func() error { _, err := a.StyleRewards(make([]float32, 3)); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func newPlain(t *testing.T) *Agent {
	a := newAgent(t, plain, 1, nil)
	agenttest.Close(t, a)
	return a
}

// What cannot be is refused when the agent is made, with what to do.
func TestCALMRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"latent_size":                          {Dict: map[string]any{"latent_size": 0}},
		"overlap":                              {Dict: map[string]any{"overlap": true}},
		"discriminator_mode":                   {Dict: map[string]any{"discriminator_mode": "differential", "amp_observation_preprocessor": nil}},
		"gradient_penalty_samples\" is \"both": {Dict: map[string]any{"discriminator_gradient_penalty_samples": "both"}},
		"no latents":                           {Dict: map[string]any{"compatibility": "skrl-2.0", "latent_size": 2}},
		"uniformity_loss_scale":                {Dict: map[string]any{"uniformity_loss_scale": -1}},
		"ase|calm":                             {Dict: map[string]any{"latent_mode": "clam"}},
		"CollectOverlappingMotions":            {Motions: &agenttest.Motion{Width: 3}},
		"want 50 pairs":                        {Motions: &halved{}},
		"WithConditionalDiscriminator":         {Models: WithEncoder(MLPs(plain, []int{5}, "tanh"), plain, 2, []int{5}, "tanh")},
	} {
		if o.Dict == nil {
			o.Dict = map[string]any{}
		}
		all := map[string]any{"latent_mode": "calm", "latent_size": 2}
		for k, v := range o.Dict {
			all[k] = v
		}
		o.Spaces, o.Dict = plain, small(all)
		if o.Motions == nil {
			o.Motions = &windows{agenttest.Motion{Width: 3}}
		}
		if o.Models.Make == nil {
			o.Models = conditioned(plain, 2, 5)
		}
		a, err := New(o)
		if err == nil {
			a.Close()
		}
		words := strings.Split(want, "|")
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("error %v, want one that says %q", err, word)
			}
		}
	}
	if c := CALMConfig(); c.Validate() != nil {
		t.Error(c.Validate())
	}
}

// arc shows pairs of points on a circle that are near each other.
type arc struct{ circle }

func (arc) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	var out []float32
	for range n {
		angle := 2 * math.Pi * rng.Float64()
		for _, x := range []float64{angle, angle + 0.2} {
			out = append(out, float32(math.Cos(x)), float32(math.Sin(x)))
		}
	}
	return out, nil
}

// A policy that is told the encoding of motion comes to move like that motion: the motion is the action, a point of a
// circle, and its mean distance to the point whose encoding was told becomes small.
func TestDirectedMotionIsLearned(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.Unbounded(2), AMPObservation: spaces.Unbounded(2)}
	const n = 32
	a, err := New(Options{Spaces: sp, NumEnvs: n, Models: conditioned(sp, 2, 32), Motions: arc{}, Seed: 5,
		Dict: map[string]any{"latent_mode": "calm", "latent_size": 2, "rollouts": 16, "mini_batches": 4, "learning_rate": 2e-3,
			"discount_factor": 0, "discriminator_gradient_penalty_scale": 0.5, "discriminator_batch_size": 128,
			"motion_dataset_size": 1000}})
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Close(t, a)
	rng := rand.New(rand.NewPCG(1, 2))
	// observe returns observations that end with the encodings of points on the circle, and the points.
	observe := func() (rows, points []float32) {
		points, _ = circle{}.CollectReferenceMotions(n, rng)
		z, err := a.Encode(points)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			rows = append(rows, 1, z[2*i], z[2*i+1])
		}
		return rows, points
	}
	distance := func() (sum float64) {
		a.SetTraining(false)
		defer a.SetTraining(true)
		const rounds = 8
		for range rounds {
			rows, points := observe()
			actions, err := a.Act(agents.Observation{Observations: rows})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				sum += math.Hypot(float64(actions[2*i]-points[2*i]), float64(actions[2*i+1]-points[2*i+1])) / (n * rounds)
			}
		}
		return sum
	}
	before := distance()
	now, _ := observe()
	for range 16 * 40 {
		actions, err := a.Act(agents.Observation{Observations: now})
		if err != nil {
			t.Fatal(err)
		}
		motion := append([]float32(nil), actions...)
		now, _ = observe()
		if err := a.Record(agents.Transition{Rewards: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
			NextObservations: now, AMPObservations: motion}); err != nil {
			t.Fatal(err)
		}
		if a.Ready() {
			if err := a.Update(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	after := distance()
	if before < 0.8 || after > 0.3 {
		t.Errorf("the mean distance to the motion that was told was %.2f and is %.2f, want more than 0.8 and less than 0.3", before, after)
	}
}
