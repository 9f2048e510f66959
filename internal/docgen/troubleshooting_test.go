package docgen_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "build") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
			sources = append(sources, strings.ReplaceAll(read(t, path), `\"`, `"`))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for _, row := range symptom.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", "troubleshooting.md")), -1) {
		for _, found := range inCode.FindAllStringSubmatch(row[1], -1) {
			message := found[1]
			if !strings.Contains(message, " ") || tagOrKey.MatchString(message) || slices.Contains(others, message) {
				continue
			}
			quoted++
			var parts []string
			for _, p := range varying.Split(message, -1) {
				if p = strings.TrimSpace(p); len(p) > 3 {
					parts = append(parts, p)
				}
			}
			writes := func(source string) bool {
				return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(source, p) })
			}
			if len(parts) == 0 || !slices.ContainsFunc(sources, writes) {
				t.Errorf("no source file writes %q", message)
			}
		}
	}
	if quoted < 20 {
		t.Errorf("only %d messages were found", quoted)
	}
}
