package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
)

// What is no snapshot's path is refused with what would be one.
func TestLoadOfOtherPaths(t *testing.T) {
	dir := t.TempDir()
	for path, words := range map[string]string{
		dir:                 "is a folder: want a file in it (.safetensors)",
		dir + "/agent.onnx": "is not a snapshot: want a .safetensors file",
		dir + "/agent.pt":   "gorl convert",
	} {
		if _, err := checkpoint.Load(path); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s gave %v, want %q", path, err, words)
		}
	}
}
