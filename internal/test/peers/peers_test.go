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

// Tests that need peers ask this package for them: `make test-peers` runs the packages whose tests import it, and what it
// does not find it does not run.
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
		if bytes.Contains(text, []byte(peers.Environment)) {
			t.Errorf("%s reads %s; it must ask peers.Python", path, peers.Environment)
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
