package nearest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// unknown describes a name that is not among the known ones, with the nearest of them.
func Explain(name string, known []string) string {
	if len(known) == 0 {
		return "there are none"
	}
	sorted := slices.Sorted(slices.Values(known))
	best, distance := "", 0
	for _, k := range sorted {
		if d := levenshtein.ComputeDistance(name, k); best == "" || d < distance {
			best, distance = k, d
		}
	}
	return fmt.Sprintf("the nearest is %q, known are %s", best, strings.Join(sorted, ", "))
}
