package testdevice_test

import (
	"flag"
	"os"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/testdevice"
)

var notLoaded error

// TestMain runs TestLoad alone if the library cannot be loaded: a library that was not built fails no other test.
func TestMain(m *testing.M) {
	flag.Parse()
	if notLoaded = testdevice.Load(); notLoaded != nil {
		for _, name := range []string{"test.run", "test.bench"} {
			if err := flag.Set(name, "^TestLoad$"); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

func TestLoad(t *testing.T) {
	if notLoaded != nil {
		t.Skip(notLoaded)
	}
}
