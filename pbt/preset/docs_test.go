package preset

import (
	"flag"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
)

var update = flag.Bool("update", false, "write the tables of keys in docs anew")

// TestTablesMatchTheCode holds the tables of keys in docs/reference/pbt-yaml.md against the structs that are read.
func TestTablesMatchTheCode(t *testing.T) {
	docgen.HoldTables(t, "../..", "reference/pbt-yaml.md", *update,
		docgen.Listed{Name: "shared keys", Defaults: sharedDefaults()},
		docgen.Listed{Name: "parameter keys", Defaults: parameter{}},
		docgen.Listed{Name: "isaac keys", Defaults: defaultIsaacLab().isaac, Common: []any{sharedDefaults()}},
		docgen.Listed{Name: "isaaclab keys", Defaults: defaultIsaacLab(), Common: []any{defaultIsaacLab().isaac}},
		docgen.Listed{Name: "isaacgymenvs keys", Defaults: defaultIsaacGymEnvs(),
			Common: []any{defaultIsaacLab().isaac}},
		docgen.Listed{Name: "samplefactory keys", Defaults: defaultSampleFactory(), Common: []any{sharedDefaults()}},
		docgen.Listed{Name: "raytune keys", Defaults: defaultRayTune(), Common: []any{sharedDefaults()}},
	)
}
