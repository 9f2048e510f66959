package pbt

import (
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/testmain"
)

func TestMain(m *testing.M) {
	testmain.SideBySide()
	os.Exit(m.Run())
}
