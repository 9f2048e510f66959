package pbt

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain lets more tests run side by side than there are processors, unless -parallel says how many: they wait for the
// disk most of the time, as populations save everything durably.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
