package catalog

import (
	"flag"
	"testing"

	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/docgen"
)

var update = flag.Bool("update", false, "write the tables of settings in docs anew")

// TestTablesMatchTheCode holds the tables in docs/reference/environments.md against the structs that are read.
func TestTablesMatchTheCode(t *testing.T) {
	docgen.HoldTables(t, "../..", "reference/environments.md", *update,
		docgen.Listed{Name: "catalog settings", Defaults: Defaults()},
		docgen.Listed{Name: "catalog classic settings", Defaults: classicDefaults, Common: []any{Defaults()}},
		docgen.Listed{Name: "catalog cartpole settings", Defaults: cartPoleDefaults,
			Common: []any{classicDefaults}},
		docgen.Listed{Name: "catalog pixels settings", Defaults: pixelsDefaults, Common: []any{classicDefaults}},
		docgen.Listed{Name: "catalog t-maze settings", Defaults: mazeDefaults, Common: []any{classicDefaults}},
		docgen.Listed{Name: "catalog connect-four settings", Defaults: connectFourDefaults,
			Common: []any{classicDefaults}},
		docgen.Listed{Name: "catalog walker settings", Defaults: walkerDefaults(), Common: []any{Defaults()}},
		docgen.Listed{Name: "catalog character settings", Defaults: characterDefaults(), Common: []any{Defaults()}},
		docgen.Listed{Name: "catalog model settings", Defaults: modelDefaults(), Common: []any{characterDefaults()}},
		docgen.Listed{Name: "catalog actuator settings", Defaults: mujoco.ActuatorConfig{}},
		docgen.Listed{Name: "catalog python settings", Defaults: gymnasiumDefaults.pythonSettings,
			Common: []any{Defaults()}},
		docgen.Listed{Name: "catalog gymnasium settings", Defaults: gymnasiumDefaults,
			Common: []any{gymnasiumDefaults.pythonSettings}},
		docgen.Listed{Name: "catalog pettingzoo settings", Defaults: pettingZooDefaults,
			Common: []any{gymnasiumDefaults.pythonSettings}},
		docgen.Listed{Name: "catalog simulator settings", Defaults: simulatorDefaults,
			Common: []any{gymnasiumDefaults.pythonSettings}},
		docgen.Listed{Name: "wrapper clip_action settings", Defaults: actionLimits{}},
		docgen.Listed{Name: "wrapper clip settings", Defaults: clipDefaults},
		docgen.Listed{Name: "wrapper normalize_observation settings", Defaults: observationDefaults},
		docgen.Listed{Name: "wrapper normalize_reward settings", Defaults: rewardDefaults},
	)
}
