package docgen_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// others are messages on the page that other programs write.
var others = []string{
	"cannot find -lcgotorch", "cannot find -lmujoco", "error while loading shared libraries: libgorltorch.so",
	"undefined symbol",
	"mujoco/mujoco.h: No such file", "No dashboards are active for the current data set",
	"unrecognized attribute: 'collision'",
}

var (
	symptom  = regexp.MustCompile(`(?m)^\| ([^|]*) \|`)
	inCode   = regexp.MustCompile("`([^`]+)`")
	varying  = regexp.MustCompile(`\.\.\.|: `)
	tagOrKey = regexp.MustCompile(`^[A-Z][a-z]+ / |^[a-z_]+: \S+$`)
)

// TestMessagesExist checks that gorl writes every message that docs/troubleshooting.md quotes: its constant
// parts stand in one source file.
func TestMessagesExist(t *testing.T) {
	var sources []string
	must.Do(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
			sources = append(sources, strings.ReplaceAll(read(t, path), `\"`, `"`))
		}
		return err
	}))
	quoted := 0
	for _, row := range symptom.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", "troubleshooting.md")), -1) {
		for _, found := range inCode.FindAllStringSubmatch(row[1], -1) {
			message := found[1]
			if !strings.Contains(message, " ") || tagOrKey.MatchString(message) || slices.Contains(others, message) {
				continue
			}
			quoted++
			parts := varying.Split(message, -1)
			if !slices.ContainsFunc(sources, func(source string) bool {
				return !slices.ContainsFunc(parts, func(p string) bool {
					return !strings.Contains(source, strings.TrimSpace(p))
				})
			}) {
				t.Errorf("no source file writes %q", message)
			}
		}
	}
	if quoted < 20 {
		t.Errorf("only %d messages were found", quoted)
	}
}
