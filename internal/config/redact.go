package config

import "regexp"

// Redacted replaces the password of an address wherever settings are written.
const Redacted = "***"

var (
	password = regexp.MustCompile(`(://[^/?#\s:@"]*:)([^\s"]*)@`)
	port     = regexp.MustCompile(`^\d{1,5}[/?#]`) // a port, followed by a path, in which an @ does not end a password
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
