// Package undo makes several changes, all or none.
package undo

import (
	"errors"
	"slices"
)

// All calls set for each index, in order. If one fails, it calls back for those before, the last one first, and joins
// the errors.
func All(indices []int, set, back func(i int) error) error {
	for k, i := range indices {
		if err := set(i); err != nil {
			for _, i := range slices.Backward(indices[:k]) {
				err = errors.Join(err, back(i))
			}
			return err
		}
	}
	return nil
}

// Indices returns 0 to n-1.
func Indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
