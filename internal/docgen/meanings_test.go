package docgen

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// configured are the packages whose structs a run's file fills.
var configured = []string{"agents", "agents/amp", "agents/ippo", "agents/ppo", "distributed", "envs/catalog",
	"envs/classic", "envs/mujoco", "envs/wrappers", "envs/wrappers/gymnasium", "models", "pbt", "pbt/evolution",
	"pbt/explore", "pbt/launch", "pbt/preset", "pbt/selfplay", "pbt/strategy", "preprocessors", "schedulers",
	"tracking/trackers", "trainers"}

// TestMeaningsMatchTheCode holds the file of comments that the commands show against the source.
func TestMeaningsMatchTheCode(t *testing.T) {
	all, err := meanings("../..", configured...)
	must.Do(t, err)
	text := new(bytes.Buffer)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must.Do(t, encoder.Encode(all))
	path := filepath.Join("..", "config", "meanings.json")
	if flag.Lookup("update").Value.String() == "true" {
		must.Do(t, os.WriteFile(path, text.Bytes(), 0o644))
	}
	if file, err := os.ReadFile(path); err != nil || !bytes.Equal(file, text.Bytes()) {
		t.Errorf("%s has drifted from the code (%v): run this test with -update", path, err)
	}
}
