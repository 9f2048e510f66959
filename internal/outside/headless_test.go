package outside

import (
	"slices"
	"strings"
	"testing"
)

// TestHeadlessProgramsLinkNoPictures lists what programs link that train, alone or in populations of one or many
// processes, and show nothing: no plots, no fonts, no progress bars.
func TestHeadlessProgramsLinkNoPictures(t *testing.T) {
	const module = "github.com/gorl-dev/gorl/"
	links := func(packages ...string) []string {
		for i := range packages {
			packages[i] = module + packages[i]
		}
		return strings.Fields(run(t, "../..", "go", slices.Concat([]string{"list", "-deps"}, packages)...))
	}
	pictures := func(all []string) []string {
		return slices.DeleteFunc(all, func(path string) bool {
			return !slices.ContainsFunc([]string{"gonum.org/v1/plot", "golang.org/x/image/font",
				"codeberg.org/go-fonts/", "github.com/golang/freetype", "github.com/vbauerster/mpb"},
				func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		})
	}
	headless := links("agents/ppo", "agents/amp", "trainers", "tracking", "checkpoint", "motions", "envs/classic",
		"envs/wrappers", "envs/wrappers/gymnasium", "pbt", "pbt/evolution", "pbt/preset", "pbt/launch", "pbt/timeline",
		"infer")
	if found := pictures(headless); len(found) > 0 {
		t.Errorf("a program that only trains links %v", found)
	}
	// What draws is found by these names: the test could fail.
	for _, p := range []string{"tracking/plot", "tracking/progress"} {
		if len(pictures(links(p))) == 0 {
			t.Errorf("%s links nothing that draws", p)
		}
	}
}
