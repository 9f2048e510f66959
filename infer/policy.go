package infer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
)

// ErrNotFinite is what errors wrap where an observation, or what the network makes of it, is NaN or infinite, so that
// there is no action.
var ErrNotFinite = errors.New("not finite")

// Policy is a policy that acts. Results are written to slices of the caller's.
//
// Any number of goroutines may use a policy without recurrent layers at once, for instance in an HTTP handler: its
// methods borrow scratch memory from a pool.
//
// A policy with recurrent layers ([Policy.HiddenSize] above 0) keeps a state for every environment. Act, ActBatch and
// Sample update the states, [Policy.Reset] sets them to zero, and Outputs, LogStdAt and Probabilities read them. One
// goroutine at a time may use such a policy: a call during another call returns an error and changes nothing. Give
// each goroutine its own [Policy.Clone], or use [Policy.ActHidden], which any number of goroutines may call with
// states of their own.
type Policy struct {
	*program
	guard  exclusive.Guard // of hidden
	hidden []float32       // the states of the environments that have acted
	robot  *envs.Robot     // nil if it is not described
}

// newPolicy returns a policy without states.
func newPolicy(p *program) *Policy {
	return &Policy{program: p, guard: exclusive.Guard{Object: "infer", Advice: "a policy with memory serves one " +
		"goroutine at a time: give each goroutine its own Clone, or use ActHidden with a state of its own"}}
}

// Clone returns a policy that shares the weights and has states of its own, which are zeros.
func (p *Policy) Clone() *Policy { return p.of(p.robot) }

// Spaces are the observation space, the action space, and the action mask space if the policy was trained with masks.
func (p *Policy) Spaces() spaces.Set { return p.set }

// Describe says what the policy computes.
func (p *Policy) Describe() description.Policy { return p.d }

// Float32s returns the array of a name in the description, a weight (outputs × inputs), a bias or a log standard
// deviation, and nil for another name. It must not be changed.
func (p *Policy) Float32s(name string) []float32 { return p.float32s[name] }

// Transforms returns what is done to observations first, one after the other, as the wrappers of the training
// environment did it. It must not be changed.
func (p *Policy) Transforms() []Transform { return p.transforms }

// Normalizer returns the mean and the standard deviation, epsilon included, that observations are standardised with,
// and the limit of the result; nil if nothing is. They must not be changed.
func (p *Policy) Normalizer() (mean, deviation []float32, clip float32) {
	if p.scaler == nil {
		return nil, nil, 0
	}
	return p.scaler.mean, p.scaler.deviation, p.scaler.clip
}

// LogStd is a Gaussian's log standard deviation, limited as its settings say; nil for other distributions, and where it
// depends on the observation (see [Policy.LogStdAt]). It must not be changed.
func (p *Policy) LogStd() []float32 { return p.logStd }

// compile reads every array that the description names.
func (p *program) compile(snap *checkpoint.Snapshot) (err error) {
	net := p.d.Network
	if p.widths, err = net.Widths(); err != nil {
		return err
	}
	from := 0
	for i := range net.Steps {
		s, err := p.step(snap, i, from)
		if err != nil {
			return err
		}
		p.steps, from = append(p.steps, s), from+s.State()
	}
	for _, d := range p.d.Transforms {
		t, err := p.newTransform(d, snap)
		if err != nil {
			return err
		}
		p.transforms = append(p.transforms, t)
	}
	if p.d.Normalizer != nil {
		if p.scaler, err = p.newScaler(p.d.Normalizer, snap); err != nil {
			return err
		}
	}
	dist := p.d.Distribution
	if dist.Kind != description.Gaussian || dist.StateDependentLogStd {
		return nil
	}
	given, err := p.weights(snap, dist.LogStd, int64(p.d.Action.Width()))
	if err != nil {
		return err
	}
	p.logStd = slices.Clone(given)
	for i, x := range p.logStd {
		p.logStd[i] = p.limitLogStd(x)
	}
	return nil
}

// limitLogStd keeps a log standard deviation within the distribution's limits.
func (p *program) limitLogStd(x float32) float32 {
	d := p.d.Distribution
	if !d.ClipLogStd {
		return x
	}
	return min(max(x, float32(d.MinLogStd)), float32(d.MaxLogStd))
}

