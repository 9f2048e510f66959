// Command gotorch is a program that imports gotorch, and does nothing.
package main

import (
	_ "github.com/wangkuiyi/gotorch"

	"github.com/gorl-dev/gorl/internal/outside/testdata/guest/report"
)

func main() { report.Print() }
