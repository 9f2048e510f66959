package commandline

import (
	"regexp"
	"slices"
	"strings"
)

// Globs matches names against patterns, in which * stands for any characters, slashes too, and ? for any one. Case does
// not matter. A name matches where one of the patterns does. Bytes that are no UTF-8 match each other.
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
