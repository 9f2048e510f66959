package memory

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/tensor"
)

// TestTooLarge checks that memories for which no machine has room are refused before anything is allocated.
func TestTooLarge(t *testing.T) {
	fields := []Field{{Name: "observations", Width: 4}}
	for _, steps := range []int{1e12, 1 << 59, math.MaxInt} {
		if r, err := NewRollout(steps, 1<<20, fields, tensor.CPU); err == nil || r != nil ||
			!strings.Contains(err.Error(), "bytes of memory") {
			t.Errorf("a rollout of %d steps: %v", steps, err)
		}
		if r, err := NewReplay(steps, 1<<20, tensor.CPU); err == nil || r != nil || !strings.Contains(err.Error(),
			"bytes of memory") {
			t.Errorf("a replay of %d rows: %v", steps, err)
		}
	}
}
