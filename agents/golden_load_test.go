package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/golden"
)

// TestFurtherCases reads a folder that GORL_FIXTURES names, here with a copy of the cases of one kind.
func TestFurtherCases(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ppo_plain.json", "ppo_plain.npz"} {
		data, err := os.ReadFile(filepath.Join("testdata", "skrl", name))
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(dir, "skrl"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "skrl", "further_"+name), data, 0o644))
	}
	t.Setenv(golden.Environment, dir)
	var names []string
	each(t, "ppo", func(t *testing.T, c *goldenCase) { names = append(names, t.Name()) })
	if want := "TestFurtherCases/GORL_FIXTURES/skrl/further_ppo_plain"; !slices.Contains(names, want) {
		t.Errorf("subtests %q: want %q among them", names, want)
	}
	t.Setenv(golden.Environment, t.TempDir())
	if _, err := golden.Sources(os.DirFS("testdata")); err == nil {
		t.Error("a folder without cases is no error")
	}
}
