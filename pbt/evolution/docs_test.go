package evolution

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
)

var update = flag.Bool("update", false, "write the tables of keys in docs anew")

// TestTablesMatchTheCode holds the tables of a manifest's keys in docs/evolution.md against the structs that are read.
func TestTablesMatchTheCode(t *testing.T) {
	const root, module = "../..", "github.com/gorl-dev/gorl"
	for _, x := range []struct {
		name     string
		defaults any
	}{
		{"manifest keys", manifestDefaults()},
		{"tunable keys", tunable{}},
		{"tournament keys", tournamentDefaults()},
		{"multi_frequency keys", multiFrequencyDefaults()},
		{"network keys", networkDefaults()},
	} {
		list, err := docgen.Settings(root, module, x.defaults)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if err := docgen.Hold(filepath.Join(root, "docs", "evolution.md"), x.name, docgen.Table(list), *update); err != nil {
			t.Error(err)
		}
	}
}
