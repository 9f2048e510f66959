package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// TestMain runs the tests, or makes the tests' own program what a test starts it as: a launcher, or one that writes a
// member's heartbeat.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "launcher" && os.Args[1] != "beat" {
		os.Exit(m.Run())
	}
	run := beat
	if os.Args[1] == "launcher" {
		run = func(path string) error {
			f, err := ReadFile(path)
			if err != nil {
				return err
			}
			return Run(context.Background(), f, Options{})
		}
	}
	if err := run(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// beat writes the heartbeat of a member that has trained for so many intervals.
func beat(intervals string) error {
	n, err := strconv.ParseInt(intervals, 10, 64)
	if err != nil {
		return err
	}
	p, _, err := FromEnvironment()
	if err != nil {
		return err
	}
	board, err := workspace.OpenFolder(filepath.Dir(p.Config), 3, workspace.FolderOptions{})
	if err != nil {
		return err
	}
	seat, err := board.Join(context.Background(), p.Member)
	if err != nil {
		return err
	}
	return errors.Join(seat.Beat(workspace.Heartbeat{Member: p.Member, Phase: workspace.Training, Parent: -1,
		Iteration: n + 1, Steps: 100 * n, Objective: float64(n), HasObjective: true}), seat.Release())
}