// Act computes the action for one observation, as the agent does in evaluation: the mean of a Gaussian within the
// limits that its settings keep, the most probable choices (indices) of a categorical policy. observation has the
// width of the observation space, action that of the action space. Act allocates nothing but scratch memory, which
// the next calls use again. An action that would not be finite is [ErrNotFinite]. After an error the policy's states
// are as they were. A policy that was trained with action masks acts by [Policy.ActMasked].
func (p *Policy) Act(observation, action []float32) error {
	return p.actOwn(&callAct, 1, observation, action, nil)
}

// ActBatch is Act for several environments at once, one observation after another in observations, as are the actions.
// The numbers are Act's. Environments of earlier, larger batches that are not among these keep their states.
func (p *Policy) ActBatch(observations, actions []float32) error {
	return p.actOwn(&callActBatch, len(observations)/p.widths[0], observations, actions, nil)
}

// actOwn acts for n environments, with the policy's own states.
func (p *Policy) actOwn(m *exclusive.Method, n int, observations, actions, masks []float32) error {
	return p.use(m, n, observations, actions, p.d.Action.Width(), "an action", func(w *workspace) error {
		if err := p.checkMasks(masks, n); err != nil {
			return err
		}
		return w.act(observations, p.states(n), actions, masks)
	})
}

// use checks the arguments of a method for n environments and calls f. Meanwhile no other method may use the policy's
// states, if there are any.
func (p *Policy) use(m *exclusive.Method, n int, observations, results []float32, width int, what string,
	f func(w *workspace) error) error {
	if err := p.check(observations, results, n, width, what); err != nil {
		return err
	}
	if p.size > 0 {
		if err := p.guard.Enter(m); err != nil {
			return err
		}
		defer p.guard.Leave()
	}
	w := p.borrow()
	defer p.idle.Put(w)
	return f(w)
}

// act computes actions and takes the states a step further, unless there is an error.
func (p *workspace) act(observations, hidden, actions, masks []float32) error {
	w, a, h := p.widths[0], p.d.Action.Width(), p.size
	n := len(observations) / w
	if more := n*h - len(p.after); more > 0 {
		p.after = append(p.after, make([]float32, more)...)
	}
	for at := 0; at < n; at += p.block {
		rows := min(p.block, n-at)
		out := p.forward(observations[at*w:(at+rows)*w], rows, hidden[at*h:(at+rows)*h], p.after[at*h:])
		if len(masks) > 0 {
			k := len(masks) / n
			mask(out, masks[at*k:(at+rows)*k])
		}
		if err := p.mode(out, actions[at*a:(at+rows)*a]); err != nil {
			return err
		}
	}
	return p.remember(hidden)
}

// remember replaces states by those after the step.
func (p *workspace) remember(hidden []float32) error {
	if err := p.finite(p.after[:len(hidden)]); err != nil {
		return err
	}
	copy(hidden, p.after)
	return nil
}

// peek computes the network's outputs for one observation. state is that of environment 0.
func (p *workspace) peek(observation, state []float32) []float32 {
	return p.forward(observation, 1, state, p.after)
}

// Sample draws an action for one observation from the policy's distribution, as the agent does in training.
func (p *Policy) Sample(observation, action []float32, rng *rand.Rand) error {
	return p.SampleMasked(observation, nil, action, rng)
}

// SampleMasked is [Policy.Sample] for a policy that was trained with action masks. mask is that of [Policy.ActMasked].
func (p *Policy) SampleMasked(observation, mask, action []float32, rng *rand.Rand) error {
	return p.use(&callSample, 1, observation, action, p.d.Action.Width(), "an action", func(w *workspace) error {
		if err := p.checkMasks(mask, 1); err != nil {
			return err
		}
		state := p.states(1)
		if err := w.sample(w.peek(observation, state), mask, action, rng); err != nil {
			return err
		}
		return w.remember(state)
	})
}

