package testdevice_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/testdevice"
)

func TestMain(m *testing.M) {
	if err := testdevice.Load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
