package mujoco

import "fmt"

// assignShaping assigns to the terms of the environments listed, of all where environments is nil, or (on an error) of
// none. Assign fails for all terms or for none.
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
