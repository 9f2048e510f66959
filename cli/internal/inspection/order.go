package inspection

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// parts cuts a name into numbers and single other characters.
var parts = regexp.MustCompile(`(?s)[0-9]+|.`)

// naturally compares names by their numbers: net.2 comes before net.10.
func naturally(a, b string) int {
	return slices.CompareFunc(parts.FindAllString(a, -1), parts.FindAllString(b, -1), func(x, y string) int {
		if !isDigit(x[0]) || !isDigit(y[0]) {
			return strings.Compare(x, y)
		}
		m, n := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n), cmp.Compare(len(x), len(y)))
	})
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
