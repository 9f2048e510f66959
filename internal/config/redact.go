package config

import "regexp"

// Redacted stands for the password of an address in every text that settings are written to.
const Redacted = "***"

var (
	password = regexp.MustCompile(`(://[^/?#\s:@"]*:)([^\s"]*)@`)
	port     = regexp.MustCompile(`^\d{1,5}[/?#]`) // what follows is a path, in which an @ is no end of a password
)

// Redact replaces the passwords of addresses (scheme://user:password@host) in a text by [Redacted].
func Redact(text string) string {
	return password.ReplaceAllStringFunc(text, func(match string) string {
		if parts := password.FindStringSubmatch(match); !port.MatchString(parts[2]) {
			return parts[1] + Redacted + "@"
		}
		return match
	})
}
