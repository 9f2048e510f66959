package mujoco

import "fmt"

// assignShaping calls assign for the reward terms of the listed environments, or of all if environments is nil. On an
// error no terms change. assign must therefore depend on the new values alone: it fails for all terms or for none.
func assignShaping[T any](terms []T, environments []int, assign func(*T) error) error {
	if environments == nil {
		for i := range terms {
			environments = append(environments, i)
		}
	}
	for _, i := range environments {
		if i < 0 || i >= len(terms) {
			return fmt.Errorf("mujoco: environment %d is not one of %d", i, len(terms))
		}
	}
	for _, i := range environments {
		if err := assign(&terms[i]); err != nil {
			return err
		}
	}
	return nil
}
