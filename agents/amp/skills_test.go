package amp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// skilled returns an agent whose observations end with a latent of 2 dimensions.
func skilled(t *testing.T, settings map[string]any) *Agent {
	t.Helper()
	a, err := New(Options{Spaces: plain, Models: WithEncoder(MLPs(plain, []int{5}, "tanh"), plain, 2, []int{5}, "tanh"),
		Motions: &agenttest.Motion{Width: 3, Mean: 0.7}, Dict: small(settings), Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Close(t, a)
	return a
}

// layered is a network of one hidden layer of tanh in float64: its outputs for a row.
func layered(t *testing.T, params []tensor.Parameter) func(x []float64) []float64 {
	t.Helper()
	var p [4][]float64 // weight and bias of two layers
	for i := range p {
		values, err := tensor.Float32s(params[i].Tensor)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range values {
			p[i] = append(p[i], float64(x))
		}
	}
	linear := func(w, b, x []float64) []float64 {
		out := append([]float64(nil), b...)
		for i := range out {
			for j, v := range x {
				out[i] += w[i*len(x)+j] * v
			}
		}
		return out
	}
	return func(x []float64) []float64 {
		hidden := linear(p[0], p[1], x)
		for i := range hidden {
			hidden[i] = math.Tanh(hidden[i])
		}
		return linear(p[2], p[3], hidden)
	}
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// differences compares the gradients of parameters with finite differences of f.
func differences(t *testing.T, s *tensor.Scope, params []tensor.Parameter, f func() float64) {
	t.Helper()
	for _, p := range params {
		values, slope := tensortest.Float32s(t, s, p.Tensor), tensortest.Float32s(t, s, s.GradOf(p.Tensor))
		for i := range values {
			const h = 1e-3
			at := func(x float32) float64 {
				moved := append([]float32(nil), values...)
				moved[i] = x
				if err := tensor.Write(p.Tensor, moved); err != nil {
					t.Fatal(err)
				}
				return f()
			}
			diff := (at(values[i]+h) - at(values[i]-h)) / (2 * h)
			at(values[i])
			if math.Abs(float64(slope[i])-diff) > 2e-3*(1+math.Abs(diff)) {
				t.Errorf("∂/∂%s[%d] is %g, finite differences say %g", p.Name, i, slope[i], diff)
			}
		}
	}
}

// The encoder's loss is −E[z·μ(x)] with μ of length 1, and the diversity loss E[(1 − r)²] with
// r = mean (m(s, z′) − m(s, z))² / (½ − ½ z·z′ + 1e-5), computed row by row; their gradients are those of finite
// differences.
func TestSkillLosses(t *testing.T) {
	agenttest.CheckLive(t)
	a := skilled(t, map[string]any{"latent_size": 2, "observation_preprocessor": nil, "amp_observation_preprocessor": nil})
	l := a.learner
	s := tensor.NewScope().On(l.Device)
	defer s.Close()
	s.Scale(l.Core.Policy.Parameters()[2].Tensor, 100) // undoes the small output gain
	const n = 6
	z := tensortest.Float32s(t, s, unit(s, s.Randn(l.Gen, n, 2)))
	body, motion := tensortest.Float32s(t, s, s.Randn(l.Gen, n, 2)), tensortest.Float32s(t, s, s.Randn(l.Gen, n, 3))
	var rows []float32
	for i := range n {
		rows = append(append(rows, body[2*i:][:2]...), z[2*i:][:2]...)
	}
	state, err := l.Gen.State()
	if err != nil {
		t.Fatal(err)
	}
	other := tensortest.Float32s(t, s, s.Randn(l.Gen, n, 2))
	for i := range n { // on the sphere
		norm := math.Hypot(float64(other[2*i]), float64(other[2*i+1]))
		other[2*i], other[2*i+1] = float32(float64(other[2*i])/norm), float32(float64(other[2*i+1])/norm)
	}
	if err := l.Gen.SetState(state); err != nil {
		t.Fatal(err)
	}
	wide := func(x []float32) (out []float64) {
		for _, v := range x {
			out = append(out, float64(v))
		}
		return out
	}
	encoderLoss := func() (sum float64) {
		mu := layered(t, l.encoder.Parameters())
		for i := range n {
			e := mu(wide(motion[3*i:][:3]))
			sum -= dot(e, wide(z[2*i:][:2])) / math.Sqrt(dot(e, e)) / n
		}
		return sum
	}
	var policy []tensor.Parameter
	for _, p := range l.Core.Policy.Parameters() {
		if p.Name != "log_std_parameter" {
			policy = append(policy, p)
		}
	}
	diversityLoss := func() (sum float64) {
		m := layered(t, policy)
		for i := range n {
			now, then := wide(z[2*i:][:2]), wide(other[2*i:][:2])
			first, second := m(append(wide(body[2*i:][:2]), now...)), m(append(wide(body[2*i:][:2]), then...))
			moved := 0.0
			for j := range first {
				moved += (second[j] - first[j]) * (second[j] - first[j]) / float64(len(first))
			}
			r := moved / (0.5 - 0.5*dot(now, then) + 1e-5)
			sum += (1 - r) * (1 - r) / n
		}
		return sum
	}
	observations := tensor.From(s, rows, n, 4)
	inputs := l.Inputs(s, observations, tensor.Tensor{})
	actions := s.Randn(l.Gen, n, 2)
	if err := l.Gen.SetState(state); err != nil {
		t.Fatal(err)
	}
	b := onpolicy.Batch{Rows: n, Inputs: inputs, Actions: actions, Extra: []tensor.Tensor{tensor.From(s, motion, n, 3), observations}}
	encoder, diversity := l.skillLosses(s, b, l.Core.Policy.Evaluate(s, inputs, actions), tensor.Tensor{})
	near(t, "encoder loss", float64(tensortest.Float32s(t, s, encoder)[0]), encoderLoss(), 1e-5)
	near(t, "diversity loss", float64(tensortest.Float32s(t, s, diversity)[0]), diversityLoss(), 1e-4)
	if d := diversityLoss(); d < 0.1 || d > 100 {
		t.Errorf("the diversity loss is %g, which shows little", d)
	}
	l.Flat.ZeroGrad(s)
	s.Backward(s.Add(encoder, diversity))
	differences(t, s, l.encoder.Parameters(), encoderLoss)
	differences(t, s, policy, diversityLoss)
}

// The reward is the weighted sum of task, style and max(0, z·μ(x)): with a discount of 0 returns are the rewards.
func TestEncoderReward(t *testing.T) {
	agenttest.CheckLive(t)
	a := skilled(t, map[string]any{"latent_size": 2, "discount_factor": 0, "value_preprocessor": nil, "amp_observation_preprocessor": nil,
		"task_reward_scale": 0.5, "style_reward_scale": 0.25, "encoder_reward_scale": 3})
	l := a.learner
	w := agenttest.NewWorld(plain, agenttest.Seeds(1, 3)...)
	agenttest.Fill(t, a, w)
	s := tensor.NoGrad().On(l.Device)
	defer s.Close()
	read := func(field string) []float32 { return tensortest.Float32s(t, s, l.Rollout.Rows(field)) }
	rows, observations, task := read("amp_observations"), read("observations"), read("rewards")
	mu := layered(t, l.encoder.Parameters())
	if err := a.Update(context.Background()); err != nil {
		t.Fatal(err)
	}
	style, positive := read("style_rewards"), 0
	for i, got := range read("returns") {
		x := []float64{float64(rows[3*i]), float64(rows[3*i+1]), float64(rows[3*i+2])}
		z := []float64{float64(observations[4*i+2]), float64(observations[4*i+3])}
		e := mu(x)
		skill := math.Max(0, dot(z, e)/math.Sqrt(dot(e, e)))
		if skill > 0 {
			positive++
		}
		near(t, "return", float64(got), 0.5*float64(task[i])+0.25*float64(style[i])+3*skill, 1e-4)
	}
	if positive == 0 || positive == len(task) {
		t.Errorf("%d of %d encoder rewards are positive", positive, len(task))
	}
	figures := map[string]float64{}
	a.Tracked(func(tag string, v float64) { figures[tag] = v })
	for _, tag := range []string{"Loss / Encoder loss", "Loss / Diversity loss", "Reward / Encoder reward (mean)"} {
		if v, ok := figures[tag]; !ok || math.IsNaN(v) {
			t.Errorf("%q is not tracked", tag)
		}
	}
}

// circle shows points on a circle: what all skills together should do.
type circle struct{}

func (circle) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	var out []float32
	for range n {
		angle := 2 * math.Pi * rng.Float64()
		out = append(out, float32(math.Cos(angle)), float32(math.Sin(angle)))
	}
	return out, nil
}

// Different latents come to do different things, which the encoder can tell: the motion is the action, and the mean of
// z·μ(x), 0 at first, rises.
func TestSkillsAreLearned(t *testing.T) {
	sp := spaces.Set{Observation: spaces.Unbounded(3), Action: spaces.Unbounded(2), AMPObservation: spaces.Unbounded(2)}
	const n = 32
	a, err := New(Options{Spaces: sp, NumEnvs: n, Models: WithEncoder(MLPs(sp, []int{32}, "tanh"), sp, 2, []int{32}, "tanh"),
		Motions: circle{}, Seed: 5, Dict: map[string]any{"latent_size": 2, "rollouts": 16, "mini_batches": 4, "learning_rate": 2e-3,
			"discount_factor": 0, "style_reward_scale": 1, "encoder_reward_scale": 1, "discriminator_batch_size": 128, "motion_dataset_size": 1000}})
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Close(t, a)
	rng := rand.New(rand.NewPCG(1, 2))
	observe := func() []float32 {
		var out []float32
		z, _ := circle{}.CollectReferenceMotions(n, rng)
		for i := range n {
			out = append(out, 1, z[2*i], z[2*i+1])
		}
		return out
	}
	likeness := func() float64 {
		a.SetTraining(false)
		defer a.SetTraining(true)
		rows := observe()
		actions, err := a.Act(agents.Observation{Observations: rows})
		if err != nil {
			t.Fatal(err)
		}
		s := tensor.NoGrad().On(a.learner.Device)
		defer s.Close()
		z := a.learner.latentOf(s, tensor.From(s, rows, n, 3))
		got := tensortest.Float32s(t, s, s.Mean(a.learner.likeness(s, z, tensor.From(s, actions, n, 2))))
		return float64(got[0])
	}
	if first := likeness(); math.Abs(first) > 0.4 {
		t.Errorf("the mean of z·μ(x) is %.2f before", first)
	}
	now := observe()
	for range 16 * 40 {
		actions, err := a.Act(agents.Observation{Observations: now})
		if err != nil {
			t.Fatal(err)
		}
		motion := append([]float32(nil), actions...)
		now = observe()
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
	if got := likeness(); got < 0.6 {
		t.Errorf("the mean of z·μ(x) is %.2f after 40 updates, want at least 0.6", got)
	}
}
