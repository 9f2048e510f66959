package infer

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
)

// ActMasked is [Policy.ActBatch] for a policy that was trained with action masks, that is, whose Spaces have an
// ActionMask. masks has a value for every choice of each observation, index after index: 1 if the choice is allowed and
// 0 if not (spaces.NewActionMask). hidden holds the states that [Policy.ActHidden] describes, or is nil for the
// policy's own. A policy without masks takes nil masks.
func (p *Policy) ActMasked(observations, masks, hidden, actions []float32) error {
	if hidden != nil {
		return p.actHidden(observations, masks, hidden, actions)
	}
	return p.actOwn(&callActMasked, len(observations)/p.widths[0], observations, actions, masks)
}

// checkMasks returns an error unless masks has a valid action mask for each of n observations, or is empty if the
// policy was trained without.
func (p *program) checkMasks(masks []float32, n int) error {
	switch {
	case !p.d.ActionMask && len(masks) == 0:
		return nil
	case !p.d.ActionMask:
		return fmt.Errorf("infer: %d values of action masks; the policy was trained without masks, so leave them out",
			len(masks))
	case len(masks) == 0:
		return fmt.Errorf("infer: the policy was trained with action masks; give it the masks by ActMasked, " +
			"SampleMasked or ProbabilitiesMasked")
	}
	if err := p.set.CheckMasks(masks, n); err != nil {
		return fmt.Errorf("infer: %w", err)
	}
	return nil
}

// mask replaces the logits of choices that masks forbid, in place. NaN stays NaN.
func mask(logits, masks []float32) {
	for i, allowed := range masks {
		logits[i] = logits[i]*allowed + (1-allowed)*description.MaskedLogit
	}
}

// Probabilities computes those of every choice for one observation, index after index, for categorical policies.
func (p *Policy) Probabilities(observation, probabilities []float32) error {
	return p.ProbabilitiesMasked(observation, nil, probabilities)
}

// ProbabilitiesMasked is [Policy.Probabilities] for a policy that was trained with action masks. mask is that of
// [Policy.ActMasked]. A choice that the mask forbids has the probability 0.
func (p *Policy) ProbabilitiesMasked(observation, mask, probabilities []float32) error {
	if p.d.Distribution.Kind != description.Categorical {
		return fmt.Errorf("infer: a %s policy has no probabilities of choices; use Act, Sample or Outputs",
			p.d.Distribution.Kind)
	}
	return p.use(&callProbabilities, 1, observation, probabilities, p.d.Action.Outputs(), "the probabilities",
		func(w *workspace) error {
			if err := p.checkMasks(mask, 1); err != nil {
				return err
			}
			return p.probabilities(w.peek(observation, p.states(1)), probabilities, mask)
		})
}

// probabilities turns one row of logits into probabilities. If masks is not empty, it is the row's mask.
func (p *program) probabilities(logits, probabilities, masks []float32) error {
	mask(logits, masks)
	if err := p.finite(logits); err != nil {
		return err
	}
	at := 0
	for _, n := range p.d.Action.NVec {
		softmax(logits[at:at+n], probabilities[at:at+n])
		at += n
	}
	return nil
}

// draw returns the index at which the cumulated probabilities pass u.
func draw(probabilities []float32, u float64) int {
	last := 0
	for i, q := range probabilities {
		if q > 0 {
			last = i
		}
		if u -= float64(q); u < 0 {
			return i
		}
	}
	return last // the sum was a little less than one
}

// argmax returns the index of the greatest value, the first of equals.
func argmax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}
