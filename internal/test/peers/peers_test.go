package peers_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/peers"
)

// Tests that need peers ask this package for them, which holds them to the names by which `make test-peers` finds them.
func TestEveryTestAsksThisPackage(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	asked := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "." {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, variable := range []string{peers.Environment, peers.SimulatorsEnvironment} {
			if bytes.Contains(text, []byte(variable)) {
				t.Errorf("%s reads %s; it must ask peers.Python or peers.Simulators", path, variable)
			}
		}
		if bytes.Contains(text, []byte("peers.Python(")) {
			asked++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if asked == 0 {
		t.Error("no test asks for peers, so nothing was looked at")
	}
}
