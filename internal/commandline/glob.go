package commandline

import (
	"regexp"
	"slices"
	"strings"
)

// Globs returns a function that reports whether a name matches one of the patterns, in which * stands for any
// characters, also slashes, and ? for any one character. Case does not matter. Bytes that are not UTF-8 match each
// other.
func Globs(patterns []string) func(name string) bool {
	var list []*regexp.Regexp
	for _, p := range patterns {
		quoted := regexp.QuoteMeta(strings.ToValidUTF8(p, "\uFFFD"))
		list = append(list, regexp.MustCompile("(?is)^"+strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted)+"$"))
	}
	return func(name string) bool {
		return slices.ContainsFunc(list, func(r *regexp.Regexp) bool { return r.MatchString(name) })
	}
}
