package agents_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/test/golden"
)

// TestGoldenRanks replays updates of two processes that skrl 2.0.0 made together, on two ranks at once: gradients are
// the mean of both ranks', the divergence that the schedule follows, too; scalers, advantages and losses are each
// rank's own.
func TestGoldenRanks(t *testing.T) {
	list, err := golden.Sources(os.DirFS("testdata"))
	must(t, err)
	for _, src := range list {
		files, err := fs.Glob(src.FS, "skrl_distributed/*_rank0.json")
		must(t, err)
		if len(files) == 0 && src.Name != golden.Environment {
			t.Fatalf("golden: %s has no case of several ranks", src.Name)
		}
		for _, file := range files {
			group := strings.TrimSuffix(file, "_rank0.json")
			t.Run(path.Join(src.Name, path.Base(group)), func(t *testing.T) {
				groups, err := distributed.Local(2, distributed.DefaultConfig())
				must(t, err)
				for r, g := range groups {
					c, err := loadOne(src.FS, group+"_rank"+string(rune('0'+r))+".json")
					must(t, err)
					if c.Ranks != len(groups) {
						t.Fatalf("%s: the case is of %d ranks, want %d", file, c.Ranks, len(groups))
					}
					c.Group = g
					t.Run(path.Base(file), func(t *testing.T) {
						t.Parallel() // the ranks wait for each other
						defer g.Close()
						defer func() {
							if t.Failed() {
								g.Leave(errors.New("its test has failed"))
							}
						}()
						if c.Algorithm == "amp" {
							goldenAMP(t, c)
						} else {
							goldenPPO(t, c)
						}
					})
				}
			})
		}
	}
}
