package docgen_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/pbt/preset"
)

// TestJournalIsInTheReference checks that the reference names every event and field of a journal.
func TestJournalIsInTheReference(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "reference", "journal.md"))
	source := read(t, filepath.Join(root, "pbt", "journal", "journal.go"))
	names := regexp.MustCompile(`(?:json:"| Kind += ")([a-z-_]+)`).FindAllStringSubmatch(source, -1)
	for _, name := range names {
		if !strings.Contains(page, "`"+name[1]+"`") {
			t.Errorf("docs/reference/journal.md does not name %q", name[1])
		}
	}
	if len(names) < 25 {
		t.Errorf("only %d names were found: %q", len(names), names)
	}
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// TestPopulationFilesAreAccepted reads the files in the guides as launchers and members do.
func TestPopulationFilesAreAccepted(t *testing.T) {
	files := 0
	for _, page := range []string{"pbt.md", "pbt-cluster.md", "reference/pbt-yaml.md"} {
		for i, found := range yamlBlock.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", page)), -1) {
			files++
			if _, err := preset.FromYAML([]byte(found[1])); err != nil {
				t.Errorf("%s, file %d: %v", page, i+1, err)
			}
			f, err := launch.Parse([]byte(found[1]))
			if err != nil {
				t.Errorf("%s, file %d: %v", page, i+1, err)
				continue
			}
			if f.Launcher.Kubernetes.Image != "" {
				if _, err := launch.Kubernetes(f); err != nil {
					t.Errorf("%s, file %d: %v", page, i+1, err)
				}
			}
		}
	}
	if files < 5 {
		t.Errorf("only %d files were found", files)
	}
}
