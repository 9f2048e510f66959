package models

import (
	"fmt"

	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Categorical is the distribution over a Discrete or MultiDiscrete action space: it chooses one value for each index.
// The network's outputs are unnormalised log-probabilities, index after index (skrl: CategoricalMixin,
// MultiCategoricalMixin). Actions are float32 indices that count from 0. The mode is the most probable choice; skrl
// keeps sampling in evaluation.
type Categorical struct {
	// counts is the number of choices of each index. Their sum is the number of network outputs.
	counts []int64
	// reduction joins the log-probabilities of several indices: "sum", "mean" or "prod".
	reduction string
}

// newCategorical copies the counts of an action space whose kind the caller has checked. The error is the space's.
func newCategorical(action spaces.Space, reduction string) (*Categorical, error) {
	counts := make([]int64, len(action.NVec))
	for i, n := range action.NVec {
		counts[i] = int64(n)
	}
	return &Categorical{counts, reduction}, action.Validate()
}

// NewCategorical returns the distribution over a Discrete action space.
func NewCategorical(action spaces.Space) (*Categorical, error) {
	if action.Kind != spaces.Discrete {
		return nil, fmt.Errorf("models: a Categorical policy needs a Discrete action space, got %v", action)
	}
	return newCategorical(action, "sum")
}

// NewMultiCategorical returns independent distributions over a MultiDiscrete action space. reduction joins their
// log-probabilities: "sum" (also for an empty string; the joint log-probability), "mean" or "prod".
func NewMultiCategorical(action spaces.Space, reduction string) (*Categorical, error) {
	if action.Kind != spaces.MultiDiscrete && action.Kind != spaces.Discrete {
		return nil, fmt.Errorf("models: a MultiCategorical policy needs a MultiDiscrete action space, got %v", action)
	}
	switch reduction {
	case "":
		reduction = "sum"
	case "sum", "mean", "prod":
	default:
		return nil, fmt.Errorf("models: MultiCategorical reduction %q: want sum, mean or prod", reduction)
	}
	return newCategorical(action, reduction)
}

// Outputs implements [Distribution].
func (c *Categorical) Outputs() int {
	n := 0
	for _, k := range c.counts {
		n += int(k)
	}
	return n
}

// ActionWidth implements [Distribution].
func (c *Categorical) ActionWidth() int { return len(c.counts) }

// Parameters implements [Distribution]. A Categorical has none.
func (c *Categorical) Parameters() []tensor.Parameter { return nil }

// Close implements [Distribution].
func (c *Categorical) Close() {}

// parts splits the outputs (n, Σ counts) into the logits (n, count) of each index.
func (c *Categorical) parts(s *tensor.Scope, out tensor.Tensor) []tensor.Tensor {
	if len(c.counts) == 1 {
		return []tensor.Tensor{out}
	}
	parts := make([]tensor.Tensor, len(c.counts))
	at := int64(0)
	for i, k := range c.counts {
		parts[i] = s.Narrow(out, -1, at, k)
		at += k
	}
	return parts
}

// join reduces the values of all indices, each (n, 1), to one (n, 1). It applies the reduction to log-probabilities and
// to entropies alike.
func (c *Categorical) join(s *tensor.Scope, list []tensor.Tensor) tensor.Tensor {
	if len(list) == 1 {
		return list[0]
	}
	all := s.Cat(-1, list...)
	switch c.reduction {
	case "mean":
		return s.MeanKeep(all, -1)
	case "prod":
		p := list[0]
		for _, x := range list[1:] {
			p = s.Mul(p, x)
		}
		return p
	}
	return s.SumKeep(all, -1)
}

// Sample implements [Distribution].
func (c *Categorical) Sample(s *tensor.Scope, out tensor.Tensor, gen *tensor.Generator) Action {
	var choices, logProbs []tensor.Tensor
	for _, logits := range c.parts(s, out) {
		p := s.LogSoftmax(logits, -1)
		// Drawing has no gradient, so Multinomial reads detached probabilities. The log-probability keeps its gradient.
		choice := s.Multinomial(gen, s.Exp(s.Detach(p)), 1)
		choices = append(choices, choice)
		logProbs = append(logProbs, s.Gather(p, -1, choice))
	}
	if s.Err() != nil {
		return Action{}
	}
	all := choices[0]
	if len(choices) > 1 {
		all = s.Cat(-1, choices...)
	}
	actions := s.As(all, tensor.Float32)
	return Action{Actions: actions, Executed: actions, LogProb: c.join(s, logProbs)}
}

// Mode implements [Distribution].
func (c *Categorical) Mode(s *tensor.Scope, out tensor.Tensor) tensor.Tensor {
	var choices []tensor.Tensor
	for _, logits := range c.parts(s, out) {
		p := s.LogSoftmax(logits, -1)
		// If a logit is NaN, no index is right. 0 times the largest element is then NaN, which makes the choice NaN.
		// Callers check actions for NaN.
		nan := s.MulScalar(s.MaxOf(p, -1), 0)
		choices = append(choices, s.Add(s.As(s.ArgMax(p, -1), tensor.Float32), s.Unsqueeze(nan, -1)))
	}
	if s.Err() != nil {
		return tensor.Tensor{}
	}
	return s.Cat(-1, choices...)
}

// Evaluate implements [Distribution].
func (c *Categorical) Evaluate(s *tensor.Scope, out, actions tensor.Tensor) Evaluation {
	if s.Err() != nil {
		return Evaluation{}
	}
	// The native operation computes all indices in one call and returns the sums over the indices.
	if c.reduction == "sum" {
		logProb, entropy := s.Categorical(out, actions, c.counts...)
		return Evaluation{LogProb: logProb, Entropy: entropy}
	}
	var logProbs, entropies []tensor.Tensor
	for i, logits := range c.parts(s, out) {
		logProb, entropy := s.Categorical(logits, s.Narrow(actions, -1, int64(i), 1), c.counts[i])
		logProbs, entropies = append(logProbs, logProb), append(entropies, entropy)
	}
	return Evaluation{LogProb: c.join(s, logProbs), Entropy: c.join(s, entropies)}
}
