package pbt

import (
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/testmain"
)

func TestMain(m *testing.M) {
	testmain.SideBySide()
	os.Exit(m.Run())
}
