package pbt

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	sideBySide()
	os.Exit(m.Run())
}

// sideBySide lets more tests run at a time than there are processors, unless -parallel says how many: they wait for the disk
// most of the time.
func sideBySide() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
}
