// Command gorl trains agents from YAML files, evaluates them, and looks at, converts, exports and draws what training
// wrote.
//
//	gorl help
//	gorl train --config cartpole.yaml
//
// Package cli has the subcommands. A program that registers environments of its own and calls cli.Main has them too.
package main

import "github.com/gorl-dev/gorl/cli"

func main() { cli.Main() }
