package launch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

func TestStatusOfAFolder(t *testing.T) {
	f := population(t, "", "")
	must.Get(f.Install())(t)
	board := must.Get(workspace.OpenFolder(f.Dir(), 3, workspace.FolderOptions{}))(t)
	for member, phase := range []workspace.Phase{workspace.Training, workspace.Finished} {
		seat := must.Get(board.Join(t.Context(), member))(t)
		h := workspace.Heartbeat{Member: member, Phase: phase, Iteration: 2, Steps: 50, Parent: -1, Note: "leader"}
		must.Do(t, errors.Join(seat.Beat(h), seat.Release()))
	}
	check := func(silence time.Duration, want ...string) {
		t.Helper()
		var got []string
		for _, r := range must.Get(Status(f.Dir(), silence))(t) {
			got = append(got, r.Phase)
		}
		must.Equal(t, "the phases", want, got)
	}
	check(time.Hour, "training", "finished", "not started")
	check(time.Nanosecond, "silent", "finished", "not started")
	// Without the file the folders of members count.
	must.Do(t, os.Remove(filepath.Join(f.Dir(), ConfigFile)))
	check(time.Hour, "training", "finished")
	must.Refused(Status(t.TempDir(), time.Hour))(t, "give a population's folder")
}
