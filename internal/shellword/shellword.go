// Package shellword writes words as shells read them.
package shellword

import "strings"

// Plain reports whether a word needs no quotes.
func Plain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./:=,+@%", r))
	})
}

// Quote writes a word so that a shell reads it whole.
func Quote(s string) string {
	if Plain(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
