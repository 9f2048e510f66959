package preset

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
)

var update = flag.Bool("update", false, "write the tables of keys in docs anew")

// TestTablesMatchTheCode holds the tables of keys in docs/pbt.md against the structs that are read.
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
	common := settings(sharedDefaults())
	for _, x := range []struct {
		name string
		list []docgen.Setting
	}{
		{"shared keys", common},
		{"parameter keys", settings(parameter{})},
		{"isaaclab keys", docgen.Differing(settings(defaultIsaacLab()), common)},
		{"isaacgymenvs keys", docgen.Differing(settings(defaultIsaacGymEnvs()), common)},
		{"samplefactory keys", docgen.Differing(settings(defaultSampleFactory()), common)},
		{"raytune keys", docgen.Differing(settings(defaultRayTune()), common)},
	} {
		if err := docgen.Hold(filepath.Join(root, "docs", "pbt.md"), x.name, docgen.Table(x.list), *update); err != nil {
			t.Error(err)
		}
	}
}
