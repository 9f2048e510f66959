package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longestSlip is the length of names above which nothing is suggested: a name this long is no slip of the finger, and
// the time to compare two names grows with the product of their lengths.
const longestSlip = 64

// Nearest returns the candidate that a mistyped name most likely meant, or "" where none is near: the one that fewest
// letters make of the name, at most a third of them, else the only one that continues the name after an underscore
// ("discount" for "discount_factor"). Case and hyphens instead of underscores cost nothing.
func Nearest(name string, candidates []string) string {
	if len(name) > longestSlip {
		return ""
	}
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	best, limit := "", max(2, len(name)/3)+1
	if len(name) < 4 {
		limit = min(2, len(name))
	}
	var longer []string
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(fold(name), fold(c)); d < limit {
			best, limit = c, d
		}
		if name != "" && strings.HasPrefix(fold(c), fold(name)+"_") {
			longer = append(longer, c)
		}
	}
	if best == "" && len(longer) == 1 {
		return longer[0]
	}
	return best
}

// Slip reports whether a name is probably a misspelt known name. The two names differ in at most two letters, and in
// each part between dots, slashes and spaces in at most a third of the letters. Names that differ only in digits,
// such as agent_0 and agent_1, are not misspelt.
func Slip(name string, known []string) bool {
	parts := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("./ ", r) })
	}
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	own := parts(name)
	return slices.ContainsFunc(known, func(other string) bool {
		if letters(name) == letters(other) || levenshtein.ComputeDistance(name, other) > 2 {
			return false
		}
		theirs := parts(other)
		for i := 0; i < len(own) && len(own) == len(theirs); i++ {
			if 3*levenshtein.ComputeDistance(own[i], theirs[i]) > len(own[i]) {
				return false
			}
		}
		return true
	})
}

// Hint is ` (did you mean "x"?)`, with x the nearest candidate, to stand behind an unknown name. It is empty where none
// is near.
func Hint(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// Among says what an unknown name may have meant and what there is, to follow a colon:
// `did you mean "x"? (one of x, y)`, or `want one of x, y` where none is near.
func Among(name string, known []string) string {
	if len(known) == 0 {
		return "there are none"
	}
	all := "one of " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
	if n := Nearest(name, known); n != "" {
		return fmt.Sprintf("did you mean %q? (%s)", n, all)
	}
	return "want " + all
}
