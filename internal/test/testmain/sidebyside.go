// Package testmain holds what functions TestMain of several packages share.
package testmain

import "flag"

// SideBySide lets more tests run at a time than there are processors, unless -parallel says how many: they wait for the
// disk most of the time. It is called before m.Run.
func SideBySide() {
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
