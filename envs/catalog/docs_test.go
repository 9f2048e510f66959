package catalog

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
)

var update = flag.Bool("update", false, "write the tables of settings in docs anew")

// TestTablesMatchTheCode holds the tables in docs/environments.md against the structs that are read.
func TestTablesMatchTheCode(t *testing.T) {
	const root, module = "../..", "github.com/gorl-dev/gorl"
	settings := func(defaults any) []docgen.Setting {
		t.Helper()
		list, err := docgen.Settings(root, module, defaults)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	common := settings(Defaults())
	for _, x := range []struct {
		name string
		list []docgen.Setting
	}{
		{"catalog settings", common},
		{"catalog classic settings", docgen.Differing(settings(classicDefaults()), common)},
		{"catalog walker settings", docgen.Differing(settings(walkerDefaults()), common)},
		{"catalog gymnasium settings", docgen.Differing(settings(gymnasiumDefaults()), common)},
	} {
		if err := docgen.Hold(filepath.Join(root, "docs", "environments.md"), x.name, docgen.Table(x.list), *update); err != nil {
			t.Error(err)
		}
	}
}
