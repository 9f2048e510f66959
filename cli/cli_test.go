package cli

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/commandtest"
)

func TestGuides(t *testing.T) {
	if calls := commandtest.Guides(t, "..", command); calls < 10 {
		t.Errorf("only %d calls were found", calls)
	}
}

func TestCommon(t *testing.T) { commandtest.Hold(t, command) }
