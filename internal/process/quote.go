package process

import "strings"

// PlainWord reports whether a shell reads a word as it is, without quotes.
func PlainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./:=,+@%", r))
	})
}

// QuoteWord quotes a word for a shell, if it needs quotes.
func QuoteWord(s string) string {
	if PlainWord(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
