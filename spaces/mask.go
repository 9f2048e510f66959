package spaces

import (
	"fmt"
	"math/rand/v2"
)

// NewActionMask returns the space of masks for a Discrete or MultiDiscrete action space. A mask has one value for each
// choice, index after index: 1 if the choice is allowed, 0 if not. At least one choice of each index must be allowed.
// [Set.Validate] refuses masks of other action spaces.
func NewActionMask(action Space) Space {
	s := NewBox(0, 1, action.Outputs())
	s.DType = Uint8
	return s
}

// validateMask returns an error unless the action mask is None or fits the action space.
func (s Set) validateMask() error {
	switch {
	case s.ActionMask.Kind == None || len(s.Seats) > 0: // validateSeats compares it
		return nil
	case s.Action.Kind != Discrete && s.Action.Kind != MultiDiscrete:
		return fmt.Errorf("action mask space: spaces: masks need a Discrete or MultiDiscrete action space, got %v",
			s.Action)
	case !s.ActionMask.Equal(NewActionMask(s.Action)):
		return fmt.Errorf("action mask space: spaces: %v does not fit the action space %v; use NewActionMask",
			s.ActionMask, s.Action)
	}
	return nil
}

// CheckMasks returns an error unless masks holds n action masks of 0 and 1, (n, Outputs), that allow at least one
// choice of each index. Without an action mask space, masks must be empty. It allocates nothing unless it fails.
func (s Set) CheckMasks(masks []float32, n int) error {
	w := s.ActionMask.Width()
	if len(masks) != n*w {
		return fmt.Errorf("spaces: action masks have %d values, want %d (%d environments × %d)", len(masks), n*w, n, w)
	}
	if w == 0 {
		return nil
	}
	return s.eachRow(n, nil, masks, func(seat Set, _, mask []float32) error { return seat.allowsSome(mask) })
}

// CheckMask is [Set.CheckMasks] for the mask of one environment, whose length must be Outputs.
func (s Set) CheckMask(row []float32) error {
	return s.eachSeat(nil, row, func(seat Set, _, mask []float32) error { return seat.allowsSome(mask) })
}

// allowsSome is CheckMask of a set without seats.
func (s Set) allowsSome(mask []float32) error {
	for index := 0; len(mask) > 0; index++ {
		choices, some := s.Action.NVec[index], false
		for k, x := range mask[:choices] {
			if x != 0 && x != 1 {
				return fmt.Errorf("the action mask has %g for choice %d of index %d; it must be 1 (allowed) or 0",
					x, k, index)
			}
			some = some || x == 1
		}
		if !some {
			return fmt.Errorf("the action mask allows no choice of index %d of %v; it must allow at least one",
				index, s.Action)
		}
		mask = mask[choices:]
	}
	return nil
}

// CheckAllowed returns an error unless every action of rows (n, Width) is allowed by its mask. Both must be valid (see
// [Space.Check] and [Set.CheckMasks]). Without an action mask space every action is allowed.
func (s Set) CheckAllowed(rows, masks []float32) error {
	if s.ActionMask.Kind == None {
		return nil
	}
	return s.eachRow(len(rows)/s.Action.Width(), rows, masks, func(seat Set, actions, mask []float32) error {
		for index := 0; len(mask) > 0; index++ {
			if x := actions[index]; mask[int(x)] == 0 {
				return fmt.Errorf("the action mask forbids choice %g of index %d", x, index)
			}
			mask = mask[seat.Action.NVec[index]:]
		}
		return nil
	})
}

// SampleActions fills rows (n, Width) with random actions like [Space.Sample]. With an action mask space, choices are
// uniform among those that masks (n, Outputs) allow.
func (s Set) SampleActions(rng *rand.Rand, rows, masks []float32) {
	if s.ActionMask.Kind == None {
		s.Action.Sample(rng, rows)
		return
	}
	n := len(rows) / s.Action.Width()
	_ = s.eachRow(n, rows, masks, func(seat Set, actions, mask []float32) error {
		if len(mask) == 0 {
			seat.Action.Sample(rng, actions)
		}
		for index := 0; len(mask) > 0; index++ {
			choices, allowed := seat.Action.NVec[index], 0
			for _, x := range mask[:choices] {
				allowed += int(x)
			}
			nth := rng.IntN(allowed)
			for k, x := range mask[:choices] {
				if x == 1 {
					if nth == 0 {
						actions[index] = float32(k)
					}
					nth--
				}
			}
			mask = mask[choices:]
		}
		return nil
	})
}
