package evolution

import (
	"flag"
	"testing"

	"github.com/gorl-dev/gorl/internal/docgen"
)

var update = flag.Bool("update", false, "write the tables of keys in docs anew")

// TestTablesMatchTheCode holds the tables of a manifest's keys in docs/reference/evolution.md against the structs that
// are read.
func TestTablesMatchTheCode(t *testing.T) {
	docgen.HoldTables(t, "../..", "reference/evolution.md", *update,
		docgen.Listed{Name: "manifest keys", Defaults: manifestDefaults()},
		docgen.Listed{Name: "tunable keys", Defaults: RLParameter{}},
		docgen.Listed{Name: "tournament keys", Defaults: tournamentDefaults()},
		docgen.Listed{Name: "multi_frequency keys", Defaults: multiFrequencyDefaults()},
		docgen.Listed{Name: "network keys", Defaults: networkDefaults()},
	)
}
