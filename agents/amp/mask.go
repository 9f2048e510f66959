package amp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/tensor"
)

// parseFeatures reads discriminator_masked_features: indices and ranges from one to another, both included, with
// commas between them ("0-2, 9"). It returns each index once or more.
func parseFeatures(text string) (indices []int, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(strings.TrimSpace(from), 10, 31)
		last, err2 := strconv.ParseUint(strings.TrimSpace(to), 10, 31)
		if err1 != nil || err2 != nil || last < first || last-first > 1<<20 {
			return nil, fmt.Errorf("amp: \"discriminator_masked_features\" is %q: %q is neither an index nor a "+
				"range such as 3-7", text, part)
		}
		for i := first; i <= last; i++ {
			indices = append(indices, int(i))
		}
	}
	return indices, nil
}

// makeMask makes a row (M): 1 for features that the discriminator sees, 0 for masked ones, equal in every frame.
// Without masked features it makes none.
func (a *judge) makeMask() error {
	c, width := a.cfg, a.core.Spaces().AMPObservation.Width()
	if width%c.AMPObservationFrames != 0 {
		return fmt.Errorf("amp: \"amp_observation_frames\" is %d, but an AMP observation has %d values, which are not "+
			"%d frames of equal width", c.AMPObservationFrames, width, c.AMPObservationFrames)
	}
	masked, err := parseFeatures(c.DiscriminatorMaskedFeatures)
	if err != nil || len(masked) == 0 {
		return err
	}
	frame := width / c.AMPObservationFrames
	seen, left := make([]float32, width), width
	for i := range seen {
		seen[i] = 1
	}
	for _, j := range masked {
		if j >= frame {
			return fmt.Errorf("amp: \"discriminator_masked_features\" is %q, but a frame has features 0 to %d (%d "+
				"values of an AMP observation, \"amp_observation_frames\" %d)", c.DiscriminatorMaskedFeatures, frame-1,
				width, c.AMPObservationFrames)
		}
		for ; j < width; j += frame {
			if seen[j] == 1 {
				seen[j], left = 0, left-1
			}
		}
	}
	if left == 0 {
		return fmt.Errorf("amp: \"discriminator_masked_features\" is %q, which leaves the discriminator nothing to see",
			c.DiscriminatorMaskedFeatures)
	}
	s := tensor.NoGrad().On(a.core.Device)
	a.mask, a.maskScope = tensor.From(s, seen), s
	return s.Err()
}

// masked returns rows (n, M), or rows with latents (n, M+L), whose masked features are 0.
func (a *judge) masked(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	if a.mask.T == nil || s.Err() != nil {
		return rows
	}
	if m := tensor.Size(a.mask, 0); tensor.Size(rows, 1) > m {
		seen, latents := a.splitRows(s, rows)
		return s.Cat(1, s.Mul(seen, a.mask), latents)
	}
	return s.Mul(rows, a.mask)
}