// sample draws an action from the distribution of a row of outputs.
func (p *workspace) sample(out, mask, action []float32, rng *rand.Rand) error {
	d := p.d.Distribution
	switch d.Kind {
	case description.Categorical:
		if err := p.probabilities(out, p.choice, mask); err != nil {
			return err
		}
		for i, rest := 0, p.choice; i < len(action); i++ {
			n := p.d.Action.NVec[i]
			action[i] = float32(draw(rest[:n], rng.Float64()))
			rest = rest[n:]
		}
		return nil
	case description.Gaussian:
		p.logStdOf(out, p.choice)
		for i, mean := range out[:len(action)] {
			if d.ClipMean {
				mean = p.limit(i, mean)
			}
			action[i] = mean + float32(math.Exp(float64(p.choice[i])))*float32(rng.NormFloat64())
			if d.ClipActions {
				action[i] = p.limit(i, action[i])
			}
		}
		return p.finite(action)
	}
	return p.mode(out, action)
}

// Outputs computes what the network gives the distribution for one observation: the mean of a Gaussian before any
// limits, the logits of a categorical policy. outputs has Spaces().Action.Outputs() values.
func (p *Policy) Outputs(observation, outputs []float32) error {
	return p.use(&callOutputs, 1, observation, outputs, p.d.Action.Outputs(), "the outputs", func(w *workspace) error {
		copy(outputs, w.peek(observation, p.states(1)))
		return p.finite(outputs)
	})
}

// LogStdAt computes a Gaussian's log standard deviation for one observation: [Policy.LogStd], or, where it depends on
// the observation, what the network says, limited as the settings say. logStd has the width of the action space.
func (p *Policy) LogStdAt(observation, logStd []float32) error {
	if p.d.Distribution.Kind != description.Gaussian {
		return fmt.Errorf("infer: a %s policy has no standard deviation", p.d.Distribution.Kind)
	}
	return p.use(&callLogStdAt, 1, observation, logStd, p.d.Action.Width(), "a log standard deviation",
		func(w *workspace) error {
			p.logStdOf(w.peek(observation, p.states(1)), logStd)
			return p.finite(logStd)
		})
}

// logStdOf writes the log standard deviation that belongs to a row of outputs.
func (p *program) logStdOf(out, logStd []float32) {
	if !p.d.Distribution.StateDependentLogStd {
		copy(logStd, p.logStd)
		return
	}
	for i, x := range out[len(logStd):] {
		logStd[i] = p.limitLogStd(x)
	}
}

func (p *program) check(observations, results []float32, n, width int, what string) error {
	if len(observations) != n*p.widths[0] {
		return fmt.Errorf("infer: %d values of observations; an observation has %d", len(observations), p.widths[0])
	}
	if len(results) != n*width {
		return fmt.Errorf("infer: room for %d values; %s of %v has %d, and there are %d observations", len(results),
			what, p.d.Action, width, n)
	}
	if i := number.FirstNonFinite(observations); i >= 0 {
		return fmt.Errorf("infer: dimension %d of observation %d is %g: %w", i%p.widths[0], i/p.widths[0],
			observations[i], ErrNotFinite)
	}
	return nil
}

// mode turns rows of outputs into actions.
func (p *program) mode(out, actions []float32) error {
	if p.d.Distribution.Kind == description.Categorical {
		if err := p.finite(out); err != nil {
			return err
		}
		for at := 0; len(out) > 0; {
			for _, n := range p.d.Action.NVec {
				actions[at] = float32(argmax(out[:n]))
				out, at = out[n:], at+1
			}
		}
		return nil
	}
	w, outputs := p.d.Action.Width(), p.widths[len(p.widths)-1]
	for at := 0; at*w < len(actions); at++ { // behind the means of a row may stand its log standard deviations
		copy(actions[at*w:(at+1)*w], out[at*outputs:])
	}
	if d := p.d.Distribution; d.ClipActions || d.ClipMean {
		for i, x := range actions {
			actions[i] = p.limit(i%w, x)
		}
	}
	return p.finite(actions)
}

// limit keeps a value within the action space's dimension i.
func (p *program) limit(i int, x float32) float32 {
	return min(max(x, p.d.Action.Low[i]), p.d.Action.High[i])
}

func (p *program) finite(row []float32) error {
	if i := number.FirstNonFinite(row); i >= 0 {
		return fmt.Errorf("infer: value %d of what the policy computes is %g: %w; the observation may be far "+
			"from those of training", i, row[i], ErrNotFinite)
	}
	return nil
}
