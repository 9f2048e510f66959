//go:build unix

package tracking_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tracking"
)

// Links to runs, as people collect them to compare, are runs; a pipe that is named as one is none, and is not
// waited for.
func TestFindRuns(t *testing.T) {
	root := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	for _, dir := range []string{"runs/a", "runs/b/deep", "runs/.hidden", "compare/own"} {
		must.Do(t, os.MkdirAll(in(dir), 0o777))
		line := `{"time":1,"step":1,"tag":"x","value":2}` + "\n"
		must.Do(t, os.WriteFile(in(dir, tracking.ScalarsFile), []byte(line), 0o666))
	}
	for from, to := range map[string]string{"link": "runs", "compare/a": in("runs", "a"), "compare/all": "../runs",
		"compare/up": "..", "compare/gone": "nowhere", "runs/a/self": "."} {
		must.Do(t, os.Symlink(to, in(from)))
	}
	must.Do(t, os.Mkdir(in("compare", "pipe"), 0o777))
	must.Do(t, syscall.Mkfifo(in("compare", "pipe", tracking.ScalarsFile), 0o666))
	for dir, want := range map[string][]string{"link": {"link/a", "link/b/deep"}, "compare": {"compare/a",
		"compare/own"},
		"compare/a": {"compare/a"}} {
		for i := range want {
			want[i] = in(want[i])
		}
		must.Equal(t, dir, want, must.Get(tracking.FindRuns(in(dir)))(t))
	}
	_, err := tracking.FindRuns(in("nowhere"))
	must.Equal(t, "the error for a missing folder", fs.ErrNotExist, err, cmpopts.EquateErrors())
}
