// Package column fits text into columns of a terminal: for the tables and the progress bars of package tracking.
package column

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Width returns the number of terminal columns that s takes, whatever the locale.
func Width(s string) int { return widths.StringWidth(s) }

var widths = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

// OneLine replaces control characters, format characters and line breaks, which would move the cursor, by spaces.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
